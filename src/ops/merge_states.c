/* Merging the results over two sets of keys. */
#include "../plan/params.h"
#include "../plan/tuning_file.h"
#include "check.h"
#include "ops.h"

typedef struct merge_states_plan {
    oclattn_plan base;
    tensor_spec o, lse;
    planned_kernel kernel;
} merge_states_plan;

static void clear(oclattn_plan *plan) {
    planned_kernel_clear(&((merge_states_plan *)plan)->kernel);
}

static oclattn_status resolve(merge_states_plan *self, const oclattn_merge_states_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_size("rows", desc->rows, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("v_dim", desc->v_dim, 1, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_reserved(desc->reserved, sizeof(desc->reserved) / sizeof(desc->reserved[0]), error));
    self->o = (tensor_spec){
        .used = true, .element_bytes = sizeof(float), .rank = 1, .dims = {desc->rows}, .width = desc->v_dim};
    self->lse = self->o;
    self->lse.width = 1;
    self->o.name = "o";
    self->lse.name = "lse";
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->o, NULL, error));
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->lse, NULL, error));
    return check_tensor_allocation(&self->base.context->caps, &self->o, error);
}

static void add_parts(const oclattn_plan *plan, program_parts *parts) {
    (void)plan;
    parts_add(parts, "merge_states", "");
}

static oclattn_status compile(oclattn_plan *plan, oclattn_error *error) {
    merge_states_plan *self = (merge_states_plan *)plan;
    const kernel_source source = {.file = "merge_states.cl",
                                  .options = "",
                                  .name = "merge_states",
                                  .params_bytes = sizeof(states_params),
                                  .preferred_local = (size_t)tuning_for(plan->context).local_size,
                                  .most_items = self->o.dims[0]};
    return planned_kernel_make(plan->context, &source, &self->kernel, error);
}

static void describe(const oclattn_plan *plan, const char *indent, text *lines) {
    const merge_states_plan *self = (const merge_states_plan *)plan;
    text_format(lines, "%smerge_states: o [%lld, %lld] f32\n%s  variant: %s\n", indent, (long long)self->o.dims[0],
                (long long)self->o.width, indent, plan->variant);
}

static const plan_type merge_states_type = {.kind = PLAN_MERGE_STATES,
                                            .bytes = sizeof(merge_states_plan),
                                            .add_parts = add_parts,
                                            .compile = compile,
                                            .describe = describe,
                                            .clear = clear};

oclattn_status merge_states_resolve(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                    oclattn_plan **plan, oclattn_error *error) {
    oclattn_plan *made = NULL;
    RETURN_IF_ERROR(plan_new(&merge_states_type, context, &made, error));
    made->variant = "merge_states_portable";
    return plan_hand_over(made, resolve((merge_states_plan *)made, desc, error), plan);
}

static oclattn_status bind(const tensor_spec *spec, cl_context cl, const char *name, const oclattn_tensor *tensor,
                           oclattn_error *error) {
    if (tensor->strides != NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "strides of %s: it is contiguous, pass NULL", name);
    }
    tensor_spec named = *spec;
    named.name = name;
    return tensor_bind(&named, cl, tensor, error);
}

static oclattn_status bind_all(const merge_states_plan *self, const oclattn_merge_states_args *args,
                               oclattn_error *error) {
    RETURN_IF_ERROR(bind(&self->o, self->base.context->cl, "o1", &args->o1, error));
    RETURN_IF_ERROR(bind(&self->lse, self->base.context->cl, "lse1", &args->lse1, error));
    RETURN_IF_ERROR(bind(&self->o, self->base.context->cl, "o2", &args->o2, error));
    RETURN_IF_ERROR(bind(&self->lse, self->base.context->cl, "lse2", &args->lse2, error));
    RETURN_IF_ERROR(bind(&self->o, self->base.context->cl, "o", &args->o, error));
    return bind(&self->lse, self->base.context->cl, "lse", &args->lse, error);
}

static oclattn_status launch(const merge_states_plan *self, launch_list *list, const states_params *params,
                             const oclattn_merge_states_args *args, oclattn_error *error) {
    cl_uint index = 0;
    RETURN_IF_ERROR(set_argument(&self->kernel, &index, sizeof(*params), params, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, args->o1.buffer, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, args->lse1.buffer, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, args->o2.buffer, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, args->lse2.buffer, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, args->o.buffer, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, args->lse.buffer, error));
    return launch_kernel(list, &self->kernel, params->rows, error);
}

oclattn_status merge_states_launch(const oclattn_plan *plan, launch_list *list, const oclattn_merge_states_args *args,
                                   oclattn_error *error) {
    const merge_states_plan *self = (const merge_states_plan *)plan;
    RETURN_IF_ERROR(bind_all(self, args, error));
    if (self->o.dims[0] == 0) {
        return OCLATTN_OK;
    }
    const states_params params = {.rows = self->o.dims[0],
                                  .v_dim = self->o.width,
                                  .o1_offset = args->o1.offset,
                                  .lse1_offset = args->lse1.offset,
                                  .o2_offset = args->o2.offset,
                                  .lse2_offset = args->lse2.offset,
                                  .o_offset = args->o.offset,
                                  .lse_offset = args->lse.offset};
    plan_lock(plan);
    const oclattn_status status = launch(self, list, &params, args, error);
    plan_unlock(plan);
    return status;
}
