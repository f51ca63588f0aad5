#include "prepared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/clock.h"
#include "oclattn-run/common.h"

bool count_of(int64_t a, int64_t b, int64_t c, int64_t *count, failure *f) {
    const int64_t shape[3] = {a, b, c};
    size_t elements = 0;
    if (!shape_count(shape, 3, sizeof(double), &elements)) {
        return fail_with(f, EXIT_BAD_INPUT, "the problem is too large: %lld x %lld x %lld numbers", (long long)a,
                         (long long)b, (long long)c);
    }
    *count = (int64_t)elements;
    return true;
}

bool prepared_plan(prepared *r, bool (*plan)(prepared *r, failure *f), failure *f) {
    const double start = now_s();
    const bool good = plan(r, f);
    r->plan_s = now_s() - start;
    return good;
}

bool prepared_buffer(prepared *r, size_t bytes, cl_mem *buffer, failure *f) {
    cl_int code = CL_OUT_OF_RESOURCES;
    *buffer = r->buffer_count < MOST_PREPARED_BUFFERS
                  ? clCreateBuffer(r->device->measure.cl, CL_MEM_READ_WRITE, bytes, NULL, &code)
                  : NULL;
    if (!*buffer) {
        return fail_with(f, EXIT_RUNTIME, "no device memory: %zu bytes (OpenCL error %d)", bytes, (int)code);
    }
    r->buffers[r->buffer_count++] = *buffer;
    return true;
}

bool prepared_input(prepared *r, oclattn_type type, int64_t count, float scale, oclattn_tensor *tensor, failure *f) {
    const uint32_t seed = (uint32_t)r->buffer_count + 1;
    return prepared_buffer(r, (size_t)count * oclattn_type_bytes(type), &tensor->buffer, f) &&
           device_fill(r->device, tensor->buffer, type, count, seed, scale, f);
}

bool prepared_output(prepared *r, int64_t count, oclattn_tensor *tensor, failure *f) {
    if (!prepared_buffer(r, (size_t)count * oclattn_type_bytes(r->problem->type), &tensor->buffer, f)) {
        return false;
    }
    r->output = *tensor;
    r->output_count = count;
    return true;
}

bool prepared_workspace(prepared *r, cl_mem *workspace, failure *f) {
    const size_t bytes = oclattn_plan_workspace_bytes(r->plan);
    *workspace = NULL;
    return bytes == 0 || prepared_buffer(r, bytes, workspace, f);
}

bool prepare(prepared *r, const bench_problem *problem, const bench_device *device, failure *f) {
    *r = (prepared){.problem = problem, .device = device, .copies = 1};
    switch (problem->group) {
    case GROUP_LAYER:
        return prepare_layer(r, f);
    case GROUP_PROJECTION:
        return prepare_projection(r, f);
    default:
        return prepare_attention(r, f);
    }
}

void prepared_release(prepared *r) {
    oclattn_weights_destroy(r->weights);
    oclattn_plan_destroy(r->plan);
    for (size_t i = 0; i < r->buffer_count; i++) {
        clReleaseMemObject(r->buffers[i]);
    }
    *r = (prepared){0};
}

static oclattn_status enqueue(prepared *r, cl_command_queue queue, cl_event *event, oclattn_error *error) {
    switch (r->problem->group) {
    case GROUP_LAYER:
        return oclattn_mha_enqueue(r->plan, queue, &r->mha, 0, NULL, event, error);
    case GROUP_PROJECTION:
        return oclattn_projection_enqueue(r->plan, queue, &r->projection, 0, NULL, event, error);
    default:
        r->attention.k.offset = r->turn * r->k_step;
        r->attention.v.offset = r->turn * r->v_step;
        r->turn = (r->turn + 1) % r->copies;
        return oclattn_attention_enqueue(r->plan, queue, &r->attention, 0, NULL, event, error);
    }
}

bool prepared_run(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    oclattn_error error = {0};
    const oclattn_status status = enqueue(data, queue, event, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

/* ---- variants --------------------------------------------------------------------------------------------------- */

static bool has_word(const char *words, const char *word, size_t length) {
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void add_word(char *words, size_t size, const char *from, size_t length) {
    char word[128];
    const size_t used = strlen(words);
    if (length == 0 || length >= sizeof word || used + length + 2 > size) {
        return;
    }
    memcpy(word, from, length);
    word[length] = '\0';
    if (!has_word(words, word, length)) {
        snprintf(words + used, size - used, "%s%s", used > 0 ? " " : "", word);
    }
}

/* The public API names the plan's own variant alone, which for F(H) says only how its parts are joined; its description
 * has a line "variant: NAME (...)" for each part. */
void prepared_variants(const prepared *r, char *text, size_t size) {
    static const char mark[] = "variant: ";
    const size_t length = oclattn_plan_describe(r->plan, NULL, 0);
    char *description = malloc(length + 1);
    text[0] = '\0';
    if (description) {
        oclattn_plan_describe(r->plan, description, length + 1);
        for (const char *at = description; (at = strstr(at, mark)) != NULL;) {
            at += sizeof mark - 1;
            add_word(text, size, at, strcspn(at, " \n"));
        }
    }
    free(description);
    if (text[0] == '\0') {
        snprintf(text, size, "%s", oclattn_plan_variant(r->plan));
    }
}
