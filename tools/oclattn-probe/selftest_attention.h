/* The problems of attention, and their data. */
#ifndef OCLATTN_PROBE_SELFTEST_ATTENTION_H
#define OCLATTN_PROBE_SELFTEST_ATTENTION_H

#include "reference/reference.h"
#include "selftest_values.h"

enum {
    WITH_CAUSAL = 1,
    WITH_MASK = 2,
    WITH_BIAS = 4, /* and a scale for each head */
    WITH_ALIBI = 8,
    WITH_SINKS = 16,
    WITH_Q_LENS = 32,
    WITH_KV_LENS = 64,
    WITH_PACKED = 128, /* rows of q, k and v one after the other, with starts */
    WITH_LSE = 256
};

typedef struct attention_case {
    int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim;
    oclattn_type type, kv_type;
    int with;
    int64_t kv_chunk;
    int64_t window_left; /* 0: none */
    float softcap;
    oclattn_scores_kind scores;
} attention_case;

/* Inputs are made as [batch, heads, rows, width], which the reference reads; `packed` are the same rows as the library
 * reads them where they are packed. */
typedef struct attention_data {
    values q, k, v, bias, bias_scale, slopes, sinks;
    values packed_q, packed_k, packed_v;
    values o, lse, scores; /* as the library writes them */
    uint8_t *mask;
    int32_t *q_lens, *kv_lens, *q_starts, *kv_starts;
    double *expected_o, *expected_lse, *expected_scores, *scaled; /* scaled: scores after step 1 */
} attention_data;

/* False: out of memory. */
bool attention_fill(const attention_case *c, attention_data *d);
bool attention_expect(const attention_case *c, attention_data *d);
void attention_free(attention_data *d);

/* Rows of the packed tensors: those of the entries, and one before and one after them that belong to none. */
int64_t packed_rows(int64_t batch, const int32_t *starts);

/* Where row i of head h of entry b lies in the library's o, in rows. */
int64_t row_of(const attention_case *c, const attention_data *d, int64_t b, int64_t h, int64_t i);

/* Runs the problem and compares all that it writes. */
void attention_run(session *s, const attention_case *c, const char *variant, outcome *result);

void attention_describe(const attention_case *c, char *words, size_t size);

#endif
