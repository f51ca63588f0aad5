/* F(H) = Merge(head_1, ..., head_tau) W^head: four projections around attention.
 *
 *     H --W^Q,W^K,W^V--> Q, K, V --split--> heads --attention--> heads --merge--> rows --W^head--> F(H)
 *
 * Split and merge cost nothing unless asked for: Q, K and V are [batch, rows, heads * head_dim] in the workspace, and
 * attention reads a head of them by strides, and writes its rows likewise. */
#include "attention_problem.h"
#include "check.h"
#include "mha.h"
#include "ops.h"

static void clear(oclattn_plan *plan) {
    mha_plan *self = (mha_plan *)plan;
    for (int i = 0; i < MHA_STAGES; ++i) {
        oclattn_plan_destroy(self->stages[i]);
    }
}

static const char *const weight_names[MOST_PROJECTIONS][2] = {
    {"w_q", "b_q"}, {"w_k", "b_k"}, {"w_v", "b_v"}, {"w_head", "b_head"}};

static oclattn_status settle_head_sizes(oclattn_mha_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_size("d_model", desc->d_model, 1, INT32_MAX / 2, error));
    RETURN_IF_ERROR(check_size("n_heads", desc->n_heads, 1, INT32_MAX / 2, error));
    desc->n_kv_heads = desc->n_kv_heads == 0 ? desc->n_heads : desc->n_kv_heads;
    RETURN_IF_ERROR(check_size("n_kv_heads", desc->n_kv_heads, 1, INT32_MAX / 2, error));
    if (desc->head_dim == 0 && desc->d_model % desc->n_heads != 0) {
        return error_set(
            error, OCLATTN_INVALID_ARGUMENT,
            "d_model (%lld) is not divisible by n_heads (%lld): d_model = n_heads x head_dim; set head_dim "
            "for a model whose heads have another width",
            (long long)desc->d_model, (long long)desc->n_heads);
    }
    desc->head_dim = desc->head_dim == 0 ? desc->d_model / desc->n_heads : desc->head_dim;
    desc->v_dim = desc->v_dim == 0 ? desc->head_dim : desc->v_dim;
    if (desc->n_heads % desc->n_kv_heads != 0) {
        return error_set(
            error, OCLATTN_INVALID_ARGUMENT,
            "n_heads (%lld) is not a multiple of n_kv_heads (%lld): each KV head serves as many query heads",
            (long long)desc->n_heads, (long long)desc->n_kv_heads);
    }
    RETURN_IF_ERROR(check_size("head_dim", desc->head_dim, 1, 1024, error));
    return check_size("v_dim", desc->v_dim, 1, 1024, error);
}

static oclattn_status settle_lengths(oclattn_mha_desc *desc, oclattn_error *error) {
    const bool cross = (desc->flags & OCLATTN_MHA_CROSS) != 0;
    RETURN_IF_ERROR(check_size("batch", desc->batch, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("q_len", desc->q_len, 0, LARGEST_SIZE, error));
    if (!cross && desc->kv_len != -1 && desc->kv_len != desc->q_len) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "kv_len (%lld) differs from q_len (%lld) without OCLATTN_MHA_CROSS", (long long)desc->kv_len,
                         (long long)desc->q_len);
    }
    if (!cross && desc->kv_width != 0 && desc->kv_width != desc->d_model) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "kv_width (%lld) differs from d_model (%lld) without OCLATTN_MHA_CROSS",
                         (long long)desc->kv_width, (long long)desc->d_model);
    }
    desc->kv_len = desc->kv_len == -1 ? desc->q_len : desc->kv_len;
    desc->kv_width = desc->kv_width == 0 ? desc->d_model : desc->kv_width;
    RETURN_IF_ERROR(check_size("kv_len", desc->kv_len, 0, LARGEST_SIZE, error));
    return check_size("kv_width", desc->kv_width, 1, INT32_MAX / 2, error);
}

static oclattn_status check(const oclattn_mha_desc *desc, oclattn_error *error) {
    const uint32_t known = OCLATTN_MHA_CROSS | OCLATTN_MHA_WEIGHTS_OUT_IN | OCLATTN_MHA_B_Q | OCLATTN_MHA_B_K |
                           OCLATTN_MHA_B_V | OCLATTN_MHA_B_HEAD | OCLATTN_MHA_SPLIT_MERGE;
    const uint32_t not_here = OCLATTN_Q_STARTS | OCLATTN_KV_STARTS | OCLATTN_RUNTIME_LENGTHS;
    RETURN_IF_ERROR(check_flags("flags", desc->flags, known, error));
    RETURN_IF_ERROR(check_type("x_type", desc->x_type, error));
    RETURN_IF_ERROR(check_type("w_type", desc->w_type, error));
    RETURN_IF_ERROR(check_type("y_type", desc->y_type, error));
    if (desc->score.flags & not_here) {
        return error_set(error, OCLATTN_UNSUPPORTED,
                         "F(H) has batches of one length: packed rows and run-time lengths are for attention alone");
    }
    return score_options_check(&desc->score, error);
}

/* A projection's descriptor; its output is contiguous f32 unless it is the last one. */
static oclattn_projection_desc projection_desc(const oclattn_mha_desc *desc, uint32_t bias_flag, int64_t rows,
                                               int64_t in_dim, int64_t out_dim) {
    oclattn_projection_desc made;
    oclattn_projection_desc_init(&made);
    made.flags = ((desc->flags & OCLATTN_MHA_WEIGHTS_OUT_IN) ? OCLATTN_WEIGHTS_OUT_IN : 0) |
                 ((desc->flags & bias_flag) ? OCLATTN_PROJECTION_BIAS : 0);
    made.w_type = desc->w_type;
    made.batch = desc->batch;
    made.rows = rows;
    made.in_dim = in_dim;
    made.out_dim = out_dim;
    made.variant = desc->projection_variant;
    return made;
}

static void copy_strides(int64_t to[2], const int64_t from[2]) {
    to[0] = from[0];
    to[1] = from[1];
}

static oclattn_status make_projections(mha_plan *self, oclattn_error *error) {
    const oclattn_mha_desc *desc = &self->desc;
    const bool cross = (desc->flags & OCLATTN_MHA_CROSS) != 0;
    const int64_t q_width = desc->n_heads * desc->head_dim;
    const int64_t merged_width = desc->n_heads * desc->v_dim;
    oclattn_projection_desc made[MOST_PROJECTIONS] = {
        projection_desc(desc, OCLATTN_MHA_B_Q, desc->q_len, desc->d_model, q_width),
        projection_desc(desc, OCLATTN_MHA_B_K, desc->kv_len, desc->kv_width, desc->n_kv_heads * desc->head_dim),
        projection_desc(desc, OCLATTN_MHA_B_V, desc->kv_len, desc->kv_width, desc->n_kv_heads * desc->v_dim),
        projection_desc(desc, OCLATTN_MHA_B_HEAD, desc->q_len, merged_width, desc->d_model)};
    for (int i = 0; i < MHA_PROJECT_HEAD; ++i) {
        made[i].x_type = desc->x_type;
        copy_strides(made[i].x_strides, i != MHA_PROJECT_Q && cross ? desc->kv_strides : desc->x_strides);
    }
    made[MHA_PROJECT_HEAD].y_type = desc->y_type;
    copy_strides(made[MHA_PROJECT_HEAD].y_strides, desc->y_strides);
    for (int i = 0; i < MOST_PROJECTIONS; ++i) {
        RETURN_IF_ERROR(projection_resolve(self->base.context, &made[i], &self->stages[i], error));
    }
    return OCLATTN_OK;
}

static void heads_by_strides(int64_t strides[3], int64_t rows, int64_t heads, int64_t width) {
    strides[0] = rows * heads * width;
    strides[1] = width;
    strides[2] = heads * width;
}

static oclattn_status make_attention(mha_plan *self, oclattn_error *error) {
    const oclattn_mha_desc *desc = &self->desc;
    oclattn_attention_desc made;
    oclattn_attention_desc_init(&made);
    made.batch = desc->batch;
    made.q_heads = desc->n_heads;
    made.kv_heads = desc->n_kv_heads;
    made.q_len = desc->q_len;
    made.kv_len = desc->kv_len;
    made.head_dim = desc->head_dim;
    made.v_dim = desc->v_dim;
    made.variant = desc->attention_variant;
    made.score = desc->score;
    if (!mha_splits(self)) {
        heads_by_strides(made.q_strides, desc->q_len, desc->n_heads, desc->head_dim);
        heads_by_strides(made.k_strides, desc->kv_len, desc->n_kv_heads, desc->head_dim);
        heads_by_strides(made.v_strides, desc->kv_len, desc->n_kv_heads, desc->v_dim);
        heads_by_strides(made.o_strides, desc->q_len, desc->n_heads, desc->v_dim);
    }
    return attention_resolve(self->base.context, &made, &self->stages[MHA_ATTEND], error);
}

static oclattn_status make_one_heads(mha_plan *self, mha_stage stage, int64_t rows, int64_t heads, int64_t width,
                                     oclattn_error *error) {
    oclattn_heads_desc made;
    oclattn_heads_desc_init(&made);
    made.batch = self->desc.batch;
    made.rows = rows;
    made.heads = heads;
    made.head_dim = width;
    return heads_resolve(self->base.context, stage == MHA_MERGE ? PLAN_MERGE : PLAN_SPLIT, &made, &self->stages[stage],
                         error);
}

static oclattn_status make_heads(mha_plan *self, oclattn_error *error) {
    const oclattn_mha_desc *desc = &self->desc;
    if (!mha_splits(self)) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(make_one_heads(self, MHA_SPLIT_Q, desc->q_len, desc->n_heads, desc->head_dim, error));
    RETURN_IF_ERROR(make_one_heads(self, MHA_SPLIT_K, desc->kv_len, desc->n_kv_heads, desc->head_dim, error));
    RETURN_IF_ERROR(make_one_heads(self, MHA_SPLIT_V, desc->kv_len, desc->n_kv_heads, desc->v_dim, error));
    return make_one_heads(self, MHA_MERGE, desc->q_len, desc->n_heads, desc->v_dim, error);
}

/* f32 matrices [batch, rows, heads * width], in the order of enum mha_matrix. */
static void settle_workspace(mha_plan *self) {
    const oclattn_mha_desc *desc = &self->desc;
    const int64_t q_rows = multiply_sizes(desc->batch, multiply_sizes(desc->q_len, desc->n_heads));
    const int64_t kv_rows = multiply_sizes(desc->batch, multiply_sizes(desc->kv_len, desc->n_kv_heads));
    const int64_t floats[MHA_MATRICES] = {multiply_sizes(q_rows, desc->head_dim),
                                          multiply_sizes(kv_rows, desc->head_dim), multiply_sizes(kv_rows, desc->v_dim),
                                          multiply_sizes(q_rows, desc->v_dim)};
    size_t total = 0;
    size_t scratch = 0;
    for (int i = 0; i < MOST_PROJECTIONS; ++i) {
        const size_t temporary = projection_temporary_bytes(self->stages[i]);
        const size_t own = projection_scratch_bytes(self->stages[i]);
        total = temporary > total ? temporary : total;
        scratch = own > scratch ? own : scratch;
    }
    self->scratch_at = workspace_reserve(&total, scratch);
    for (int i = 0; i < MHA_MATRICES; ++i) {
        const size_t bytes = (size_t)multiply_sizes(floats[i], sizeof(float));
        self->packed_at[i] = workspace_reserve(&total, bytes);
        self->heads_at[i] = mha_splits(self) ? workspace_reserve(&total, bytes) : self->packed_at[i];
    }
    self->attention_at = workspace_reserve(&total, self->stages[MHA_ATTEND]->workspace_bytes);
    self->base.workspace_bytes = total;
}

static oclattn_status resolve(mha_plan *self, const oclattn_mha_desc *desc, oclattn_error *error) {
    self->desc = *desc;
    RETURN_IF_ERROR(check(desc, error));
    RETURN_IF_ERROR(settle_head_sizes(&self->desc, error));
    RETURN_IF_ERROR(settle_lengths(&self->desc, error));
    RETURN_IF_ERROR(make_projections(self, error));
    RETURN_IF_ERROR(make_heads(self, error));
    RETURN_IF_ERROR(make_attention(self, error));
    settle_workspace(self);
    return check_allocation(&self->base.context->caps, "the workspace", self->base.workspace_bytes, error);
}

static void add_parts(const oclattn_plan *plan, program_parts *parts) {
    const mha_plan *self = (const mha_plan *)plan;
    for (int i = 0; i < MHA_STAGES; ++i) {
        if (self->stages[i] != NULL) {
            self->stages[i]->type->add_parts(self->stages[i], parts);
        }
    }
}

static oclattn_status compile(oclattn_plan *plan, oclattn_error *error) {
    mha_plan *self = (mha_plan *)plan;
    for (int i = 0; i < MHA_STAGES; ++i) {
        if (self->stages[i] != NULL) {
            RETURN_IF_ERROR(plan_compile(self->stages[i], error));
        }
    }
    return OCLATTN_OK;
}

static const plan_type mha_type = {.kind = PLAN_MHA,
                                   .bytes = sizeof(mha_plan),
                                   .add_parts = add_parts,
                                   .compile = compile,
                                   .describe = mha_describe,
                                   .clear = clear};

oclattn_status mha_resolve(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_plan **plan,
                           oclattn_error *error) {
    oclattn_plan *made = NULL;
    RETURN_IF_ERROR(plan_new(&mha_type, context, &made, error));
    made->variant = (desc->flags & OCLATTN_MHA_SPLIT_MERGE) ? "mha_split_merge" : "mha_by_strides";
    return plan_hand_over(made, resolve((mha_plan *)made, desc, error), plan);
}

void mha_read_specs(const oclattn_plan *plan, mha_specs *specs) {
    const mha_plan *self = (const mha_plan *)plan;
    const projection_plan *const project_q = (const projection_plan *)self->stages[MHA_PROJECT_Q];
    const projection_plan *const project_k = (const projection_plan *)self->stages[MHA_PROJECT_K];
    const projection_plan *const project_head = (const projection_plan *)self->stages[MHA_PROJECT_HEAD];
    specs->x = project_q->x;
    specs->kv = project_k->x;
    specs->kv.used = (self->desc.flags & OCLATTN_MHA_CROSS) != 0;
    specs->y = project_head->y;
    for (int i = 0; i < MOST_PROJECTIONS; ++i) {
        const projection_plan *const projection = (const projection_plan *)self->stages[i];
        specs->w[i] = projection->w;
        specs->w[i].name = weight_names[i][0];
        specs->b[i] = projection->b;
        specs->b[i].name = weight_names[i][1];
    }
    specs->kv.name = "kv";
    specs->attention = self->stages[MHA_ATTEND];
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static oclattn_status prepare_all(const mha_plan *self, launch_list *list, const oclattn_mha_weights_args *args,
                                  oclattn_weights *weights, oclattn_error *error) {
    const oclattn_tensor *const w[MOST_PROJECTIONS] = {&args->w_q, &args->w_k, &args->w_v, &args->w_head};
    const oclattn_tensor *const b[MOST_PROJECTIONS] = {&args->b_q, &args->b_k, &args->b_v, &args->b_head};
    for (int i = 0; i < MOST_PROJECTIONS; ++i) {
        RETURN_IF_ERROR(
            projection_prepare(self->stages[i], list, weight_names[i], w[i], b[i], &weights->matrices[i], error));
    }
    return projection_wait(list, error);
}

oclattn_status mha_weights_make(const oclattn_plan *plan, cl_command_queue queue, const oclattn_mha_weights_args *args,
                                oclattn_weights **weights, oclattn_error *error) {
    launch_list list;
    oclattn_weights *made = NULL;
    RETURN_IF_ERROR(launch_begin(&list, plan->context, queue, 0, NULL, false, error));
    RETURN_IF_ERROR(weights_new(plan->context, MOST_PROJECTIONS, &made, error));
    const oclattn_status status = prepare_all((const mha_plan *)plan, &list, args, made, error);
    launch_abandon(&list);
    if (status != OCLATTN_OK) {
        oclattn_weights_destroy(made);
        return status;
    }
    *weights = made;
    return OCLATTN_OK;
}

/* ---- enqueue ---------------------------------------------------------------------------------------------------- */

static oclattn_tensor in_workspace(const oclattn_mha_args *args, size_t at) {
    return (oclattn_tensor){.buffer = args->workspace, .offset = (int64_t)(at / sizeof(float))};
}

static oclattn_status launch_projection(const mha_plan *self, launch_list *list, const oclattn_mha_args *args,
                                        mha_stage stage, const oclattn_tensor *x, const oclattn_tensor *y,
                                        oclattn_error *error) {
    oclattn_projection_args made;
    oclattn_projection_args_init(&made);
    made.x = *x;
    made.y = *y;
    made.workspace = args->workspace;
    return projection_launch_with(self->stages[stage], list, &made, &args->weights->matrices[stage], self->scratch_at,
                                  error);
}

static oclattn_status launch_heads(const mha_plan *self, launch_list *list, const oclattn_mha_args *args,
                                   mha_stage stage, mha_matrix matrix, oclattn_error *error) {
    if (!mha_splits(self)) {
        return OCLATTN_OK;
    }
    oclattn_heads_args made;
    oclattn_heads_args_init(&made);
    made.packed = in_workspace(args, self->packed_at[matrix]);
    made.heads = in_workspace(args, self->heads_at[matrix]);
    return heads_launch(self->stages[stage], list, &made, error);
}

static oclattn_status launch_attention(const mha_plan *self, launch_list *list, const oclattn_mha_args *args,
                                       oclattn_error *error) {
    oclattn_attention_args made;
    oclattn_attention_args_init(&made);
    made.q = in_workspace(args, self->heads_at[MHA_Q]);
    made.k = in_workspace(args, self->heads_at[MHA_K]);
    made.v = in_workspace(args, self->heads_at[MHA_V]);
    made.o = in_workspace(args, self->heads_at[MHA_O]);
    made.score = args->score;
    made.workspace = args->workspace;
    return attention_launch(self->stages[MHA_ATTEND], list, &made, self->attention_at, error);
}

static oclattn_status check_kv(const mha_plan *self, const oclattn_mha_args *args, oclattn_error *error) {
    const bool cross = (self->desc.flags & OCLATTN_MHA_CROSS) != 0;
    if (!cross && args->kv.buffer != NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "kv was passed, but the plan has no OCLATTN_MHA_CROSS");
    }
    return OCLATTN_OK;
}

oclattn_status mha_launch(const oclattn_plan *plan, launch_list *list, const oclattn_mha_args *args,
                          oclattn_error *error) {
    const mha_plan *self = (const mha_plan *)plan;
    const oclattn_tensor *kv = (self->desc.flags & OCLATTN_MHA_CROSS) ? &args->kv : &args->x;
    const oclattn_tensor q = in_workspace(args, self->packed_at[MHA_Q]);
    const oclattn_tensor k = in_workspace(args, self->packed_at[MHA_K]);
    const oclattn_tensor v = in_workspace(args, self->packed_at[MHA_V]);
    const oclattn_tensor o = in_workspace(args, self->packed_at[MHA_O]);
    RETURN_IF_ERROR(weights_check(args->weights, plan->context, MOST_PROJECTIONS, error));
    RETURN_IF_ERROR(check_kv(self, args, error));
    RETURN_IF_ERROR(launch_projection(self, list, args, MHA_PROJECT_Q, &args->x, &q, error));
    RETURN_IF_ERROR(launch_projection(self, list, args, MHA_PROJECT_K, kv, &k, error));
    RETURN_IF_ERROR(launch_projection(self, list, args, MHA_PROJECT_V, kv, &v, error));
    RETURN_IF_ERROR(launch_heads(self, list, args, MHA_SPLIT_Q, MHA_Q, error));
    RETURN_IF_ERROR(launch_heads(self, list, args, MHA_SPLIT_K, MHA_K, error));
    RETURN_IF_ERROR(launch_heads(self, list, args, MHA_SPLIT_V, MHA_V, error));
    RETURN_IF_ERROR(launch_attention(self, list, args, error));
    RETURN_IF_ERROR(launch_heads(self, list, args, MHA_MERGE, MHA_O, error));
    return launch_projection(self, list, args, MHA_PROJECT_HEAD, &o, &args->y, error);
}
