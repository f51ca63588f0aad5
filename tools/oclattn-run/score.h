/* The options between scores and softmax: read, checked against the problem's sizes, and given to the library and to
 * the float64 reference. */
#ifndef OCLATTN_RUN_SCORE_H
#define OCLATTN_RUN_SCORE_H

#include "device.h"
#include "reference/reference.h"

typedef struct score_options {
    const char *mask, *bias, *bias_scale, *scale, *softcap, *align, *window, *alibi, *sinks, *q_lens, *kv_lens;
    bool causal;
} score_options;

option_group score_option_group(score_options *options);

typedef struct score_sizes {
    int64_t batch, heads, q_len, kv_len;
} score_sizes;

/* Absent where not asked for. */
typedef struct score_data {
    host_array mask, bias, bias_scale, alibi_slopes, sinks, q_lens, kv_lens, q_starts, kv_starts, offsets;
} score_data;

/* Numbers and words, which need no files. */
bool score_parse(const score_options *options, oclattn_score_options *score, failure *f);
/* Files. */
bool score_load(const score_options *options, const score_sizes *sizes, oclattn_score_options *score, score_data *data,
                failure *f);
void score_free(score_data *data);

/* A .npy of int32 or int64, [count] or, for a count of -1, of any length. Numbers beyond int32 are cut to its ends if
 * `clamp`, refused if not. */
bool load_integers(const char *label, const char *path, int64_t count, bool clamp, host_array *array, failure *f);

bool score_upload(device_session *session, const score_data *data, oclattn_score_inputs *inputs, failure *f);

/* The same data in float64. */
typedef struct score_doubles {
    double *bias, *bias_scale, *alibi_slopes, *sinks;
} score_doubles;

/* Fills the scoring part of a problem whose sizes are set. Without starts. */
bool score_reference(const oclattn_score_options *score, const score_data *data, score_doubles *doubles,
                     reference_attention *problem, failure *f);
void score_doubles_free(score_doubles *doubles);

/* All values of an array in float64. Never NULL unless memory is short. */
double *array_doubles(const host_array *array);

#endif
