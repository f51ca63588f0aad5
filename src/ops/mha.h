/* Inside F(H): its plan. */
#ifndef OCLATTN_OPS_MHA_H
#define OCLATTN_OPS_MHA_H

#include "projection.h"

/* The first four are also the order of the prepared weights. */
typedef enum mha_stage {
    MHA_PROJECT_Q,
    MHA_PROJECT_K,
    MHA_PROJECT_V,
    MHA_PROJECT_HEAD,
    MHA_ATTEND,
    MHA_SPLIT_Q,
    MHA_SPLIT_K,
    MHA_SPLIT_V,
    MHA_MERGE,
    MHA_STAGES
} mha_stage;

typedef enum mha_matrix { MHA_Q, MHA_K, MHA_V, MHA_O, MHA_MATRICES } mha_matrix;

typedef struct mha_plan {
    oclattn_plan base;
    oclattn_mha_desc desc; /* with every default settled; its names point to the caller's memory: for planning only */
    oclattn_plan *stages[MHA_STAGES];
    /* Bytes into the workspace. Without split and merge, both places of a matrix are the same. */
    size_t packed_at[MHA_MATRICES], heads_at[MHA_MATRICES];
    size_t scratch_at, attention_at;
} mha_plan;

static inline bool mha_splits(const mha_plan *self) {
    return (self->desc.flags & OCLATTN_MHA_SPLIT_MERGE) != 0;
}

/* The description of its plan_type. */
void mha_describe(const oclattn_plan *plan, const char *indent, text *lines);

#endif
