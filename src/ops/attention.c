/* Attention: variants, plans, launches. */
#include <stdio.h>

#include "../plan/tuning_file.h"
#include "../plan/tuning_parameters.h"
#include "../plan/variant.h"
#include "attention_problem.h"
#include "attention_variants.h"
#include "check.h"
#include "ops.h"

typedef struct attention_plan {
    oclattn_plan base;
    attention_problem problem;
    const variant *chosen;
    size_t cursor; /* of the walk through the variants */
    tuning tuned;
    int64_t kv_chunk;      /* keys of a part; 0: not split */
    size_t sub_group_size; /* of `attend`; 0: it uses none */
    text refusals;
    planned_kernel attend, combine, show; /* combine only if keys are split, show only for scores */
} attention_plan;

static void clear(oclattn_plan *plan) {
    attention_plan *self = (attention_plan *)plan;
    planned_kernel_clear(&self->attend);
    planned_kernel_clear(&self->combine);
    planned_kernel_clear(&self->show);
    text_clear(&self->refusals);
}

static oclattn_status choose_variant(attention_plan *self, oclattn_error *error) {
    const variant_request request = attention_variant_request(&self->problem.desc);
    const variant *found = variant_next(&request, self->base.context, &self->tuned, &self->cursor, &self->refusals);
    if (found == NULL) {
        return variant_none(&request, &self->refusals, error);
    }
    self->chosen = found;
    self->base.variant = found->name;
    return OCLATTN_OK;
}

/* The chunk's size follows from q_len, never from the batch. */
static void settle_chunks(attention_plan *self) {
    const oclattn_attention_desc *desc = &self->problem.desc;
    const int64_t by_table = attention_has_few_rows(desc) ? self->tuned.few_rows_chunk : 0;
    const int64_t chunk = desc->kv_chunk > 0 ? desc->kv_chunk : by_table;
    self->kv_chunk = chunk < desc->kv_len ? chunk : 0;
}

static int64_t chunk_count(const attention_plan *self, int64_t kv_len) {
    return self->kv_chunk == 0 || kv_len <= self->kv_chunk ? 1 : (kv_len - 1) / self->kv_chunk + 1;
}

/* Partial results, one for each row and chunk: v_dim sums, the maximum and the denominator. */
static oclattn_status settle_workspace(attention_plan *self, oclattn_error *error) {
    const int64_t chunks = chunk_count(self, self->problem.desc.kv_len);
    if (chunks == 1) {
        return OCLATTN_OK;
    }
    const int64_t states = multiply_sizes(attention_rows(&self->problem), chunks);
    const int64_t bytes = multiply_sizes(states, (self->problem.desc.v_dim + 2) * (int64_t)sizeof(float));
    RETURN_IF_ERROR(check_allocation(&self->base.context->caps, "the workspace (partial results of kv_chunk)",
                                     (uint64_t)bytes, error));
    self->base.workspace_bytes = (size_t)bytes;
    return OCLATTN_OK;
}

static oclattn_status check_allocations(const attention_plan *self, oclattn_error *error) {
    for (int t = 0; t < ATTENTION_TENSORS; ++t) {
        RETURN_IF_ERROR(check_tensor_allocation(&self->base.context->caps, &self->problem.specs[t], error));
    }
    return OCLATTN_OK;
}

static oclattn_status resolve(attention_plan *self, const oclattn_attention_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(attention_problem_make(desc, &self->problem, error));
    self->tuned = tuning_for(self->base.context);
    settle_chunks(self);
    RETURN_IF_ERROR(choose_variant(self, error));
    RETURN_IF_ERROR(check_allocations(self, error));
    return settle_workspace(self, error);
}

/* Each kernel has a file of its own, of the same name. exact_local: 0, or the work-group's size. */
static oclattn_status make_kernel(attention_plan *self, const char *name, const char *options, size_t exact_local,
                                  int64_t items, planned_kernel *kernel, oclattn_error *error) {
    char file[64];
    snprintf(file, sizeof(file), "%s.cl", name);
    const kernel_source source = {.file = file,
                                  .options = options,
                                  .name = name,
                                  .params_bytes = sizeof(attention_params),
                                  .preferred_local = (size_t)self->tuned.local_size,
                                  .exact_local = exact_local,
                                  .most_items = items};
    return planned_kernel_make(self->base.context, &source, kernel, error);
}

static int64_t attend_items(const attention_plan *self, const attention_problem *problem) {
    return attention_items(self->chosen->id, &self->tuned, &self->base.context->caps, problem,
                           chunk_count(self, problem->kv_len));
}

static oclattn_status make_attend_with(attention_plan *self, bool sub_groups, oclattn_error *error) {
    const attention_problem *problem = &self->problem;
    const variant_id id = self->chosen->id;
    char options[PART_OPTIONS_SIZE];
    const int64_t items = attend_items(self, problem);
    attention_build_options(id, &self->tuned, &self->base.context->caps, &problem->desc, sub_groups,
                            launch_covers(items), options);
    return make_kernel(self, self->chosen->name, options, attention_group_size(id, &self->tuned, &problem->desc), items,
                       &self->attend, error);
}

/* Sub-groups are what the compiler makes of the kernel: only the built one says how large they are. */
static bool make_attend_with_sub_groups(attention_plan *self) {
    const oclattn_context *context = self->base.context;
    if (!attention_may_use_sub_groups(self->chosen->id, &self->tuned, &context->caps, &self->problem.desc) ||
        make_attend_with(self, true, NULL) != OCLATTN_OK) {
        planned_kernel_clear(&self->attend);
        return false;
    }
    const size_t size = planned_kernel_sub_group_size(context, &self->attend);
    if (attention_sub_groups_fit(&self->tuned, &self->problem.desc, size)) {
        self->sub_group_size = size;
        return true;
    }
    log_line(&context->log, OCLATTN_LOG_INFO, "%s: sub-groups of %zu do not fit its work-groups; local memory instead",
             self->chosen->name, size);
    planned_kernel_clear(&self->attend);
    return false;
}

static oclattn_status make_attend(attention_plan *self, oclattn_error *error) {
    return make_attend_with_sub_groups(self) ? OCLATTN_OK : make_attend_with(self, false, error);
}

/* A compiler that refuses one kernel, or builds it so that it cannot run, may well take the next: unless it was asked
 * for by name, the walk goes on. */
static oclattn_status make_attend_or_next(attention_plan *self, oclattn_error *error) {
    oclattn_error own;
    oclattn_error *why = error != NULL ? error : &own;
    oclattn_status status = make_attend(self, why);
    while ((status == OCLATTN_BUILD_FAILED || status == OCLATTN_UNSUPPORTED) && self->problem.desc.variant == NULL) {
        const char *failed = self->chosen->name;
        const char *reason = status == OCLATTN_UNSUPPORTED ? why->message : "the device's compiler refused its kernel";
        text_format(&self->refusals, "%s: %s\n", failed, reason);
        planned_kernel_clear(&self->attend);
        if (choose_variant(self, NULL) != OCLATTN_OK) {
            break;
        }
        log_line(&self->base.context->log, OCLATTN_LOG_WARNING, "%s cannot run (%s); %s is taken instead", failed,
                 reason, self->chosen->name);
        status = make_attend(self, why);
    }
    return status;
}

static bool combines(const attention_plan *self) {
    return chunk_count(self, self->problem.desc.kv_len) > 1;
}

static bool shows(const attention_plan *self) {
    return self->problem.desc.scores_kind != OCLATTN_SCORES_NONE;
}

static void combine_options(const attention_plan *self, char options[PART_OPTIONS_SIZE]) {
    options[0] = '\0';
    attention_add_narrow_option(&self->base.context->caps, options);
}

static void show_options(const attention_plan *self, char options[PART_OPTIONS_SIZE]) {
    snprintf(options, PART_OPTIONS_SIZE, "-DK_TYPE=%d", (int)self->problem.desc.k_type);
    attention_add_narrow_option(&self->base.context->caps, options);
}

/* A kernel for groups of several work-items is built alone: it may be built twice, and its names are like those of other
 * kernels. */
static void add_parts(const oclattn_plan *plan, program_parts *parts) {
    const attention_plan *self = (const attention_plan *)plan;
    char options[PART_OPTIONS_SIZE];
    if (attention_group_size(self->chosen->id, &self->tuned, &self->problem.desc) <= 1) {
        attention_build_options(self->chosen->id, &self->tuned, &plan->context->caps, &self->problem.desc, false, true,
                                options);
        parts_add(parts, self->chosen->name, options);
    }
    if (combines(self)) {
        combine_options(self, options);
        parts_add(parts, "attention_combine", options);
    }
    if (shows(self)) {
        show_options(self, options);
        parts_add(parts, "attention_scores", options);
    }
}

static oclattn_status compile(oclattn_plan *plan, oclattn_error *error) {
    attention_plan *self = (attention_plan *)plan;
    const attention_problem *problem = &self->problem;
    char options[PART_OPTIONS_SIZE];
    RETURN_IF_ERROR(make_attend_or_next(self, error));
    if (combines(self)) {
        const int64_t items = attention_combine_items(problem);
        combine_options(self, options);
        RETURN_IF_ERROR(make_kernel(self, "attention_combine", options, 0, items, &self->combine, error));
    }
    if (shows(self)) {
        show_options(self, options);
        RETURN_IF_ERROR(make_kernel(self, "attention_scores", options, 0, attention_rows(problem), &self->show, error));
    }
    return OCLATTN_OK;
}

const tensor_spec *attention_specs(const oclattn_plan *plan) {
    return ((const attention_plan *)plan)->problem.specs;
}

static void describe_features(const oclattn_attention_desc *desc, text *lines) {
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {{OCLATTN_CAUSAL, "causal"},
                 {OCLATTN_MASK, "mask"},
                 {OCLATTN_BIAS, "bias"},
                 {OCLATTN_BIAS_SCALE, "bias scale"},
                 {OCLATTN_ALIBI, "ALiBi"},
                 {OCLATTN_SINKS, "sinks"},
                 {OCLATTN_Q_LENS, "q_lens"},
                 {OCLATTN_KV_LENS, "kv_lens"},
                 {OCLATTN_Q_STARTS, "packed queries"},
                 {OCLATTN_KV_STARTS, "packed keys"},
                 {OCLATTN_RUNTIME_LENGTHS, "run-time lengths"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        if (desc->score.flags & names[i].flag) {
            text_format(lines, ", %s", names[i].name);
        }
    }
    if (desc->score.window_left >= 0 || desc->score.window_right >= 0) {
        text_format(lines, ", window %lld,%lld", (long long)desc->score.window_left,
                    (long long)desc->score.window_right);
    }
    if (desc->score.softcap > 0.0f) {
        text_format(lines, ", softcap %g", (double)desc->score.softcap);
    }
}

static void describe(const oclattn_plan *plan, const char *indent, text *lines) {
    const attention_plan *self = (const attention_plan *)plan;
    const oclattn_attention_desc *desc = &self->problem.desc;
    attention_params params;
    attention_problem_params(&self->problem, &params);
    text_format(lines, "%sattention: q [%lld, %lld, %lld, %lld] %s, k [%lld, %lld, %lld, %lld] %s, v [.., %lld] %s",
                indent, (long long)desc->batch, (long long)desc->q_heads, (long long)desc->q_len,
                (long long)desc->head_dim, type_name(desc->q_type), (long long)desc->batch, (long long)desc->kv_heads,
                (long long)desc->kv_len, (long long)desc->head_dim, type_name(desc->k_type), (long long)desc->v_dim,
                type_name(desc->v_type));
    text_format(lines, " -> o [%lld, %lld, %lld, %lld] %s\n", (long long)desc->batch, (long long)desc->q_heads,
                (long long)desc->q_len, (long long)desc->v_dim, type_name(desc->o_type));
    text_format(lines, "%s  softmax(%g * q k^T) v", indent, (double)params.scale);
    describe_features(desc, lines);
    text_format(lines, "\n%s  variant: %s (%s)\n", indent, self->chosen->name, self->chosen->what);
    if (desc->variant == NULL && variant_is_first_choice(self->chosen, attention_has_few_rows(desc), &self->tuned)) {
        text_format(lines, "%s  tried first: ", indent);
        tuning_add_origin(&self->tuned, TUNING_VARIANTS, lines);
        text_add_string(lines, "\n");
    }
    variant_describe_refusals(&self->refusals, indent, lines);
    tuning_describe(&self->tuned, attention_tiles_of(self->chosen->id, desc), &plan->context->caps, indent, lines);
    if (self->sub_group_size > 0) {
        text_format(lines, "%s  softmax by sub-groups of %zu\n", indent, self->sub_group_size);
    }
    const int64_t chunks = chunk_count(self, desc->kv_len);
    if (chunks > 1) {
        text_format(lines, "%s  keys in %lld chunks of %lld, merged in order\n", indent, (long long)chunks,
                    (long long)self->kv_chunk);
    }
    text_format(lines, "%s  workspace: %zu bytes; launches: %d\n", indent, plan->workspace_bytes,
                1 + (chunks > 1 ? 1 : 0) + (desc->scores_kind != OCLATTN_SCORES_NONE ? 1 : 0));
}

static const plan_type attention_type = {.kind = PLAN_ATTENTION,
                                         .bytes = sizeof(attention_plan),
                                         .add_parts = add_parts,
                                         .compile = compile,
                                         .describe = describe,
                                         .clear = clear};

oclattn_status attention_resolve(oclattn_context *context, const oclattn_attention_desc *desc, oclattn_plan **plan,
                                 oclattn_error *error) {
    oclattn_plan *made = NULL;
    RETURN_IF_ERROR(plan_new(&attention_type, context, &made, error));
    return plan_hand_over(made, resolve((attention_plan *)made, desc, error), plan);
}

/* ---- enqueue ---------------------------------------------------------------------------------------------------- */

/* What one call binds. */
typedef struct attention_call {
    attention_problem problem;
    attention_params params;
    cl_mem buffers[ATTENTION_TENSORS];
    cl_mem workspace;
} attention_call;

static oclattn_status check_length(const char *name, int64_t length, int64_t planned, bool may_vary,
                                   oclattn_error *error) {
    if (length == planned || (may_vary && length >= 0 && length < planned)) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s is %lld; the plan was made for %s%lld", name,
                     (long long)length, may_vary ? "at most " : "", (long long)planned);
}

static oclattn_status set_lengths(attention_problem *problem, const oclattn_attention_args *args,
                                  oclattn_error *error) {
    const oclattn_attention_desc *desc = &problem->desc;
    const bool may_vary = (desc->score.flags & OCLATTN_RUNTIME_LENGTHS) != 0;
    const int64_t q_len = args->q_len == -1 ? desc->q_len : args->q_len;
    const int64_t kv_len = args->kv_len == -1 ? desc->kv_len : args->kv_len;
    RETURN_IF_ERROR(check_length("q_len", q_len, desc->q_len, may_vary, error));
    RETURN_IF_ERROR(check_length("kv_len", kv_len, desc->kv_len, may_vary, error));
    attention_problem_set_lengths(problem, q_len, kv_len);
    return OCLATTN_OK;
}

static oclattn_status check_reserved_inputs(const oclattn_score_inputs *inputs, oclattn_error *error) {
    for (size_t i = 0; i < sizeof(inputs->reserved) / sizeof(inputs->reserved[0]); ++i) {
        const oclattn_tensor *tensor = &inputs->reserved[i];
        if (tensor->buffer != NULL || tensor->offset != 0 || tensor->strides != NULL) {
            return error_set(error, OCLATTN_UNSUPPORTED, "a reserved tensor is set: this library does not know it");
        }
    }
    return OCLATTN_OK;
}

static oclattn_status check_overlaps(const tensor_spec *specs, const oclattn_tensor *const *tensors,
                                     oclattn_error *error) {
    for (int a = 0; a < ATTENTION_TENSORS; ++a) {
        for (int b = 0; b < ATTENTION_TENSORS && specs[a].output; ++b) {
            if (a != b && tensors_overlap(&specs[a], tensors[a], &specs[b], tensors[b])) {
                return error_set(error, OCLATTN_INVALID_ARGUMENT,
                                 "%s overlaps %s: an output shares memory with nothing", specs[a].name, specs[b].name);
            }
        }
    }
    return OCLATTN_OK;
}

/* The workspace is one piece, all of it used. */
static oclattn_status check_workspace_overlap(const attention_plan *self, const attention_call *call,
                                              const oclattn_tensor *const *tensors, size_t offset,
                                              oclattn_error *error) {
    const tensor_spec workspace = {
        .used = self->base.workspace_bytes > 0, .element_bytes = 1, .width = (int64_t)self->base.workspace_bytes};
    const oclattn_tensor at = {.buffer = call->workspace, .offset = (int64_t)offset};
    for (int t = 0; t < ATTENTION_TENSORS; ++t) {
        if (tensors_overlap(&workspace, &at, &call->problem.specs[t], tensors[t])) {
            return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s lies in the workspace", call->problem.specs[t].name);
        }
    }
    return OCLATTN_OK;
}

static oclattn_status bind_tensors(const attention_plan *self, attention_call *call, const oclattn_attention_args *args,
                                   size_t workspace_offset, oclattn_error *error) {
    const oclattn_score_inputs *score = &args->score;
    const oclattn_tensor *const tensors[ATTENTION_TENSORS] = {
        [ATTENTION_Q] = &args->q,
        [ATTENTION_K] = &args->k,
        [ATTENTION_V] = &args->v,
        [ATTENTION_O] = &args->o,
        [ATTENTION_LSE] = &args->lse,
        [ATTENTION_SCORES] = &args->scores,
        [ATTENTION_MASK] = &score->mask,
        [ATTENTION_BIAS] = &score->bias,
        [ATTENTION_BIAS_SCALE] = &score->bias_scale,
        [ATTENTION_SLOPES] = &score->alibi_slopes,
        [ATTENTION_SINKS] = &score->sinks,
        [ATTENTION_Q_LENS] = &score->q_lens,
        [ATTENTION_KV_LENS] = &score->kv_lens,
        [ATTENTION_Q_STARTS] = &score->q_starts,
        [ATTENTION_KV_STARTS] = &score->kv_starts,
        [ATTENTION_OFFSETS] = &score->offsets,
    };
    RETURN_IF_ERROR(check_reserved_inputs(score, error));
    for (int t = 0; t < ATTENTION_TENSORS; ++t) {
        RETURN_IF_ERROR(tensor_bind(&call->problem.specs[t], self->base.context->cl, tensors[t], error));
        call->buffers[t] = tensors[t]->buffer;
    }
    RETURN_IF_ERROR(check_overlaps(call->problem.specs, tensors, error));
    RETURN_IF_ERROR(check_workspace_overlap(self, call, tensors, workspace_offset, error));
    attention_problem_params(&call->problem, &call->params);
    for (int t = 0; t < ATTENTION_TENSORS; ++t) {
        call->params.offsets[t] = tensors[t]->offset;
    }
    return OCLATTN_OK;
}

/* Kernels never touch a tensor that is not used, but some drivers refuse NULL: any other one stands in. */
static cl_mem find_stand_in(const attention_call *call) {
    cl_mem found = call->workspace;
    for (int t = 0; t < ATTENTION_TENSORS && found == NULL; ++t) {
        found = call->buffers[t];
    }
    return found;
}

static oclattn_status set_arguments(const planned_kernel *kernel, const attention_call *call, oclattn_error *error) {
    cl_uint index = 0;
    const cl_mem stand_in = find_stand_in(call);
    RETURN_IF_ERROR(set_argument(kernel, &index, sizeof(call->params), &call->params, error));
    for (int t = 0; t < ATTENTION_TENSORS; ++t) {
        RETURN_IF_ERROR(set_buffer(kernel, &index, call->buffers[t] == NULL ? stand_in : call->buffers[t], error));
    }
    return set_buffer(kernel, &index, call->workspace == NULL ? stand_in : call->workspace, error);
}

static oclattn_status launch_one(const planned_kernel *kernel, const attention_call *call, int64_t items,
                                 launch_list *list, oclattn_error *error) {
    RETURN_IF_ERROR(set_arguments(kernel, call, error));
    return launch_kernel(list, kernel, items, error);
}

static oclattn_status launch_all(const attention_plan *self, const attention_call *call, launch_list *list,
                                 oclattn_error *error) {
    const attention_problem *problem = &call->problem;
    const int64_t rows = attention_rows(problem);
    if (rows == 0) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(launch_one(&self->attend, call, attend_items(self, problem), list, error));
    if (call->params.chunk_count > 1) {
        RETURN_IF_ERROR(launch_one(&self->combine, call, attention_combine_items(problem), list, error));
    }
    if (self->show.kernel != NULL && problem->kv_len > 0) {
        RETURN_IF_ERROR(launch_one(&self->show, call, rows, list, error));
    }
    return OCLATTN_OK;
}

/* Where attention_tiled_gpu may load four elements at once. */
static int alignment_features(const attention_plan *self, const attention_call *call,
                              const oclattn_attention_args *args) {
    enum { ELEMENTS = 4 };
    const tensor_spec *specs = call->problem.specs;
    const device_caps *caps = &self->base.context->caps;
    if (self->chosen->id != VARIANT_ATTENTION_TILED_GPU) {
        return 0;
    }
    return (tensor_rows_are_aligned(&specs[ATTENTION_K], &args->k, caps, ELEMENTS) ? K_IS_ALIGNED : 0) |
           (tensor_rows_are_aligned(&specs[ATTENTION_V], &args->v, caps, ELEMENTS) ? V_IS_ALIGNED : 0);
}

oclattn_status attention_launch(const oclattn_plan *plan, launch_list *list, const oclattn_attention_args *args,
                                size_t workspace_offset, oclattn_error *error) {
    const attention_plan *self = (const attention_plan *)plan;
    attention_call call = {.problem = self->problem, .workspace = args->workspace};
    RETURN_IF_ERROR(set_lengths(&call.problem, args, error));
    RETURN_IF_ERROR(bind_tensors(self, &call, args, workspace_offset, error));
    call.params.features |= alignment_features(self, &call, args);
    call.params.chunk_count = chunk_count(self, call.problem.kv_len);
    call.params.kv_chunk = call.params.chunk_count > 1 ? self->kv_chunk : INT64_MAX;
    call.params.partial_offset = (int64_t)(workspace_offset / sizeof(float));
    plan_lock(plan);
    const oclattn_status status = launch_all(self, &call, list, error);
    plan_unlock(plan);
    return status;
}
