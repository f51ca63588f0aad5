/* F(H) in float64, in steps, from an mha problem with data. */
#ifndef OCLATTN_RUN_MHA_REFERENCE_H
#define OCLATTN_RUN_MHA_REFERENCE_H

#include "mha.h"

typedef struct mha_reference {
    const mha_problem *problem;
    int64_t kv_len;
    bool out_in;
    double *x, *kv, *w[WEIGHT_COUNT], *b[WEIGHT_COUNT];
    double *q, *k, *v;    /* packed: [batch, rows, heads * width] */
    double *heads[3], *o; /* the same, [batch, heads, rows, width] */
    double *merged, *y;   /* packed */
    score_doubles doubles;
    reference_attention attention;
} mha_reference;

bool mha_reference_create(mha_reference *c, const mha_problem *problem, failure *f);
/* Q, K and V. */
void mha_reference_project(mha_reference *c);
/* The rest, from Q, K and V as they are now: merged heads, and F(H) in y. */
bool mha_reference_attend(mha_reference *c, failure *f);
void mha_reference_free(mha_reference *c);

#endif
