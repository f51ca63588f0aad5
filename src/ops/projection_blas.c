/* Projections by CLBlast SGEMM: y is filled with the bias, and the product is added to it. */
#include "blas_parameters.h"
#include "ops.h"
#include "projection.h"

/* The one stride between rows counted over the batch; -1 where there is none. */
static int64_t flat_stride(const tensor_spec *matrix) {
    const int64_t batch = matrix->dims[0];
    const int64_t rows = matrix->dims[1];
    const int64_t b_stride = matrix->strides[0];
    const int64_t row_stride = matrix->strides[1];
    if (batch <= 1 && rows <= 1) {
        return matrix->width;
    }
    if (rows <= 1) {
        return b_stride;
    }
    return batch <= 1 || b_stride == rows * row_stride ? row_stride : -1;
}

static bool needs_conversion(const tensor_spec *matrix, oclattn_type type) {
    return type != OCLATTN_F32 || flat_stride(matrix) < matrix->width;
}

static size_t matrix_bytes(const tensor_spec *matrix) {
    return (size_t)(matrix->dims[0] * matrix->dims[1] * matrix->width) * sizeof(float);
}

static void settle_product(projection_plan *self) {
    const oclattn_projection_desc *desc = &self->desc;
    self->converts_x = needs_conversion(&self->x, desc->x_type);
    self->converts_y = needs_conversion(&self->y, desc->y_type);
    self->product = (blas_product){
        .m = (size_t)(desc->batch * desc->rows),
        .n = (size_t)desc->out_dim,
        .k = (size_t)desc->in_dim,
        .x_ld = (size_t)(self->converts_x ? desc->in_dim : flat_stride(&self->x)),
        .y_ld = (size_t)(self->converts_y ? desc->out_dim : flat_stride(&self->y)),
    };
}

static void settle_scratch(projection_plan *self) {
    self->scratch_bytes = 0;
    self->scratch_x = self->converts_x ? workspace_reserve(&self->scratch_bytes, matrix_bytes(&self->x)) : 0;
    self->scratch_y = self->converts_y ? workspace_reserve(&self->scratch_bytes, matrix_bytes(&self->y)) : 0;
}

oclattn_status projection_blas_resolve(projection_plan *self, oclattn_error *error) {
    const int64_t rows = multiply_sizes(self->desc.batch, self->desc.rows);
    if (rows > INT32_MAX) {
        return error_set(error, OCLATTN_UNSUPPORTED, "%lld rows are more than it can index", (long long)rows);
    }
    settle_product(self);
    const blas_product *product = &self->product;
    if (!blas_can_index((int64_t)product->m, (int64_t)product->n, (int64_t)product->k, (int64_t)product->x_ld,
                        (int64_t)product->y_ld)) {
        return error_set(error, OCLATTN_UNSUPPORTED, "the matrices have more elements than it can index");
    }
    settle_scratch(self);
    self->temporary_bytes = 0;
    RETURN_IF_ERROR(blas_use_parameters(self->base.context, &self->tuned.clblast, error));
    return rows == 0 ? OCLATTN_OK : blas_temporary_bytes(self->base.context, product, &self->temporary_bytes, error);
}

/* A copy between a strided matrix and a contiguous f32 one is a split, or a merge, with one head. */
static oclattn_heads_desc conversion(const tensor_spec *matrix, oclattn_type type) {
    oclattn_heads_desc desc;
    oclattn_heads_desc_init(&desc);
    desc.packed_type = type;
    desc.batch = matrix->dims[0];
    desc.rows = matrix->dims[1];
    desc.heads = 1;
    desc.head_dim = matrix->width;
    desc.packed_strides[0] = matrix->strides[0];
    desc.packed_strides[1] = matrix->strides[1];
    return desc;
}

oclattn_status projection_blas_make(projection_plan *self, oclattn_error *error) {
    oclattn_context *context = self->base.context;
    if (self->converts_x) {
        const oclattn_heads_desc desc = conversion(&self->x, self->desc.x_type);
        RETURN_IF_ERROR(heads_resolve(context, PLAN_SPLIT, &desc, &self->convert_x, error));
        RETURN_IF_ERROR(plan_compile(self->convert_x, error));
    }
    if (self->converts_y) {
        const oclattn_heads_desc desc = conversion(&self->y, self->desc.y_type);
        RETURN_IF_ERROR(heads_resolve(context, PLAN_MERGE, &desc, &self->convert_y, error));
        RETURN_IF_ERROR(plan_compile(self->convert_y, error));
    }
    return self->product.m == 0 ? OCLATTN_OK : blas_warm(context, &self->product, self->temporary_bytes, error);
}

/* f32 matrix that stands in for x or y: itself, or its copy in the workspace. */
static oclattn_tensor stand_in(const projection_call *call, const oclattn_tensor *tensor, bool converted,
                               size_t scratch) {
    if (!converted) {
        return (oclattn_tensor){.buffer = tensor->buffer, .offset = tensor->offset};
    }
    return (oclattn_tensor){.buffer = call->args->workspace,
                            .offset = (int64_t)((call->scratch_offset + scratch) / sizeof(float))};
}

static oclattn_status launch_conversion(const oclattn_plan *plan, launch_list *list, const oclattn_tensor *packed,
                                        const oclattn_tensor *heads, oclattn_error *error) {
    oclattn_heads_args args;
    oclattn_heads_args_init(&args);
    args.packed = *packed;
    args.heads = *heads;
    return heads_launch(plan, list, &args, error);
}

static oclattn_status launch_fill(const projection_plan *self, launch_list *list, const oclattn_tensor *y,
                                  const prepared_matrix *matrix, oclattn_error *error) {
    const int64_t rows = (int64_t)self->product.m;
    const projection_params params = {.batch = 1,
                                      .rows = rows,
                                      .out_dim = self->desc.out_dim,
                                      .y_offset = y->offset,
                                      .y_strides = {0, (int64_t)self->product.y_ld}};
    cl_uint index = 0;
    RETURN_IF_ERROR(set_argument(&self->fill, &index, sizeof(params), &params, error));
    RETURN_IF_ERROR(set_buffer(&self->fill, &index, matrix->bias, error));
    RETURN_IF_ERROR(set_buffer(&self->fill, &index, y->buffer, error));
    return launch_kernel(list, &self->fill, rows * self->desc.out_dim, error);
}

oclattn_status projection_blas_launch(const projection_plan *self, launch_list *list, const projection_call *call,
                                      oclattn_error *error) {
    const oclattn_projection_args *args = call->args;
    if (args->x.strides != NULL || args->y.strides != NULL) {
        return error_set(error, OCLATTN_UNSUPPORTED, "projection_clblast takes the strides of its plan, not of a call");
    }
    const oclattn_tensor x = stand_in(call, &args->x, self->converts_x, self->scratch_x);
    const oclattn_tensor y = stand_in(call, &args->y, self->converts_y, self->scratch_y);
    if (self->converts_x) {
        RETURN_IF_ERROR(launch_conversion(self->convert_x, list, &args->x, &x, error));
    }
    RETURN_IF_ERROR(launch_fill(self, list, &y, call->matrix, error));
    RETURN_IF_ERROR(blas_launch(list, &self->product, x.buffer, x.offset, call->matrix->panels, y.buffer, y.offset,
                                args->workspace, error));
    return self->converts_y ? launch_conversion(self->convert_y, list, &args->y, &y, error) : OCLATTN_OK;
}
