/* The problems of attention. */
#include <stdio.h>
#include <string.h>

#include "selftest_attention.h"

#define SIZES(b, hq, hkv, sq, skv, d, dv)                                                                              \
    .batch = b, .q_heads = hq, .kv_heads = hkv, .q_len = sq, .kv_len = skv, .head_dim = d, .v_dim = dv
#define BOTH(t) .type = OCLATTN_##t, .kv_type = OCLATTN_##t

/* Each case compiles another program where a variant takes options and widths as compile-time switches. Most have few
 * rows that share keys, which is all that some variants take. */
static const attention_case of_variants[] = {
    {SIZES(1, 2, 2, 5, 7, 64, 64), BOTH(F32)},
    {SIZES(2, 4, 2, 17, 33, 40, 24), BOTH(F32), .with = WITH_CAUSAL | WITH_LSE},
    {SIZES(1, 3, 1, 37, 130, 128, 128), BOTH(F32), .with = WITH_MASK, .softcap = 20},
    {SIZES(1, 4, 4, 1, 300, 64, 64), BOTH(F32)},
    {SIZES(2, 2, 1, 4, 65, 64, 64), BOTH(F32), .with = WITH_KV_LENS | WITH_SINKS},
    {SIZES(1, 2, 2, 70, 70, 80, 80), BOTH(F32), .with = WITH_CAUSAL, .window_left = 16},
    {SIZES(1, 2, 2, 6, 200, 64, 64), BOTH(F32), .kv_chunk = 64},
    {SIZES(1, 2, 1, 19, 66, 64, 64), BOTH(F16), .with = WITH_CAUSAL},
    {SIZES(1, 2, 2, 8, 41, 96, 96), BOTH(BF16)},
    {SIZES(1, 1, 1, 3, 20, 300, 16), BOTH(F32)},
    {SIZES(2, 2, 2, 8, 40, 64, 64), BOTH(F32), .with = WITH_BIAS | WITH_ALIBI | WITH_LSE},
    {SIZES(3, 2, 2, 8, 50, 64, 64), BOTH(F32), .with = WITH_PACKED | WITH_CAUSAL | WITH_LSE},
    {SIZES(3, 2, 2, 8, 90, 32, 48), BOTH(F32), .with = WITH_Q_LENS | WITH_KV_LENS | WITH_LSE, .kv_chunk = 32},
    {SIZES(1, 4, 1, 1, 130, 64, 64), .type = OCLATTN_F32, .kv_type = OCLATTN_F16, .kv_chunk = 32},
    {SIZES(2, 4, 2, 3, 70, 80, 72), BOTH(F16), .with = WITH_CAUSAL | WITH_MASK, .softcap = 10},
};

static const attention_case of_scores[] = {
    {SIZES(1, 2, 1, 6, 45, 40, 40), BOTH(F32), .with = WITH_CAUSAL, .scores = OCLATTN_SCORES_SCALED},
    {SIZES(2, 2, 2, 5, 33, 64, 64), BOTH(F32), .with = WITH_MASK | WITH_KV_LENS, .softcap = 5,
     .scores = OCLATTN_SCORES_CAPPED},
    {SIZES(2, 2, 2, 7, 34, 24, 24), BOTH(F32), .with = WITH_BIAS | WITH_ALIBI | WITH_Q_LENS,
     .scores = OCLATTN_SCORES_BIASED},
    {SIZES(1, 4, 2, 9, 70, 64, 64), BOTH(F16), .with = WITH_SINKS | WITH_MASK | WITH_LSE,
     .scores = OCLATTN_PROBABILITIES},
};

static const attention_case of_combine[] = {
    {SIZES(1, 2, 2, 3, 100, 64, 64), BOTH(F32), .with = WITH_SINKS | WITH_LSE, .kv_chunk = 16},
    {SIZES(2, 2, 1, 5, 70, 40, 56), BOTH(BF16), .with = WITH_MASK | WITH_LSE, .kv_chunk = 32},
    {SIZES(3, 2, 2, 6, 80, 32, 32), BOTH(F16), .with = WITH_PACKED | WITH_CAUSAL, .kv_chunk = 16},
};

#define LENGTH(array) (sizeof array / sizeof array[0])

static void describe_variants(size_t index, char *words, size_t size) {
    attention_describe(&of_variants[index], words, size);
}

static void run_variants(session *s, const char *variant, size_t index, outcome *result) {
    attention_run(s, &of_variants[index], variant, result);
}

const problem_set attention_problems = {LENGTH(of_variants), describe_variants, run_variants};

/* The kernels beside a variant's own are tried with the one that every device has. */
static const char portable[] = "attention_portable";

static void describe_scores(size_t index, char *words, size_t size) {
    attention_describe(&of_scores[index], words, size);
}

static void run_scores(session *s, const char *variant, size_t index, outcome *result) {
    (void)variant;
    attention_run(s, &of_scores[index], portable, result);
}

const problem_set scores_problems = {LENGTH(of_scores), describe_scores, run_scores};

static void describe_combine(size_t index, char *words, size_t size) {
    attention_describe(&of_combine[index], words, size);
}

static void run_combine(session *s, const char *variant, size_t index, outcome *result) {
    (void)variant;
    attention_run(s, &of_combine[index], portable, result);
}

const problem_set combine_problems = {LENGTH(of_combine), describe_combine, run_combine};

static const char *scores_word(oclattn_scores_kind kind) {
    static const char *const words[] = {"", ", scaled scores", ", capped scores", ", biased scores", ", probabilities"};
    return words[kind];
}

static void add_options(const attention_case *c, char *words, size_t size) {
    static const struct {
        int with;
        const char *word;
    } names[] = {{WITH_CAUSAL, ", causal"}, {WITH_MASK, ", mask"},       {WITH_BIAS, ", bias"},
                 {WITH_ALIBI, ", ALiBi"},   {WITH_SINKS, ", sinks"},     {WITH_Q_LENS, ", q_lens"},
                 {WITH_PACKED, ", packed"}, {WITH_KV_LENS, ", kv_lens"}, {WITH_LSE, ", LSE"}};
    for (size_t i = 0; i < LENGTH(names); i++) {
        const size_t length = strlen(words);
        snprintf(words + length, size - length, "%s", c->with & names[i].with ? names[i].word : "");
    }
}

void attention_describe(const attention_case *c, char *words, size_t size) {
    char chunk[32] = "", window[32] = "";
    if (c->kv_chunk > 0) {
        snprintf(chunk, sizeof chunk, ", chunks of %lld", (long long)c->kv_chunk);
    }
    if (c->window_left > 0) {
        snprintf(window, sizeof window, ", window %lld", (long long)c->window_left);
    }
    snprintf(words, size, "%s, q [%lld, %lld, %lld, %lld], %lld keys%s%s, v_dim %lld%s%s%s%s", type_word(c->type),
             (long long)c->batch, (long long)c->q_heads, (long long)c->q_len, (long long)c->head_dim,
             (long long)c->kv_len, c->kv_type != c->type ? " of " : "",
             c->kv_type != c->type ? type_word(c->kv_type) : "", (long long)c->v_dim, c->softcap > 0 ? ", softcap" : "",
             window, chunk, scores_word(c->scores));
    add_options(c, words, size);
}
