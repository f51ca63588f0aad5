/* The command `attention`: its options, its problem, and its check. */
#ifndef OCLATTN_RUN_ATTENTION_H
#define OCLATTN_RUN_ATTENTION_H

#include "report.h"
#include "score.h"

typedef struct attention_options {
    common_options common;
    score_options score;
    const char *q, *k, *v, *shape, *q_starts, *kv_starts;
    const char *out, *lse, *probs, *scores, *scores_kind;
    const char *kv_dtype, *layout;
    int64_t kv_chunk;
} attention_options;

/* The results, in this order. */
enum { RESULT_O, RESULT_LSE, RESULT_SCORES, RESULT_COUNT };

typedef struct attention_problem {
    oclattn_attention_desc desc;
    bool has_data;           /* or only sizes, for --explain */
    int64_t q_rows, kv_rows; /* of one batch entry, or of all of them where rows are packed */
    host_array q, k, v;      /* in their storage types */
    score_data score;
    result_file results[RESULT_COUNT];
} attention_problem;

bool attention_load(const attention_options *options, attention_problem *problem, failure *f);
void attention_free(attention_problem *problem);

/* Fills a comparison for each result that there is. */
bool attention_check(const attention_problem *problem, comparison comparisons[RESULT_COUNT], failure *f);

exit_code attention_command(int count, char *const *words, failure *f);

#endif
