/* Prepared weights: what a projection's variant reads. */
#ifndef OCLATTN_OPS_WEIGHTS_H
#define OCLATTN_OPS_WEIGHTS_H

#include "../program/context.h"

enum { MOST_PROJECTIONS = 4 };

typedef struct prepared_matrix {
    int64_t in_dim, out_dim;
    int64_t panel; /* columns of a panel; out_dim: the matrix as it is, [in, out] */
    bool has_bias;
    cl_mem panels; /* f32 [panels][in_dim][panel] */
    cl_mem bias;   /* f32, filled up with 0 to whole panels; all 0 without a bias */
} prepared_matrix;

struct oclattn_weights {
    oclattn_context *context; /* retained */
    size_t count;
    prepared_matrix matrices[MOST_PROJECTIONS];
};

oclattn_status weights_new(oclattn_context *context, size_t count, oclattn_weights **weights, oclattn_error *error);

/* Whether the weights can serve a call in `context` that needs `count` matrices. */
oclattn_status weights_check(const oclattn_weights *weights, const oclattn_context *context, size_t count,
                             oclattn_error *error);

#endif
