/* The command `mha`: its options, its problem, and its checks. */
#ifndef OCLATTN_RUN_MHA_H
#define OCLATTN_RUN_MHA_H

#include "report.h"
#include "score.h"

typedef struct mha_options {
    common_options common;
    score_options score;
    const char *weights, *weights_layout, *input, *kv_input, *out, *expect, *projection;
    int64_t heads, kv_heads, head_dim, v_dim; /* 0: not given */
    int64_t d_model, batch, q_len, kv_len;    /* without weights; 0: not given */
    bool split_merge;
} mha_options;

enum { WEIGHT_Q, WEIGHT_K, WEIGHT_V, WEIGHT_HEAD, WEIGHT_COUNT };

typedef struct mha_problem {
    oclattn_mha_desc desc;
    bool has_data; /* or only sizes, for --explain */
    bool batched;  /* the input has a dimension for the batch */
    bool cross;    /* keys and values come from another input */
    host_array x, kv;
    host_array w[WEIGHT_COUNT], b[WEIGHT_COUNT]; /* in their storage type */
    host_array expected;                         /* float64 */
    score_data score;
    result_file result;
} mha_problem;

bool mha_load(const mha_options *options, mha_problem *problem, failure *f);
void mha_free(mha_problem *problem);

/* Against the tensor that --expect names, and against the float64 reference. */
void mha_compare_expected(const mha_problem *problem, comparison *c);
bool mha_check(const mha_problem *problem, comparison *c, failure *f);

/* The shape at every stage. */
typedef struct mha_stage {
    const char *name;
    char what[96];
    int rank;
    int64_t shape[4];
} mha_stage;

#define MOST_STAGES 10

size_t mha_stages(const mha_problem *problem, mha_stage stages[MOST_STAGES]);
/* Why one head is as wide as it is. */
void mha_width_sentence(const oclattn_mha_desc *desc, char *text, size_t size);

exit_code mha_command(int count, char *const *words, failure *f);

#endif
