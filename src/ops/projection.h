/* Inside a projection: its plan, and the part of it that runs by CLBlast. */
#ifndef OCLATTN_OPS_PROJECTION_H
#define OCLATTN_OPS_PROJECTION_H

#include <stdio.h>

#include "../plan/launch.h"
#include "../plan/params.h"
#include "../plan/variant.h"
#include "../plan/tensor.h"
#include "blas.h"
#include "weights.h"

/* COLUMNS of projection_portable.cl. */
enum { PROJECTION_PANEL = 16 };

typedef struct projection_plan {
    oclattn_plan base;
    oclattn_projection_desc desc; /* its `variant` points to the caller's memory: used while planning only */
    tensor_spec x, y, w, b;
    const variant *chosen;
    size_t cursor; /* of the walk through the variants */
    tuning tuned;
    text refusals;
    planned_kernel pack;
    planned_kernel multiply; /* not by CLBlast */
    /* projection_clblast: it takes f32 matrices with one row stride, and what is not like that passes through copies in
     * the workspace. */
    blas_product product;
    planned_kernel fill;
    oclattn_plan *convert_x, *convert_y; /* NULL: not needed */
    bool converts_x, converts_y;
    size_t temporary_bytes, scratch_bytes;
    size_t scratch_x, scratch_y; /* where the copies lie in the scratch memory */
} projection_plan;

/* One call. */
typedef struct projection_call {
    const oclattn_projection_args *args;
    const prepared_matrix *matrix;
    tensor_spec x, y;
    size_t scratch_offset;
} projection_call;

/* Columns of a panel of prepared weights, and of all panels. */
int64_t projection_panel_width(const projection_plan *self);
int64_t projection_padded_columns(const projection_plan *self);

projection_params projection_call_params(const projection_plan *self, const projection_call *call);

/* Prepares one matrix after what the list holds; `names` are those of w and b in messages. What was made before an
 * error stays in *matrix for its owner to release. */
oclattn_status projection_prepare(const oclattn_plan *plan, launch_list *list, const char *const names[2],
                                  const oclattn_tensor *w, const oclattn_tensor *b, prepared_matrix *matrix,
                                  oclattn_error *error);
oclattn_status projection_wait(launch_list *list, oclattn_error *error);

/* projection_launch with one matrix of the weights; args->weights is not looked at. */
oclattn_status projection_launch_with(const oclattn_plan *plan, launch_list *list, const oclattn_projection_args *args,
                                      const prepared_matrix *matrix, size_t scratch_offset, oclattn_error *error);

/* Whether CLBlast can take the problem, and the memory it needs. Nothing is compiled. */
oclattn_status projection_blas_resolve(projection_plan *self, oclattn_error *error);
/* Compiles: conversions, and CLBlast's own kernels. */
oclattn_status projection_blas_make(projection_plan *self, oclattn_error *error);
oclattn_status projection_blas_launch(const projection_plan *self, launch_list *list, const projection_call *call,
                                      oclattn_error *error);

#endif
