#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

/* The command takes one type for q and o, one for k and v, and no packed rows, factors of the bias, or scores. */
static bool can_be_said(const oclattn_attention_desc *d) {
    const uint32_t unsaid = OCLATTN_BIAS_SCALE | OCLATTN_Q_STARTS | OCLATTN_KV_STARTS;
    return d->q_type == d->o_type && d->k_type == d->v_type && !(d->score.flags & unsaid) &&
           (d->scores_kind == OCLATTN_SCORES_NONE || d->scores_kind == OCLATTN_PROBABILITIES);
}

/* ---- .npy files ------------------------------------------------------------------------------------------------- */

static void write_header(FILE *file, const char *type, const int64_t *shape, int rank) {
    char header[256];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int i = 0; i < rank; i++) {
        length += snprintf(header + length, sizeof header - (size_t)length, "%lld, ", (long long)shape[i]);
    }
    length += snprintf(header + length, sizeof header - (size_t)length, ")}");
    /* The magic, two bytes of version and two of length stand before; all of it is padded to a multiple of 64. */
    const int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    const unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    fwrite(start, 1, sizeof start, file);
    fprintf(file, "%s%*s\n", header, padded - length - 1, "");
}

static void write_elements(FILE *file, const view *tensor, const int64_t shape[4]) {
    const element type =
        tensor->memory->type == ELEMENT_U8 || tensor->memory->type == ELEMENT_I32 ? tensor->memory->type : ELEMENT_F32;
    unsigned char bytes[4];
    for (int64_t a = 0; a < shape[0]; a++) {
        for (int64_t b = 0; b < shape[1]; b++) {
            for (int64_t c = 0; c < shape[2]; c++) {
                for (int64_t d = 0; d < shape[3]; d++) {
                    element_write(type, bytes, view_get(tensor, a, b, c, d));
                    fwrite(bytes, 1, element_bytes(type), file);
                }
            }
        }
    }
}

/* Writes the first rows (second length) of a tensor and prints the option that reads it. */
static void say_tensor(const char *folder, const char *name, const view *tensor, int rank, int64_t rows) {
    char path[512];
    int64_t shape[4];
    if (!tensor->memory) {
        return;
    }
    memcpy(shape, tensor->shape, sizeof shape);
    shape[2] = rows >= 0 && rows < shape[2] ? rows : shape[2];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *file = fopen(path, "wb");
    if (file) {
        const element type = tensor->memory->type;
        write_header(file, type == ELEMENT_U8 ? "|u1" : type == ELEMENT_I32 ? "<i4" : "<f4", shape, rank);
        write_elements(file, tensor, shape);
        fclose(file);
    }
    printf(" --%s %s", name, path);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static const char *type_name(oclattn_type type) {
    return type == OCLATTN_F32 ? "f32" : type == OCLATTN_F16 ? "f16" : "bf16";
}

static void say_tensors(const problem *p, const char *folder) {
    const int64_t q_len = problem_q_len(p);
    const int64_t kv_len = problem_kv_len(p);
    view mask = p->mask;
    view bias = p->bias;
    mask.shape[3] = mask.shape[3] < kv_len ? mask.shape[3] : kv_len;
    bias.shape[3] = bias.shape[3] < kv_len ? bias.shape[3] : kv_len;
    say_tensor(folder, "q", &p->q, 4, q_len);
    say_tensor(folder, "k", &p->k, 4, kv_len);
    say_tensor(folder, "v", &p->v, 4, kv_len);
    say_tensor(folder, "mask", &mask, 4, q_len);
    say_tensor(folder, "bias", &bias, 4, q_len);
    say_tensor(folder, "alibi", &p->alibi_slopes, 1, -1);
    say_tensor(folder, "sinks", &p->sinks, 1, -1);
    say_tensor(folder, "q-lens", &p->q_lens, 1, -1);
    say_tensor(folder, "kv-lens", &p->kv_lens, 1, -1);
    say_tensor(folder, "align", &p->offsets, 1, -1);
}

static void say_options(const oclattn_attention_desc *d) {
    const oclattn_score_options *s = &d->score;
    if (s->flags & OCLATTN_CAUSAL) {
        printf(" --causal");
    }
    if (s->align == OCLATTN_ALIGN_TOP_LEFT || s->align == OCLATTN_ALIGN_BOTTOM_RIGHT) {
        printf(" --align %s", s->align == OCLATTN_ALIGN_TOP_LEFT ? "top-left" : "bottom-right");
    }
    if (s->window_left >= 0 || s->window_right >= 0) {
        printf(" --window %lld,%lld", (long long)s->window_left, (long long)s->window_right);
    }
    if (s->softcap > 0) {
        printf(" --softcap %.9g", (double)s->softcap);
    }
    if (!(s->flags & OCLATTN_DEFAULT_SCALE)) {
        printf(" --scale %.9g", (double)s->scale);
    }
    if (d->kv_chunk > 0) {
        printf(" --kv-chunk %lld", (long long)d->kv_chunk);
    }
    if (d->variant) {
        printf(" --variant %s", d->variant);
    }
    printf(" --dtype %s --kv-dtype %s", type_name(d->q_type), type_name(d->k_type));
}

void problem_print_command(const problem *p) {
    char folder[300];
    const char *parent = getenv("TMPDIR");
    if (!can_be_said(&p->desc)) {
        return;
    }
    snprintf(folder, sizeof folder, "%s/oclattn-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder)) {
        return;
    }
    printf("oclattn-run attention --check");
    say_tensors(p, folder);
    say_options(&p->desc);
    printf(" --out %s/o.npy", folder);
    if (p->lse.memory) {
        printf(" --lse %s/lse.npy", folder);
    }
    if (p->scores.memory) {
        printf(" --probs %s/probs.npy", folder);
    }
    printf(" --device %d:%d\n", device.info.platform_index, device.info.device_index);
}
