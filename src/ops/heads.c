/* Split and merge: a packed matrix to heads, and back. */
#include "../plan/params.h"
#include "../plan/tuning_file.h"
#include "check.h"
#include "ops.h"

typedef struct heads_plan {
    oclattn_plan base;
    oclattn_heads_desc desc; /* padded_dim settled */
    tensor_spec packed, heads;
    planned_kernel kernel;
} heads_plan;

static bool splits(const heads_plan *self) {
    return self->base.type->kind == PLAN_SPLIT;
}

static void clear(oclattn_plan *plan) {
    planned_kernel_clear(&((heads_plan *)plan)->kernel);
}

static oclattn_status check(const oclattn_heads_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_type("packed_type", desc->packed_type, error));
    RETURN_IF_ERROR(check_type("heads_type", desc->heads_type, error));
    RETURN_IF_ERROR(check_size("batch", desc->batch, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("rows", desc->rows, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("heads", desc->heads, 1, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("head_dim", desc->head_dim, 1, INT32_MAX - 16, error));
    if (desc->padded_dim != 0) {
        RETURN_IF_ERROR(check_size("padded_dim", desc->padded_dim, desc->head_dim, INT32_MAX - 16, error));
    }
    return check_reserved(desc->reserved, sizeof(desc->reserved) / sizeof(desc->reserved[0]), error);
}

static oclattn_status resolve(heads_plan *self, const oclattn_heads_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check(desc, error));
    self->desc = *desc;
    self->desc.padded_dim = desc->padded_dim == 0 ? desc->head_dim : desc->padded_dim;
    self->packed = (tensor_spec){.name = "packed",
                                 .used = true,
                                 .output = !splits(self),
                                 .element_bytes = oclattn_type_bytes(desc->packed_type),
                                 .rank = 2,
                                 .dims = {desc->batch, desc->rows},
                                 .width = multiply_sizes(desc->heads, desc->head_dim)};
    self->heads = (tensor_spec){.name = "heads",
                                .used = true,
                                .output = splits(self),
                                .element_bytes = oclattn_type_bytes(desc->heads_type),
                                .rank = 3,
                                .dims = {desc->batch, desc->heads, desc->rows},
                                .width = self->desc.padded_dim};
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->packed, desc->packed_strides, error));
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->heads, desc->heads_strides, error));
    RETURN_IF_ERROR(check_tensor_allocation(&self->base.context->caps, &self->packed, error));
    return check_tensor_allocation(&self->base.context->caps, &self->heads, error);
}

/* One for 16 columns of a row of a head. */
static int64_t item_count(const heads_plan *self) {
    const oclattn_heads_desc *desc = &self->desc;
    const int64_t width = splits(self) ? desc->padded_dim : desc->head_dim;
    return desc->batch * desc->rows * desc->heads * ((width + 15) / 16);
}

static const char *kernel_name(const heads_plan *self) {
    return splits(self) ? "split" : "merge";
}

static void add_parts(const oclattn_plan *plan, program_parts *parts) {
    parts_add(parts, kernel_name((const heads_plan *)plan), "");
}

static oclattn_status compile(oclattn_plan *plan, oclattn_error *error) {
    heads_plan *self = (heads_plan *)plan;
    const kernel_source source = {.file = splits(self) ? "split.cl" : "merge.cl",
                                  .options = "",
                                  .name = kernel_name(self),
                                  .params_bytes = sizeof(heads_params),
                                  .preferred_local = (size_t)tuning_for(plan->context).local_size,
                                  .most_items = item_count(self)};
    return planned_kernel_make(plan->context, &source, &self->kernel, error);
}

static void describe(const oclattn_plan *plan, const char *indent, text *lines) {
    const heads_plan *self = (const heads_plan *)plan;
    const oclattn_heads_desc *desc = &self->desc;
    text_format(lines, "%s%s: packed [%lld, %lld, %lld] %s %s heads [%lld, %lld, %lld, %lld] %s\n%s  variant: %s\n",
                indent, splits(self) ? "split" : "merge", (long long)desc->batch, (long long)desc->rows,
                (long long)self->packed.width, type_name(desc->packed_type), splits(self) ? "->" : "<-",
                (long long)desc->batch, (long long)desc->heads, (long long)desc->rows, (long long)desc->padded_dim,
                type_name(desc->heads_type), indent, plan->variant);
}

static const plan_type split_type = {.kind = PLAN_SPLIT,
                                     .bytes = sizeof(heads_plan),
                                     .add_parts = add_parts,
                                     .compile = compile,
                                     .describe = describe,
                                     .clear = clear};
static const plan_type merge_type = {.kind = PLAN_MERGE,
                                     .bytes = sizeof(heads_plan),
                                     .add_parts = add_parts,
                                     .compile = compile,
                                     .describe = describe,
                                     .clear = clear};

oclattn_status heads_resolve(oclattn_context *context, plan_kind kind, const oclattn_heads_desc *desc,
                             oclattn_plan **plan, oclattn_error *error) {
    oclattn_plan *made = NULL;
    RETURN_IF_ERROR(plan_new(kind == PLAN_SPLIT ? &split_type : &merge_type, context, &made, error));
    made->variant = kind == PLAN_SPLIT ? "split_portable" : "merge_portable";
    return plan_hand_over(made, resolve((heads_plan *)made, desc, error), plan);
}

static oclattn_status launch(const heads_plan *self, launch_list *list, const heads_params *params, cl_mem from,
                             cl_mem to, oclattn_error *error) {
    cl_uint index = 0;
    RETURN_IF_ERROR(set_argument(&self->kernel, &index, sizeof(*params), params, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, from, error));
    RETURN_IF_ERROR(set_buffer(&self->kernel, &index, to, error));
    return launch_kernel(list, &self->kernel, item_count(self), error);
}

oclattn_status heads_launch(const oclattn_plan *plan, launch_list *list, const oclattn_heads_args *args,
                            oclattn_error *error) {
    const heads_plan *self = (const heads_plan *)plan;
    tensor_spec packed = self->packed;
    tensor_spec heads = self->heads;
    RETURN_IF_ERROR(tensor_bind(&packed, plan->context->cl, &args->packed, error));
    RETURN_IF_ERROR(tensor_bind(&heads, plan->context->cl, &args->heads, error));
    if (tensors_overlap(&packed, &args->packed, &heads, &args->heads)) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "packed and heads overlap");
    }
    if (tensor_is_empty(&heads)) {
        return OCLATTN_OK;
    }
    const heads_params params = {.batch = self->desc.batch,
                                 .rows = self->desc.rows,
                                 .heads = self->desc.heads,
                                 .packed_offset = args->packed.offset,
                                 .heads_offset = args->heads.offset,
                                 .packed_strides = {packed.strides[0], packed.strides[1]},
                                 .heads_strides = {heads.strides[0], heads.strides[1], heads.strides[2]},
                                 .head_dim = (int)self->desc.head_dim,
                                 .padded_dim = (int)self->desc.padded_dim,
                                 .packed_type = (int)self->desc.packed_type,
                                 .heads_type = (int)self->desc.heads_type};
    const cl_mem from = splits(self) ? args->packed.buffer : args->heads.buffer;
    const cl_mem to = splits(self) ? args->heads.buffer : args->packed.buffer;
    plan_lock(plan);
    const oclattn_status status = launch(self, list, &params, from, to, error);
    plan_unlock(plan);
    return status;
}
