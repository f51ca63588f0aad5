/* An attention problem: descriptor, data with guard bands, the run, and the comparison with the float64 reference. */
#ifndef OCLATTN_TESTS_PROBLEM_H
#define OCLATTN_TESTS_PROBLEM_H

#include "guarded.h"

typedef struct problem {
    oclattn_attention_desc desc;
    int64_t q_len, kv_len; /* -1: as planned */
    bool strides_in_args;  /* the strides of tensors go with the call; the descriptor's are contiguous */
    view q, k, v, o, lse, scores;
    view mask, bias, bias_scale, alibi_slopes, sinks, q_lens, kv_lens, q_starts, kv_starts, offsets;
} problem;

problem problem_new(int64_t batch, int64_t q_heads, int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t head_dim,
                    int64_t v_dim);

/* The case of the field: B = Hq = Hkv = Sq = D = 1, scale 1. */
problem problem_of_one_row(int64_t kv_len);

/* Makes every tensor that the descriptor asks for and that is not there yet, with guard bands of a size drawn from
 * `source` (NULL: a fixed one). Inputs are NaN and masks all true until they are filled. */
void problem_allocate(problem *p, random_source *source);
void problem_free(problem *p);

/* The lengths of this call. */
int64_t problem_q_len(const problem *p);
int64_t problem_kv_len(const problem *p);

/* Plans, uploads, runs, waits, downloads. */
oclattn_status problem_run(problem *p, oclattn_error *error);
oclattn_status problem_run_plan(problem *p, const oclattn_plan *plan, oclattn_error *error);

/* The same from host memory. */
oclattn_status problem_run_host(problem *p, oclattn_error *error);

/* Fills args for an enqueue of the uploaded problem, without workspace. */
void problem_args(const problem *p, oclattn_attention_args *args);
void problem_upload(problem *p);
void problem_download(problem *p);

/* Compares the results with the reference, and looks at the guard bands. False: message says what is wrong. */
enum { PROBLEM_MESSAGE_SIZE = 400 };
bool problem_check(problem *p, char message[PROBLEM_MESSAGE_SIZE]);

/* Run and check; fails the test with a message. */
void assert_problem(problem *p);

/* Runs and compares o with given values. */
void assert_result(problem *p, const double *expected);
void assert_result_all(problem *p, double expected);

/* Fails the test unless the elements of o are these, within 1e-6 max(1, |expected|) and half a step of o's type. */
void assert_o(const problem *p, const double *expected);
void assert_o_all(const problem *p, double expected);

/* ---- random problems -------------------------------------------------------------------------------------------- */

typedef enum feature {
    FEATURE_CAUSAL,
    FEATURE_WINDOW_LEFT,
    FEATURE_WINDOW_RIGHT,
    FEATURE_MASK,
    FEATURE_SHORT_MASK,
    FEATURE_BIAS,
    FEATURE_SHORT_BIAS,
    FEATURE_BIAS_SCALE,
    FEATURE_ALIBI,
    FEATURE_SINKS,
    FEATURE_Q_LENS,
    FEATURE_KV_LENS,
    FEATURE_Q_STARTS,
    FEATURE_KV_STARTS,
    FEATURE_RUNTIME_LENGTHS,
    FEATURE_SOFTCAP,
    FEATURE_SCALE,
    FEATURE_LSE,
    FEATURE_SCORES,
    FEATURE_KV_CHUNK,
    FEATURE_GQA,
    FEATURE_LAYOUT,       /* strides with gaps, permuted */
    FEATURE_CALL_STRIDES, /* given with the call */
    FEATURE_BROADCAST,    /* input strides of 0 */
    FEATURE_PACKED_QKV,   /* q, k and v in one buffer */
    FEATURE_16_BIT,       /* all f16 or all bf16 */
    FEATURE_MIXED_TYPES,
    FEATURE_NAN,   /* NaN and infinities in some rows, hidden and visible */
    FEATURE_LARGE, /* large logits */
    FEATURE_HOST,  /* the one-call host version */
    FEATURE_COUNT
} feature;

/* What a fast variant is compiled for. Compiling takes seconds, so a run draws a few from its seed and uses them over
 * and over. Every third one is f32 throughout. */
typedef struct program_choice {
    oclattn_type k_type, v_type;
    int64_t head_dim, v_dim;
} program_choice;

program_choice random_program(random_source *source, bool f32_only);

/* A problem with these features (bits of 1 << feature), filled. A few pairs exclude each other: the later one yields.
 */
problem problem_random(random_source *source, uint64_t features);

/* Fills its inputs at random: hidden rows, short lengths, garbage where nothing is visible, as the features say. */
void problem_fill(problem *p, random_source *source, uint64_t features);

/* Prints one line that reproduces the problem: an oclattn-run command over .npy files that it writes to a new temporary
 * folder, where the command can say it. */
void problem_print_command(const problem *p);

#endif
