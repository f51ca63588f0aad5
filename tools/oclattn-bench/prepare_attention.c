#include "measure/peaks.h"
#include "oclattn-run/common.h"
#include "prepared.h"

static bool plan_attention(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    oclattn_attention_desc desc;
    oclattn_error error = {0};
    oclattn_attention_desc_init(&desc);
    desc.q_type = desc.o_type = p->type;
    desc.k_type = desc.v_type = p->kv_type;
    desc.batch = p->batch;
    desc.q_heads = p->q_heads;
    desc.kv_heads = p->kv_heads;
    desc.q_len = p->q_len;
    desc.kv_len = p->kv_len;
    desc.head_dim = p->head_dim;
    desc.v_dim = p->v_dim;
    desc.variant = p->variant;
    desc.score.align = p->align;
    desc.score.window_left = p->window_left;
    desc.score.window_right = p->window_right;
    desc.score.flags |= (p->causal ? OCLATTN_CAUSAL : 0) | (p->kv_lens ? OCLATTN_KV_LENS : 0);
    const oclattn_status status = oclattn_attention_plan(r->device->context, &desc, &r->plan, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

/* Elements from one copy to the next: whole pages, since a buffer of its own would begin with one. */
static int64_t step_of(int64_t count) {
    const int64_t page = 4096;
    return (count + page - 1) / page * page;
}

/* As many copies as are needed to read memory and not a cache, or as fit a buffer. */
static int64_t copies_of(const prepared *r) {
    const int64_t each = (int64_t)oclattn_type_bytes(r->problem->kv_type);
    const int64_t larger = r->k_step > r->v_step ? r->k_step : r->v_step;
    const int64_t fitting = (int64_t)(r->device->measure.largest_buffer / (uint64_t)(larger * each));
    const int64_t uncached = (int64_t)measure_uncached_bytes(&r->device->measure);
    const int64_t needed = uncached / ((r->k_step + r->v_step) * each) + 1;
    const int64_t wanted = r->problem->group != GROUP_DECODE ? 1 : needed > 2 ? needed : 2;
    return wanted < fitting ? wanted : fitting > 1 ? fitting : 1;
}

/* Copies of the same numbers, so that results do not depend on the turn. */
static bool fill_copies(prepared *r, int64_t count, int64_t step, uint32_t seed, oclattn_tensor *tensor, failure *f) {
    const oclattn_type type = r->problem->kv_type;
    const size_t each = oclattn_type_bytes(type);
    if (!prepared_buffer(r, (size_t)(r->copies * step) * each, &tensor->buffer, f) ||
        !device_fill(r->device, tensor->buffer, type, count, seed, 1, f)) {
        return false;
    }
    for (int64_t i = 1; i < r->copies; i++) {
        const cl_int code = clEnqueueCopyBuffer(r->device->queue, tensor->buffer, tensor->buffer, 0,
                                                (size_t)(i * step) * each, (size_t)count * each, 0, NULL, NULL);
        if (code != CL_SUCCESS) {
            return fail_with(f, EXIT_RUNTIME, "copying keys and values failed (OpenCL error %d)", (int)code);
        }
    }
    return device_finish(r->device, f);
}

static bool make_keys(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    int64_t k_count = 0, v_count = 0;
    if (!count_of(p->batch * p->kv_heads, p->kv_len, p->head_dim, &k_count, f) ||
        !count_of(p->batch * p->kv_heads, p->kv_len, p->v_dim, &v_count, f)) {
        return false;
    }
    r->k_step = step_of(k_count);
    r->v_step = step_of(v_count);
    r->copies = copies_of(r);
    return fill_copies(r, k_count, r->k_step, 101, &r->attention.k, f) &&
           fill_copies(r, v_count, r->v_step, 102, &r->attention.v, f);
}

static bool make_lengths(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    const size_t bytes = (size_t)p->batch * sizeof *p->kv_lens;
    oclattn_tensor *lens = &r->attention.score.kv_lens;
    if (!p->kv_lens) {
        return true;
    }
    if (!prepared_buffer(r, bytes, &lens->buffer, f)) {
        return false;
    }
    const cl_int code =
        clEnqueueWriteBuffer(r->device->queue, lens->buffer, CL_TRUE, 0, bytes, p->kv_lens, 0, NULL, NULL);
    return code == CL_SUCCESS ? true
                              : fail_with(f, EXIT_RUNTIME, "writing lengths failed (OpenCL error %d)", (int)code);
}

bool prepare_attention(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    int64_t q_count = 0, o_count = 0;
    oclattn_attention_args_init(&r->attention);
    return count_of(p->batch * p->q_heads, p->q_len, p->head_dim, &q_count, f) &&
           count_of(p->batch * p->q_heads, p->q_len, p->v_dim, &o_count, f) && prepared_plan(r, plan_attention, f) &&
           prepared_input(r, p->type, q_count, 1, &r->attention.q, f) && make_keys(r, f) && make_lengths(r, f) &&
           prepared_output(r, o_count, &r->attention.o, f) && prepared_workspace(r, &r->attention.workspace, f);
}
