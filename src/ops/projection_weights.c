/* Preparing the weights of projections. */
#include "ops.h"
#include "projection.h"

static oclattn_status make_buffer(const oclattn_context *context, int64_t floats, cl_mem *buffer,
                                  oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, (size_t)floats * sizeof(float), NULL, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clCreateBuffer for prepared weights");
}

static oclattn_status launch_pack(const projection_plan *self, launch_list *list, const pack_params *params, cl_mem w,
                                  cl_mem b, const prepared_matrix *matrix, oclattn_error *error) {
    cl_uint index = 0;
    RETURN_IF_ERROR(set_argument(&self->pack, &index, sizeof(*params), params, error));
    RETURN_IF_ERROR(set_buffer(&self->pack, &index, w, error));
    RETURN_IF_ERROR(set_buffer(&self->pack, &index, b == NULL ? w : b, error));
    RETURN_IF_ERROR(set_buffer(&self->pack, &index, matrix->panels, error));
    RETURN_IF_ERROR(set_buffer(&self->pack, &index, matrix->bias, error));
    return launch_kernel(list, &self->pack, params->padded * params->in_dim, error);
}

static oclattn_status bind_weight(const tensor_spec *spec, cl_context cl, const char *name,
                                  const oclattn_tensor *tensor, oclattn_error *error) {
    static const oclattn_tensor none = {0};
    const oclattn_tensor *given = tensor == NULL ? &none : tensor;
    tensor_spec named = *spec;
    named.name = name;
    if (given->strides != NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "strides of %s: weights are contiguous, pass NULL", name);
    }
    return tensor_bind(&named, cl, given, error);
}

oclattn_status projection_prepare(const oclattn_plan *plan, launch_list *list, const char *const names[2],
                                  const oclattn_tensor *w, const oclattn_tensor *b, prepared_matrix *matrix,
                                  oclattn_error *error) {
    const projection_plan *self = (const projection_plan *)plan;
    const oclattn_projection_desc *desc = &self->desc;
    RETURN_IF_ERROR(bind_weight(&self->w, plan->context->cl, names[0], w, error));
    RETURN_IF_ERROR(bind_weight(&self->b, plan->context->cl, names[1], b, error));
    const int64_t padded = projection_padded_columns(self);
    matrix->in_dim = desc->in_dim;
    matrix->out_dim = desc->out_dim;
    matrix->panel = projection_panel_width(self);
    matrix->has_bias = self->b.used;
    RETURN_IF_ERROR(make_buffer(plan->context, padded * desc->in_dim, &matrix->panels, error));
    RETURN_IF_ERROR(make_buffer(plan->context, padded, &matrix->bias, error));
    const pack_params params = {.in_dim = desc->in_dim,
                                .out_dim = desc->out_dim,
                                .panel = matrix->panel,
                                .padded = padded,
                                .w_offset = w->offset,
                                .b_offset = self->b.used ? b->offset : 0,
                                .w_type = (int)desc->w_type,
                                .out_in = (desc->flags & OCLATTN_WEIGHTS_OUT_IN) != 0,
                                .has_bias = self->b.used};
    plan_lock(plan);
    const oclattn_status status =
        launch_pack(self, list, &params, w->buffer, self->b.used ? b->buffer : NULL, matrix, error);
    plan_unlock(plan);
    return status;
}

static oclattn_status prepare_one(const oclattn_plan *plan, launch_list *list, const oclattn_tensor *w,
                                  const oclattn_tensor *b, oclattn_weights *weights, oclattn_error *error) {
    static const char *const names[2] = {"w", "b"};
    if (w == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "w is NULL");
    }
    RETURN_IF_ERROR(projection_prepare(plan, list, names, w, b, &weights->matrices[0], error));
    return projection_wait(list, error);
}

oclattn_status projection_wait(launch_list *list, oclattn_error *error) {
    const cl_int code = clFinish(list->queue);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clFinish after preparing weights");
}

oclattn_status projection_weights_make(const oclattn_plan *plan, cl_command_queue queue, const oclattn_tensor *w,
                                       const oclattn_tensor *b, oclattn_weights **weights, oclattn_error *error) {
    launch_list list;
    oclattn_weights *made = NULL;
    RETURN_IF_ERROR(launch_begin(&list, plan->context, queue, 0, NULL, false, error));
    RETURN_IF_ERROR(weights_new(plan->context, 1, &made, error));
    const oclattn_status status = prepare_one(plan, &list, w, b, made, error);
    launch_abandon(&list);
    if (status != OCLATTN_OK) {
        oclattn_weights_destroy(made);
        return status;
    }
    *weights = made;
    return OCLATTN_OK;
}
