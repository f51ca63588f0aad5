/* Projections: y = x W + b. */
#include "../plan/params.h"
#include "../plan/tuning_file.h"
#include "../plan/tuning_parameters.h"
#include "../plan/variant.h"
#include "blas.h"
#include "check.h"
#include "ops.h"
#include "projection.h"

static void clear(oclattn_plan *plan) {
    projection_plan *self = (projection_plan *)plan;
    planned_kernel_clear(&self->pack);
    planned_kernel_clear(&self->multiply);
    planned_kernel_clear(&self->fill);
    oclattn_plan_destroy(self->convert_x);
    oclattn_plan_destroy(self->convert_y);
    text_clear(&self->refusals);
}

static oclattn_status check(const oclattn_projection_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_flags("flags", desc->flags, OCLATTN_WEIGHTS_OUT_IN | OCLATTN_PROJECTION_BIAS, error));
    RETURN_IF_ERROR(check_type("x_type", desc->x_type, error));
    RETURN_IF_ERROR(check_type("w_type", desc->w_type, error));
    RETURN_IF_ERROR(check_type("y_type", desc->y_type, error));
    RETURN_IF_ERROR(check_size("batch", desc->batch, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("rows", desc->rows, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("in_dim", desc->in_dim, 1, INT32_MAX / 2, error));
    RETURN_IF_ERROR(check_size("out_dim", desc->out_dim, 1, INT32_MAX / 2, error));
    return check_reserved(desc->reserved, sizeof(desc->reserved) / sizeof(desc->reserved[0]), error);
}

static tensor_spec matrix_spec(const char *name, oclattn_type type, const oclattn_projection_desc *desc,
                               int64_t width) {
    return (tensor_spec){.name = name,
                         .used = true,
                         .element_bytes = oclattn_type_bytes(type),
                         .rank = 2,
                         .dims = {desc->batch, desc->rows},
                         .width = width};
}

static oclattn_status make_specs(projection_plan *self, oclattn_error *error) {
    const oclattn_projection_desc *desc = &self->desc;
    self->x = matrix_spec("x", desc->x_type, desc, desc->in_dim);
    self->y = matrix_spec("y", desc->y_type, desc, desc->out_dim);
    self->y.output = true;
    self->w = (tensor_spec){.name = "w",
                            .used = true,
                            .element_bytes = oclattn_type_bytes(desc->w_type),
                            .rank = 1,
                            .dims = {desc->in_dim},
                            .width = desc->out_dim};
    self->b = (tensor_spec){.name = "b",
                            .used = (desc->flags & OCLATTN_PROJECTION_BIAS) != 0,
                            .element_bytes = oclattn_type_bytes(desc->w_type),
                            .rank = 1,
                            .dims = {1},
                            .width = desc->out_dim};
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->x, desc->x_strides, error));
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->y, desc->y_strides, error));
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->w, NULL, error));
    RETURN_IF_ERROR(tensor_spec_set_strides(&self->b, NULL, error));
    const device_caps *caps = &self->base.context->caps;
    RETURN_IF_ERROR(check_tensor_allocation(caps, &self->x, error));
    RETURN_IF_ERROR(check_tensor_allocation(caps, &self->y, error));
    const int64_t panels = multiply_sizes(desc->in_dim, desc->out_dim + MOST_PANEL_COLUMNS);
    return check_allocation(caps, "w, prepared as f32", (uint64_t)multiply_sizes(panels, sizeof(float)), error);
}

/* Tries the rows of the variant table one by one; a variant that turns out not to fit leaves its reason. */
static oclattn_status choose_variant(projection_plan *self, oclattn_error *error) {
    const variant_request request = {.operation = PLAN_PROJECTION, .wanted = self->desc.variant};
    for (;;) {
        const variant *found = variant_next(&request, self->base.context, &self->tuned, &self->cursor, &self->refusals);
        if (found == NULL) {
            return variant_none(&request, &self->refusals, error);
        }
        self->chosen = found;
        self->base.variant = found->name;
        oclattn_error reason = {.status = OCLATTN_OK};
        if (found->id != VARIANT_PROJECTION_CLBLAST || projection_blas_resolve(self, &reason) == OCLATTN_OK) {
            return OCLATTN_OK;
        }
        text_format(&self->refusals, "%s: %s\n", found->name, reason.message);
        self->scratch_bytes = 0; /* the next one needs none */
    }
}

static oclattn_status resolve(projection_plan *self, const oclattn_projection_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check(desc, error));
    self->desc = *desc;
    RETURN_IF_ERROR(make_specs(self, error));
    self->tuned = tuning_for(self->base.context);
    RETURN_IF_ERROR(choose_variant(self, error));
    self->base.workspace_bytes = self->temporary_bytes;
    if (self->scratch_bytes > 0) {
        workspace_reserve(&self->base.workspace_bytes, self->scratch_bytes);
    }
    return check_allocation(&self->base.context->caps, "the workspace", self->base.workspace_bytes, error);
}

int64_t projection_panel_width(const projection_plan *self) {
    switch (self->chosen->id) {
    case VARIANT_PROJECTION_CLBLAST:
        return self->desc.out_dim;
    case VARIANT_PROJECTION_TILED_CPU:
        return self->tuned.projection.panel_vectors * tuning_lanes(&self->base.context->caps);
    default:
        return PROJECTION_PANEL;
    }
}

static int64_t panel_count(const projection_plan *self) {
    return (self->desc.out_dim - 1) / projection_panel_width(self) + 1;
}

int64_t projection_padded_columns(const projection_plan *self) {
    return panel_count(self) * projection_panel_width(self);
}

static int64_t parts(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}

static int64_t multiply_items(const projection_plan *self) {
    const projection_tiles *tiles = &self->tuned.projection;
    const int64_t rows = self->desc.batch * self->desc.rows;
    if (self->chosen->id == VARIANT_PROJECTION_TILED_CPU) {
        return parts(parts(rows, tiles->rows), tiles->row_tiles) * parts(panel_count(self), tiles->panels);
    }
    return parts(rows, self->tuned.projection_portable.rows) * panel_count(self);
}

/* Each kernel has a file of its own, of the same name. */
static oclattn_status make_kernel(projection_plan *self, const char *name, const char *options, size_t params_bytes,
                                  int64_t items, planned_kernel *kernel, oclattn_error *error) {
    char file[64];
    snprintf(file, sizeof(file), "%s.cl", name);
    const kernel_source source = {.file = file,
                                  .options = options,
                                  .name = name,
                                  .params_bytes = params_bytes,
                                  .preferred_local = (size_t)self->tuned.local_size,
                                  .most_items = items};
    return planned_kernel_make(self->base.context, &source, kernel, error);
}

static void multiply_options(const projection_plan *self, char options[PART_OPTIONS_SIZE]) {
    const projection_tiles *tiles = &self->tuned.projection;
    if (self->chosen->id == VARIANT_PROJECTION_TILED_CPU) {
        snprintf(options, PART_OPTIONS_SIZE,
                 "-DLANES=%d -DROWS=%d -DROW_TILES=%d -DPANEL_VECTORS=%d -DPANELS=%d -DK_BLOCK=%d",
                 tuning_lanes(&self->base.context->caps), tiles->rows, tiles->row_tiles, tiles->panel_vectors,
                 tiles->panels, tiles->k_block);
    } else {
        snprintf(options, PART_OPTIONS_SIZE, "-DROWS=%d -DK_BLOCK=%d", self->tuned.projection_portable.rows,
                 self->tuned.projection_portable.k_block);
    }
}

static void add_parts(const oclattn_plan *plan, program_parts *parts) {
    const projection_plan *self = (const projection_plan *)plan;
    char options[PART_OPTIONS_SIZE];
    parts_add(parts, "pack_weights", "");
    if (self->chosen->id == VARIANT_PROJECTION_CLBLAST) {
        parts_add(parts, "broadcast_bias", "");
        return;
    }
    multiply_options(self, options);
    parts_add(parts, self->chosen->name, options);
}

static oclattn_status make_multiply(projection_plan *self, oclattn_error *error) {
    char options[PART_OPTIONS_SIZE];
    multiply_options(self, options);
    return make_kernel(self, self->chosen->name, options, sizeof(projection_params), multiply_items(self),
                       &self->multiply, error);
}

/* A compiler that refuses one kernel may well take the next: unless it was asked for by name, the walk goes on. */
static oclattn_status make_multiply_or_next(projection_plan *self, oclattn_error *error) {
    oclattn_status status = make_multiply(self, error);
    while (status == OCLATTN_BUILD_FAILED && self->desc.variant == NULL) {
        const char *failed = self->chosen->name;
        text_format(&self->refusals, "%s: the device's compiler refused its kernel\n", failed);
        if (choose_variant(self, NULL) != OCLATTN_OK) {
            break;
        }
        log_line(&self->base.context->log, OCLATTN_LOG_WARNING,
                 "the device's compiler refused the kernel of %s; %s is taken instead", failed, self->chosen->name);
        status = make_multiply(self, error);
    }
    return status;
}

static oclattn_status make_pack(projection_plan *self, oclattn_error *error) {
    const int64_t items = projection_padded_columns(self) * self->desc.in_dim;
    return make_kernel(self, "pack_weights", "", sizeof(pack_params), items, &self->pack, error);
}

static oclattn_status compile(oclattn_plan *plan, oclattn_error *error) {
    projection_plan *self = (projection_plan *)plan;
    if (self->chosen->id != VARIANT_PROJECTION_CLBLAST) {
        RETURN_IF_ERROR(make_multiply_or_next(self, error));
        return make_pack(self, error);
    }
    const int64_t elements = (int64_t)self->product.m * self->desc.out_dim;
    RETURN_IF_ERROR(make_pack(self, error));
    RETURN_IF_ERROR(make_kernel(self, "broadcast_bias", "", sizeof(projection_params), elements, &self->fill, error));
    return projection_blas_make(self, error);
}

size_t projection_temporary_bytes(const oclattn_plan *plan) {
    return ((const projection_plan *)plan)->temporary_bytes;
}

size_t projection_scratch_bytes(const oclattn_plan *plan) {
    return ((const projection_plan *)plan)->scratch_bytes;
}

static tuning_group tiles_of(variant_id id) {
    switch (id) {
    case VARIANT_PROJECTION_CLBLAST:
        return TUNING_CLBLAST;
    case VARIANT_PROJECTION_TILED_CPU:
        return TUNING_PROJECTION;
    default:
        return TUNING_PROJECTION_PORTABLE;
    }
}

static void describe(const oclattn_plan *plan, const char *indent, text *lines) {
    const projection_plan *self = (const projection_plan *)plan;
    const oclattn_projection_desc *desc = &self->desc;
    text_format(lines, "%sprojection: x [%lld, %lld, %lld] %s times W [%lld, %lld] %s%s -> y [%lld, %lld, %lld] %s\n",
                indent, (long long)desc->batch, (long long)desc->rows, (long long)desc->in_dim, type_name(desc->x_type),
                (long long)desc->in_dim, (long long)desc->out_dim, type_name(desc->w_type),
                self->b.used ? " plus b" : "", (long long)desc->batch, (long long)desc->rows, (long long)desc->out_dim,
                type_name(desc->y_type));
    text_format(lines, "%s  variant: %s (%s)\n", indent, self->chosen->name, self->chosen->what);
    variant_describe_refusals(&self->refusals, indent, lines);
    tuning_describe(&self->tuned, tiles_of(self->chosen->id), &plan->context->caps, indent, lines);
    text_format(lines, "%s  workspace: %zu bytes\n", indent, plan->workspace_bytes);
}

static const plan_type projection_type = {.kind = PLAN_PROJECTION,
                                          .bytes = sizeof(projection_plan),
                                          .add_parts = add_parts,
                                          .compile = compile,
                                          .describe = describe,
                                          .clear = clear};

oclattn_status projection_resolve(oclattn_context *context, const oclattn_projection_desc *desc, oclattn_plan **plan,
                                  oclattn_error *error) {
    oclattn_plan *made = NULL;
    RETURN_IF_ERROR(plan_new(&projection_type, context, &made, error));
    return plan_hand_over(made, resolve((projection_plan *)made, desc, error), plan);
}

/* ---- enqueue ---------------------------------------------------------------------------------------------------- */

static oclattn_status check_matrix(const projection_plan *self, const prepared_matrix *matrix, oclattn_error *error) {
    if (matrix->in_dim != self->desc.in_dim || matrix->out_dim != self->desc.out_dim ||
        matrix->has_bias != self->b.used) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "weights were prepared for [%lld, %lld] %s bias, this plan needs [%lld, %lld] %s",
                         (long long)matrix->in_dim, (long long)matrix->out_dim, matrix->has_bias ? "with" : "without",
                         (long long)self->desc.in_dim, (long long)self->desc.out_dim,
                         self->b.used ? "with" : "without");
    }
    if (matrix->panel != projection_panel_width(self)) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "weights were prepared for another variant or other tiles than those of %s",
                         self->chosen->name);
    }
    return OCLATTN_OK;
}

static oclattn_status launch_multiply(const projection_plan *self, launch_list *list, const projection_call *call,
                                      oclattn_error *error) {
    const projection_params params = projection_call_params(self, call);
    cl_uint index = 0;
    RETURN_IF_ERROR(set_argument(&self->multiply, &index, sizeof(params), &params, error));
    RETURN_IF_ERROR(set_buffer(&self->multiply, &index, call->args->x.buffer, error));
    RETURN_IF_ERROR(set_buffer(&self->multiply, &index, call->matrix->panels, error));
    RETURN_IF_ERROR(set_buffer(&self->multiply, &index, call->matrix->bias, error));
    RETURN_IF_ERROR(set_buffer(&self->multiply, &index, call->args->y.buffer, error));
    return launch_kernel(list, &self->multiply, multiply_items(self), error);
}

projection_params projection_call_params(const projection_plan *self, const projection_call *call) {
    return (projection_params){.batch = self->desc.batch,
                               .rows = self->desc.rows,
                               .in_dim = self->desc.in_dim,
                               .out_dim = self->desc.out_dim,
                               .x_offset = call->args->x.offset,
                               .y_offset = call->args->y.offset,
                               .x_strides = {call->x.strides[0], call->x.strides[1]},
                               .y_strides = {call->y.strides[0], call->y.strides[1]},
                               .x_type = (int)self->desc.x_type,
                               .y_type = (int)self->desc.y_type,
                               .has_bias = self->b.used};
}

oclattn_status projection_launch_with(const oclattn_plan *plan, launch_list *list, const oclattn_projection_args *args,
                                      const prepared_matrix *matrix, size_t scratch_offset, oclattn_error *error) {
    const projection_plan *self = (const projection_plan *)plan;
    projection_call call = {
        .args = args, .matrix = matrix, .x = self->x, .y = self->y, .scratch_offset = scratch_offset};
    RETURN_IF_ERROR(check_matrix(self, matrix, error));
    RETURN_IF_ERROR(tensor_bind(&call.x, plan->context->cl, &args->x, error));
    RETURN_IF_ERROR(tensor_bind(&call.y, plan->context->cl, &args->y, error));
    if (tensors_overlap(&call.y, &args->y, &call.x, &args->x)) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "y overlaps x");
    }
    if (tensor_is_empty(&call.y)) {
        return OCLATTN_OK;
    }
    const bool by_blas = self->chosen->id == VARIANT_PROJECTION_CLBLAST;
    plan_lock(plan);
    const oclattn_status status =
        by_blas ? projection_blas_launch(self, list, &call, error) : launch_multiply(self, list, &call, error);
    plan_unlock(plan);
    return status;
}

oclattn_status projection_launch(const oclattn_plan *plan, launch_list *list, const oclattn_projection_args *args,
                                 size_t scratch_offset, oclattn_error *error) {
    RETURN_IF_ERROR(weights_check(args->weights, plan->context, 1, error));
    return projection_launch_with(plan, list, args, &args->weights->matrices[0], scratch_offset, error);
}
