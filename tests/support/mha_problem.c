#include "mha_problem.h"

#include <math.h>
#include <reference.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 6 + 2 * MHA_MATRICES };

static const uint32_t bias_flags[MHA_MATRICES] = {OCLATTN_MHA_B_Q, OCLATTN_MHA_B_K, OCLATTN_MHA_B_V,
                                                  OCLATTN_MHA_B_HEAD};

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

int64_t mha_kv_len(const mha_problem *p) {
    return p->desc.kv_len < 0 ? p->desc.q_len : p->desc.kv_len;
}

int64_t mha_kv_width(const mha_problem *p) {
    return p->desc.kv_width ? p->desc.kv_width : p->desc.d_model;
}

int64_t mha_head_dim(const mha_problem *p) {
    return p->desc.head_dim ? p->desc.head_dim : p->desc.d_model / p->desc.n_heads;
}

int64_t mha_v_dim(const mha_problem *p) {
    return p->desc.v_dim ? p->desc.v_dim : mha_head_dim(p);
}

int64_t mha_kv_heads(const mha_problem *p) {
    return p->desc.n_kv_heads ? p->desc.n_kv_heads : p->desc.n_heads;
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

mha_problem mha_new(int64_t batch, int64_t q_len, int64_t d_model, int64_t n_heads) {
    mha_problem p;
    memset(&p, 0, sizeof p);
    oclattn_mha_desc_init(&p.desc);
    p.desc.batch = batch;
    p.desc.q_len = q_len;
    p.desc.d_model = d_model;
    p.desc.n_heads = n_heads;
    return p;
}

static view make(element type, const int64_t shape[4], const int64_t strides[4], bool is_output,
                 random_source *source) {
    const int64_t before = source ? random_between(source, 0, 30) : 6;
    return view_new(type, shape, strides, is_output, before, 5);
}

static view make_contiguous(element type, int64_t a, int64_t b, int64_t c, random_source *source) {
    const int64_t shape[4] = {a, b, c, 1};
    int64_t strides[4];
    contiguous_strides(shape, strides);
    return make(type, shape, strides, false, source);
}

static view make_rows(element type, int64_t batch, int64_t rows, int64_t width, const int64_t strides[2],
                      bool is_output, random_source *source) {
    const int64_t shape[4] = {batch, rows, width, 1};
    int64_t full[4];
    contiguous_strides(shape, full);
    if (strides[1] != OCLATTN_STRIDE_AUTO) {
        full[0] = strides[0];
        full[1] = strides[1];
    }
    return make(type, shape, full, is_output, source);
}

static void make_weights(mha_problem *p, random_source *source) {
    const oclattn_mha_desc *d = &p->desc;
    const bool out_in = d->flags & OCLATTN_MHA_WEIGHTS_OUT_IN;
    const int64_t in[MHA_MATRICES] = {d->d_model, mha_kv_width(p), mha_kv_width(p), d->n_heads * mha_v_dim(p)};
    const int64_t out[MHA_MATRICES] = {d->n_heads * mha_head_dim(p), mha_kv_heads(p) * mha_head_dim(p),
                                       mha_kv_heads(p) * mha_v_dim(p), d->d_model};
    for (int i = 0; i < MHA_MATRICES; i++) {
        p->w[i] = make_contiguous((element)d->w_type, out_in ? out[i] : in[i], out_in ? in[i] : out[i], 1, source);
        p->b[i] = make_contiguous((element)d->w_type, out[i], 1, 1, source);
    }
}

void mha_allocate(mha_problem *p, random_source *source) {
    const oclattn_mha_desc *d = &p->desc;
    p->x = make_rows((element)d->x_type, d->batch, d->q_len, d->d_model, d->x_strides, false, source);
    p->y = make_rows((element)d->y_type, d->batch, d->q_len, d->d_model, d->y_strides, true, source);
    if (d->flags & OCLATTN_MHA_CROSS) {
        p->kv = make_rows((element)d->x_type, d->batch, mha_kv_len(p), mha_kv_width(p), d->kv_strides, false, source);
    }
    make_weights(p, source);
    if (d->score.flags & OCLATTN_MASK) {
        const int64_t shape[4] = {d->batch, d->n_heads, d->q_len, mha_kv_len(p)};
        int64_t strides[4];
        contiguous_strides(shape, strides);
        p->mask = make(ELEMENT_U8, shape, strides, false, source);
    }
    if (d->score.flags & OCLATTN_Q_LENS) {
        p->q_lens = make_contiguous(ELEMENT_I32, d->batch, 1, 1, source);
    }
    if (d->score.flags & OCLATTN_KV_LENS) {
        p->kv_lens = make_contiguous(ELEMENT_I32, d->batch, 1, 1, source);
    }
}

/* Weights that keep the size of what they are applied to. */
void mha_fill(mha_problem *p, random_source *source) {
    const bool out_in = p->desc.flags & OCLATTN_MHA_WEIGHTS_OUT_IN;
    view_fill_random(&p->x, source, 1);
    if (p->kv.memory) {
        view_fill_random(&p->kv, source, 1);
    }
    for (int i = 0; i < MHA_MATRICES; i++) {
        view_fill_random(&p->w[i], source, sqrt(3.0 / (double)p->w[i].shape[out_in ? 1 : 0]));
        view_fill_random(&p->b[i], source, 0.5);
    }
    for (int64_t n = 0; p->mask.memory && n < view_count(&p->mask); n++) {
        p->mask.memory->image[p->mask.offset + n] = !random_one_in(source, 4);
    }
    for (int64_t b = 0; b < p->desc.batch; b++) {
        if (p->q_lens.memory) {
            view_set(&p->q_lens, b, 0, 0, 0, (double)random_between(source, 0, p->desc.q_len));
        }
        if (p->kv_lens.memory) {
            view_set(&p->kv_lens, b, 0, 0, 0, (double)random_between(source, 0, mha_kv_len(p)));
        }
    }
}

static void all_views(mha_problem *p, view *views[TENSORS]) {
    view *const first[6] = {&p->x, &p->kv, &p->y, &p->mask, &p->q_lens, &p->kv_lens};
    memcpy(views, first, sizeof first);
    for (int i = 0; i < MHA_MATRICES; i++) {
        views[6 + 2 * i] = &p->w[i];
        views[7 + 2 * i] = &p->b[i];
    }
}

void mha_free(mha_problem *p) {
    view *views[TENSORS];
    all_views(p, views);
    for (int i = 0; i < TENSORS; i++) {
        storage_free(views[i]->memory);
        views[i]->memory = NULL;
    }
}

/* ---- random problems -------------------------------------------------------------------------------------------- */

static void random_strides(int64_t strides[2], int64_t rows, int64_t width, random_source *source) {
    if (random_one_in(source, 3)) {
        strides[1] = width + random_between(source, 0, 6);
        strides[0] = rows * strides[1] + random_between(source, 0, 6);
    }
}

static void random_flags(mha_problem *p, random_source *source) {
    oclattn_mha_desc *d = &p->desc;
    for (int i = 0; i < MHA_MATRICES; i++) {
        d->flags |= random_one_in(source, 2) ? bias_flags[i] : 0;
    }
    d->flags |= random_one_in(source, 2) ? OCLATTN_MHA_WEIGHTS_OUT_IN : 0;
    d->flags |= random_one_in(source, 3) ? OCLATTN_MHA_SPLIT_MERGE : 0;
    if (random_one_in(source, 3)) {
        d->flags |= OCLATTN_MHA_CROSS;
        d->kv_len = random_between(source, 1, random_one_in(source, 4) ? 300 : 60);
        d->kv_width = random_one_in(source, 2) ? 0 : random_between(source, 1, 200);
    }
    if (random_one_in(source, 2)) {
        d->score.flags |= OCLATTN_CAUSAL;
        d->score.align = (oclattn_alignment)random_between(source, OCLATTN_ALIGN_TOP_LEFT, OCLATTN_ALIGN_BOTTOM_RIGHT);
    }
    d->score.flags |= random_one_in(source, 6) ? OCLATTN_MASK : 0;
    d->score.flags |= random_one_in(source, 6) ? OCLATTN_Q_LENS : 0;
    d->score.flags |= random_one_in(source, 6) ? OCLATTN_KV_LENS : 0;
}

/* Compiling a fast variant of attention takes seconds: few widths of heads have one. */
static void random_attention_variant(mha_problem *p, random_source *source) {
    static const int64_t widths[] = {8, 20, 33};
    if (random_one_in(source, 3)) {
        p->desc.head_dim = widths[random_between(source, 0, 2)];
        p->desc.v_dim = 0;
    } else {
        p->desc.attention_variant = "attention_portable";
    }
}

static void random_types(mha_problem *p, random_source *source) {
    if (random_one_in(source, 2)) {
        p->desc.x_type = (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
        p->desc.w_type = (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
        p->desc.y_type = (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
    }
}

/* Some milliseconds of work: many heads have few dimensions, wide heads are few. */
mha_problem mha_random(random_source *source) {
    const int64_t group = random_one_in(source, 3) ? random_between(source, 2, 4) : 1;
    const int64_t kv_heads = random_between(source, 1, 16 / group);
    const int64_t heads = kv_heads * group;
    const int64_t dim = random_between(source, 1, 160 / heads < 8 ? 8 : 160 / heads);
    const int64_t q_len = random_between(source, 1, random_one_in(source, 6) ? 300 : 40);
    mha_problem p = mha_new(random_between(source, 1, q_len > 100 ? 1 : 4), q_len, heads * dim, heads);
    p.desc.n_kv_heads = group == 1 && random_one_in(source, 2) ? 0 : kv_heads;
    if (random_one_in(source, 4)) {
        p.desc.head_dim = random_between(source, 1, 40);
        p.desc.v_dim = random_one_in(source, 2) ? 0 : random_between(source, 1, 40);
    }
    random_flags(&p, source);
    random_types(&p, source);
    random_attention_variant(&p, source);
    random_strides(p.desc.x_strides, p.desc.q_len, p.desc.d_model, source);
    random_strides(p.desc.y_strides, p.desc.q_len, p.desc.d_model, source);
    random_strides(p.desc.kv_strides, mha_kv_len(&p), mha_kv_width(&p), source);
    mha_allocate(&p, source);
    mha_fill(&p, source);
    return p;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

void mha_upload(mha_problem *p) {
    view *views[TENSORS];
    all_views(p, views);
    for (int i = 0; i < TENSORS; i++) {
        if (views[i]->memory) {
            storage_upload(views[i]->memory);
        }
    }
}

void mha_download(mha_problem *p) {
    view *views[TENSORS];
    all_views(p, views);
    for (int i = 0; i < TENSORS; i++) {
        if (views[i]->memory) {
            storage_download(views[i]->memory);
        }
    }
}

void mha_args(const mha_problem *p, oclattn_mha_args *args) {
    oclattn_mha_args_init(args);
    args->x = view_tensor(&p->x, false);
    args->kv = view_tensor(&p->kv, false);
    args->y = view_tensor(&p->y, false);
    args->score.mask = view_tensor(&p->mask, false);
    args->score.q_lens = view_tensor(&p->q_lens, false);
    args->score.kv_lens = view_tensor(&p->kv_lens, false);
}

static bool has_bias(const mha_problem *p, int matrix) {
    return p->desc.flags & bias_flags[matrix];
}

oclattn_status mha_prepare_weights(const mha_problem *p, const oclattn_plan *plan, cl_command_queue queue,
                                   oclattn_weights **weights, oclattn_error *error) {
    oclattn_mha_weights_args args;
    oclattn_mha_weights_args_init(&args);
    oclattn_tensor *const w[MHA_MATRICES] = {&args.w_q, &args.w_k, &args.w_v, &args.w_head};
    oclattn_tensor *const b[MHA_MATRICES] = {&args.b_q, &args.b_k, &args.b_v, &args.b_head};
    for (int i = 0; i < MHA_MATRICES; i++) {
        *w[i] = view_tensor(&p->w[i], false);
        if (has_bias(p, i)) {
            *b[i] = view_tensor(&p->b[i], false);
        }
    }
    return oclattn_mha_weights(plan, queue, &args, weights, error);
}

void mha_run(mha_problem *p) {
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_weights *weights = NULL;
    oclattn_mha_args args;
    cl_event event = NULL;
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    mha_upload(p);
    assert_ok(oclattn_mha_plan(device.context, &p->desc, &plan, &error), &error);
    assert_ok(mha_prepare_weights(p, plan, queue, &weights, &error), &error);
    mha_args(p, &args);
    args.weights = weights;
    args.workspace = workspace_new(plan);
    assert_ok(oclattn_mha_enqueue(plan, queue, &args, 0, NULL, &event, &error), &error);
    assert_non_null(event);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    mha_download(p);
    buffer_free(args.workspace);
    oclattn_weights_destroy(weights);
    oclattn_plan_destroy(plan);
}

static void *host_pointer(const view *tensor) {
    if (!tensor->memory) {
        return NULL;
    }
    return tensor->memory->result + (size_t)tensor->offset * element_bytes(tensor->memory->type);
}

oclattn_status mha_run_host(mha_problem *p, oclattn_error *error) {
    oclattn_mha_host_args args;
    view *views[TENSORS];
    all_views(p, views);
    for (int i = 0; i < TENSORS; i++) {
        if (views[i]->memory) {
            memcpy(views[i]->memory->result, views[i]->memory->image,
                   (size_t)views[i]->memory->count * element_bytes(views[i]->memory->type));
        }
    }
    oclattn_mha_host_args_init(&args);
    const void **const w[MHA_MATRICES] = {&args.w_q, &args.w_k, &args.w_v, &args.w_head};
    const void **const b[MHA_MATRICES] = {&args.b_q, &args.b_k, &args.b_v, &args.b_head};
    for (int i = 0; i < MHA_MATRICES; i++) {
        *w[i] = host_pointer(&p->w[i]);
        *b[i] = has_bias(p, i) ? host_pointer(&p->b[i]) : NULL;
    }
    args.x = host_pointer(&p->x);
    args.kv = host_pointer(&p->kv);
    args.y = host_pointer(&p->y);
    args.score.mask = host_pointer(&p->mask);
    args.score.q_lens = host_pointer(&p->q_lens);
    args.score.kv_lens = host_pointer(&p->kv_lens);
    return oclattn_mha_host(device.context, &p->desc, &args, error);
}

/* ---- comparison ------------------------------------------------------------------------------------------------- */

static double *values_of(const view *tensor) {
    double *values = must_allocate((size_t)view_count(tensor) * sizeof *values);
    for (int64_t n = 0; n < view_count(tensor); n++) {
        const int64_t c = n % tensor->shape[2], b = n / tensor->shape[2] % tensor->shape[1];
        values[n] = view_get(tensor, n / tensor->shape[2] / tensor->shape[1], b, c, 0);
    }
    return values;
}

static int32_t *integers_of(const view *tensor) {
    if (!tensor->memory) {
        return NULL;
    }
    int32_t *values = must_allocate((size_t)tensor->shape[0] * sizeof *values);
    for (int64_t i = 0; i < tensor->shape[0]; i++) {
        values[i] = (int32_t)view_get(tensor, i, 0, 0, 0);
    }
    return values;
}

static void expect_attention(const mha_problem *p, reference_attention *a) {
    const oclattn_mha_desc *d = &p->desc;
    const int64_t dim = mha_head_dim(p);
    *a = (reference_attention){.batch = d->batch,
                               .q_heads = d->n_heads,
                               .kv_heads = mha_kv_heads(p),
                               .q_len = d->q_len,
                               .kv_len = mha_kv_len(p),
                               .head_dim = dim,
                               .v_dim = mha_v_dim(p),
                               .scale = 1 / sqrt((double)dim),
                               .causal = d->score.flags & OCLATTN_CAUSAL,
                               .align = d->score.align,
                               .window_left = -1,
                               .window_right = -1};
    if (p->mask.memory) {
        a->mask = p->mask.memory->image + p->mask.offset;
        a->mask_kv_len = a->kv_len;
        memcpy(a->mask_strides, p->mask.strides, sizeof a->mask_strides);
    }
    a->q_lens = integers_of(&p->q_lens);
    a->kv_lens = integers_of(&p->kv_lens);
}

static double *expected_of(const mha_problem *p) {
    double *values[2 * MHA_MATRICES + 2];
    double *y = must_allocate((size_t)view_count(&p->y) * sizeof *y);
    for (int i = 0; i < MHA_MATRICES; i++) {
        values[2 * i] = values_of(&p->w[i]);
        values[2 * i + 1] = has_bias(p, i) ? values_of(&p->b[i]) : NULL;
    }
    values[2 * MHA_MATRICES] = values_of(&p->x);
    values[2 * MHA_MATRICES + 1] = p->kv.memory ? values_of(&p->kv) : NULL;
    reference_mha reference = {.d_model = p->desc.d_model,
                               .kv_width = mha_kv_width(p),
                               .x = values[2 * MHA_MATRICES],
                               .kv = values[2 * MHA_MATRICES + 1],
                               .w_q = values[0],
                               .b_q = values[1],
                               .w_k = values[2],
                               .b_k = values[3],
                               .w_v = values[4],
                               .b_v = values[5],
                               .w_head = values[6],
                               .b_head = values[7],
                               .out_in = p->desc.flags & OCLATTN_MHA_WEIGHTS_OUT_IN,
                               .y = y};
    expect_attention(p, &reference.attention);
    assert_true(reference_mha_run(&reference));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        free(values[i]);
    }
    free((void *)(uintptr_t)reference.attention.q_lens);
    free((void *)(uintptr_t)reference.attention.kv_lens);
    return y;
}

/* Four sums in a row over values of size 1, each erring as reference_projection_tolerance says. Their magnitudes add up
 * to sqrt(width) times a result's size, of which random signs leave a part; 1/4 holds with room to spare. */
static double tolerance_of(const mha_problem *p, double largest, double expected) {
    const double width = fmax((double)p->w[3].shape[0], fmax((double)p->w[3].shape[1], (double)mha_kv_width(p)));
    const double magnitude = fmax(1, largest) * (2 + sqrt(width) / 4);
    return 4 * reference_projection_tolerance(OCLATTN_F32, (int64_t)width + mha_kv_len(p), magnitude, expected) +
           reference_projection_tolerance(p->desc.y_type, 1, 0, expected);
}

void assert_mha(mha_problem *p) {
    view *views[TENSORS];
    double *expected = expected_of(p);
    double largest = 0;
    for (int64_t n = 0; n < view_count(&p->y); n++) {
        largest = fmax(largest, fabs(expected[n]));
    }
    for (int64_t n = 0; n < view_count(&p->y); n++) {
        const int64_t c = n % p->desc.d_model, row = n / p->desc.d_model % p->desc.q_len;
        const int64_t b = n / p->desc.d_model / p->desc.q_len;
        const double got = view_result(&p->y, b, row, c, 0);
        const double tolerance = tolerance_of(p, largest, expected[n]);
        p->y.memory->written[view_address(&p->y, b, row, c, 0)] = 1;
        if (!(fabs(got - expected[n]) <= tolerance)) {
            fail_msg("y[%lld, %lld, %lld] is %.9g, expected %.9g +- %.3g", (long long)b, (long long)row, (long long)c,
                     got, expected[n], tolerance);
        }
    }
    free(expected);
    all_views(p, views);
    for (int i = 0; i < TENSORS; i++) {
        const char *damage = views[i]->memory ? storage_damage(views[i]->memory) : NULL;
        if (damage) {
            fail_msg("%s", damage);
        }
    }
}
