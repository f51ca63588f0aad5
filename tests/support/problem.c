#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_COUNT = 16 };

/* ---- making ----------------------------------------------------------------------------------------------------- */

problem problem_new(int64_t batch, int64_t q_heads, int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t head_dim,
                    int64_t v_dim) {
    problem p;
    memset(&p, 0, sizeof p);
    oclattn_attention_desc_init(&p.desc);
    p.desc.batch = batch;
    p.desc.q_heads = q_heads;
    p.desc.kv_heads = kv_heads;
    p.desc.q_len = q_len;
    p.desc.kv_len = kv_len;
    p.desc.head_dim = head_dim;
    p.desc.v_dim = v_dim;
    p.q_len = -1;
    p.kv_len = -1;
    return p;
}

problem problem_of_one_row(int64_t kv_len) {
    problem p = problem_new(1, 1, 1, 1, kv_len, 1, 1);
    p.desc.score.flags &= ~OCLATTN_DEFAULT_SCALE;
    p.desc.score.scale = 1;
    return p;
}

int64_t problem_q_len(const problem *p) {
    return p->q_len < 0 ? p->desc.q_len : p->q_len;
}

int64_t problem_kv_len(const problem *p) {
    return p->kv_len < 0 ? p->desc.kv_len : p->kv_len;
}

static void all_views(problem *p, view *views[TENSOR_COUNT]) {
    view *const list[TENSOR_COUNT] = {&p->q,      &p->k,      &p->v,       &p->o,          &p->lse,
                                      &p->scores, &p->mask,   &p->bias,    &p->bias_scale, &p->alibi_slopes,
                                      &p->sinks,  &p->q_lens, &p->kv_lens, &p->q_starts,   &p->kv_starts,
                                      &p->offsets};
    memcpy(views, list, sizeof list);
}

static int64_t guard_size(random_source *source) {
    return source ? random_between(source, 0, 40) : 7;
}

/* `strides` are the descriptor's, `given` of them; the last dimension of q, k, v, o and scores is contiguous. */
static void make(view *tensor, element type, const int64_t shape[4], const int64_t *strides, int given, bool is_output,
                 random_source *source) {
    int64_t full[4];
    if (tensor->memory) {
        return;
    }
    contiguous_strides(shape, full);
    if (given > 0 && strides[given - 1] != OCLATTN_STRIDE_AUTO) {
        memcpy(full, strides, (size_t)given * sizeof *strides);
    }
    const int64_t before = guard_size(source);
    *tensor = view_new(type, shape, full, is_output, before, guard_size(source));
}

static void make_line(view *tensor, bool wanted, element type, int64_t count, random_source *source) {
    if (wanted) {
        make(tensor, type, (const int64_t[4]){count, 1, 1, 1}, NULL, 0, false, source);
    }
}

/* A mask shows everything until it is filled; the rest of the inputs is NaN. */
static void make_mask_and_bias(problem *p, random_source *source) {
    const oclattn_attention_desc *d = &p->desc;
    const oclattn_score_options *s = &d->score;
    const int64_t mask_kv_len = s->mask_kv_len < 0 ? d->kv_len : s->mask_kv_len;
    const int64_t bias_kv_len = s->bias_kv_len < 0 ? d->kv_len : s->bias_kv_len;
    if (s->flags & OCLATTN_MASK) {
        make(&p->mask, ELEMENT_U8, (const int64_t[4]){d->batch, d->q_heads, d->q_len, mask_kv_len}, s->mask_strides, 4,
             false, source);
    }
    if (s->flags & OCLATTN_BIAS) {
        make(&p->bias, (element)s->bias_type, (const int64_t[4]){d->batch, d->q_heads, d->q_len, bias_kv_len},
             s->bias_strides, 4, false, source);
    }
}

static void make_lines(problem *p, random_source *source) {
    const oclattn_attention_desc *d = &p->desc;
    const uint32_t flags = d->score.flags;
    make_line(&p->bias_scale, flags & OCLATTN_BIAS_SCALE, ELEMENT_F32, d->q_heads, source);
    make_line(&p->alibi_slopes, flags & OCLATTN_ALIBI, ELEMENT_F32, d->q_heads, source);
    make_line(&p->sinks, flags & OCLATTN_SINKS, ELEMENT_F32, d->q_heads, source);
    make_line(&p->q_lens, flags & OCLATTN_Q_LENS, ELEMENT_I32, d->batch, source);
    make_line(&p->kv_lens, flags & OCLATTN_KV_LENS, ELEMENT_I32, d->batch, source);
    make_line(&p->q_starts, flags & OCLATTN_Q_STARTS, ELEMENT_I32, d->batch + 1, source);
    make_line(&p->kv_starts, flags & OCLATTN_KV_STARTS, ELEMENT_I32, d->batch + 1, source);
    make_line(&p->offsets, d->score.align == OCLATTN_ALIGN_OFFSET, ELEMENT_I32, d->batch, source);
}

void problem_allocate(problem *p, random_source *source) {
    const oclattn_attention_desc *d = &p->desc;
    const bool packed_q = d->score.flags & OCLATTN_Q_STARTS;
    const bool packed_kv = d->score.flags & OCLATTN_KV_STARTS;
    const int64_t q_batch = packed_q ? 1 : d->batch;
    const int64_t kv_batch = packed_kv ? 1 : d->batch;
    const int64_t q_rows = packed_q ? d->score.q_rows : d->q_len;
    const int64_t kv_rows = packed_kv ? d->score.kv_rows : d->kv_len;
    const int64_t q_shape[4] = {q_batch, d->q_heads, q_rows, d->head_dim};
    const int64_t k_shape[4] = {kv_batch, d->kv_heads, kv_rows, d->head_dim};
    const int64_t v_shape[4] = {kv_batch, d->kv_heads, kv_rows, d->v_dim};
    const int64_t o_shape[4] = {q_batch, d->q_heads, q_rows, d->v_dim};
    make(&p->q, (element)d->q_type, q_shape, d->q_strides, 3, false, source);
    make(&p->k, (element)d->k_type, k_shape, d->k_strides, 3, false, source);
    make(&p->v, (element)d->v_type, v_shape, d->v_strides, 3, false, source);
    make(&p->o, (element)d->o_type, o_shape, d->o_strides, 3, true, source);
    if (d->want_lse) {
        make(&p->lse, ELEMENT_F32, (const int64_t[4]){q_batch, d->q_heads, q_rows, 1}, d->lse_strides, 3, true, source);
    }
    if (d->scores_kind != OCLATTN_SCORES_NONE) {
        make(&p->scores, ELEMENT_F32, (const int64_t[4]){d->batch, d->q_heads, d->q_len, d->kv_len}, d->scores_strides,
             3, true, source);
    }
    make_mask_and_bias(p, source);
    make_lines(p, source);
}

/* Whether a view before number `index` has the same storage, as q, k and v of a packed buffer do. */
static bool is_shared(view *const *views, int index) {
    for (int i = 0; i < index; i++) {
        if (views[i]->memory == views[index]->memory) {
            return true;
        }
    }
    return false;
}

void problem_free(problem *p) {
    view *views[TENSOR_COUNT];
    all_views(p, views);
    for (int i = TENSOR_COUNT - 1; i >= 0; i--) {
        if (!is_shared(views, i)) {
            storage_free(views[i]->memory);
        }
        views[i]->memory = NULL;
    }
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

void problem_upload(problem *p) {
    view *views[TENSOR_COUNT];
    all_views(p, views);
    for (int i = 0; i < TENSOR_COUNT; i++) {
        if (views[i]->memory && !is_shared(views, i)) {
            storage_upload(views[i]->memory);
        }
    }
}

void problem_download(problem *p) {
    view *views[TENSOR_COUNT];
    all_views(p, views);
    for (int i = 0; i < TENSOR_COUNT; i++) {
        if (views[i]->memory && !is_shared(views, i)) {
            storage_download(views[i]->memory);
        }
    }
}

static void score_inputs(const problem *p, oclattn_score_inputs *inputs) {
    inputs->mask = view_tensor(&p->mask, p->strides_in_args);
    inputs->bias = view_tensor(&p->bias, p->strides_in_args);
    inputs->bias_scale = view_tensor(&p->bias_scale, false);
    inputs->alibi_slopes = view_tensor(&p->alibi_slopes, false);
    inputs->sinks = view_tensor(&p->sinks, false);
    inputs->q_lens = view_tensor(&p->q_lens, false);
    inputs->kv_lens = view_tensor(&p->kv_lens, false);
    inputs->q_starts = view_tensor(&p->q_starts, false);
    inputs->kv_starts = view_tensor(&p->kv_starts, false);
    inputs->offsets = view_tensor(&p->offsets, false);
}

void problem_args(const problem *p, oclattn_attention_args *args) {
    oclattn_attention_args_init(args);
    args->q = view_tensor(&p->q, p->strides_in_args);
    args->k = view_tensor(&p->k, p->strides_in_args);
    args->v = view_tensor(&p->v, p->strides_in_args);
    args->o = view_tensor(&p->o, p->strides_in_args);
    args->lse = view_tensor(&p->lse, p->strides_in_args);
    args->scores = view_tensor(&p->scores, p->strides_in_args);
    score_inputs(p, &args->score);
    args->q_len = p->q_len;
    args->kv_len = p->kv_len;
}

/* A workspace of NaN with a guard band behind it. */
static storage *guarded_workspace(const oclattn_plan *plan) {
    const size_t bytes = oclattn_plan_workspace_bytes(plan);
    if (bytes == 0) {
        return NULL;
    }
    storage *workspace = storage_new(ELEMENT_F32, (int64_t)(bytes / 4 + 64), false);
    const size_t used = (bytes + 3) / 4;
    memset(workspace->written, 1, used);
    storage_upload(workspace);
    return workspace;
}

oclattn_status problem_run_plan(problem *p, const oclattn_plan *plan, oclattn_error *error) {
    oclattn_attention_args args;
    cl_event event = NULL;
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    storage *workspace = guarded_workspace(plan);
    problem_upload(p);
    problem_args(p, &args);
    args.workspace = workspace ? workspace->buffer : NULL;
    const oclattn_status status = oclattn_attention_enqueue(plan, queue, &args, 0, NULL, &event, error);
    if (status == OCLATTN_OK) {
        assert_non_null(event);
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
    } else {
        clFinish(queue);
    }
    problem_download(p);
    if (workspace) {
        storage_download(workspace);
        if (storage_damage(workspace)) {
            fail_msg("written beyond workspace_bytes, which is %zu", oclattn_plan_workspace_bytes(plan));
        }
        storage_free(workspace);
    }
    return status;
}

/* --variant goes over what the problem says; no variant but the portable one takes rows wider than 256. */
static oclattn_attention_desc wanted_desc(const problem *p) {
    oclattn_attention_desc desc = p->desc;
    if (options.variant && desc.head_dim <= 256 && desc.v_dim <= 256) {
        desc.variant = options.variant;
    }
    return desc;
}

oclattn_status problem_run(problem *p, oclattn_error *error) {
    oclattn_plan *plan = NULL;
    const oclattn_attention_desc desc = wanted_desc(p);
    oclattn_status status = oclattn_attention_plan(device.context, &desc, &plan, error);
    if (status == OCLATTN_OK) {
        status = problem_run_plan(p, plan, error);
    }
    oclattn_plan_destroy(plan);
    return status;
}

/* ---- running from host memory ----------------------------------------------------------------------------------- */

static void *host_pointer(const view *tensor) {
    if (!tensor->memory) {
        return NULL;
    }
    return tensor->memory->result + (size_t)tensor->offset * element_bytes(tensor->memory->type);
}

static void host_score_inputs(const problem *p, oclattn_host_score_inputs *inputs) {
    inputs->mask = host_pointer(&p->mask);
    inputs->bias = host_pointer(&p->bias);
    inputs->bias_scale = host_pointer(&p->bias_scale);
    inputs->alibi_slopes = host_pointer(&p->alibi_slopes);
    inputs->sinks = host_pointer(&p->sinks);
    inputs->q_lens = host_pointer(&p->q_lens);
    inputs->kv_lens = host_pointer(&p->kv_lens);
    inputs->q_starts = host_pointer(&p->q_starts);
    inputs->kv_starts = host_pointer(&p->kv_starts);
    inputs->offsets = host_pointer(&p->offsets);
}

oclattn_status problem_run_host(problem *p, oclattn_error *error) {
    oclattn_attention_host_args args;
    view *views[TENSOR_COUNT];
    all_views(p, views);
    for (int i = 0; i < TENSOR_COUNT; i++) {
        if (views[i]->memory) {
            memcpy(views[i]->memory->result, views[i]->memory->image,
                   (size_t)views[i]->memory->count * element_bytes(views[i]->memory->type));
        }
    }
    oclattn_attention_host_args_init(&args);
    args.q = host_pointer(&p->q);
    args.k = host_pointer(&p->k);
    args.v = host_pointer(&p->v);
    args.o = host_pointer(&p->o);
    args.lse = host_pointer(&p->lse);
    args.scores = host_pointer(&p->scores);
    host_score_inputs(p, &args.score);
    const oclattn_attention_desc desc = wanted_desc(p);
    return oclattn_attention_host(device.context, &desc, &args, error);
}

/* ---- assertions ------------------------------------------------------------------------------------------------- */

void assert_problem(problem *p) {
    oclattn_error error;
    char message[PROBLEM_MESSAGE_SIZE];
    assert_ok(problem_run(p, &error), &error);
    if (!problem_check(p, message)) {
        fail_msg("%s", message);
    }
}
