#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- attention -------------------------------------------------------------------------------------------------- */

/* One query row. */
typedef struct row {
    int64_t b, h, i, q_len, kv_len, offset; /* lengths of the batch entry */
} row;

static int64_t length_of_entry(const int32_t *lens, int64_t b, int64_t most) {
    if (!lens) {
        return most;
    }
    const int64_t length = lens[b] < 0 ? 0 : lens[b];
    return length < most ? length : most;
}

static row row_at(const reference_attention *p, int64_t b, int64_t h, int64_t i) {
    row r = {.b = b, .h = h, .i = i};
    r.q_len = length_of_entry(p->q_lens, b, p->q_len);
    r.kv_len = length_of_entry(p->kv_lens, b, p->kv_len);
    if (p->align == OCLATTN_ALIGN_BOTTOM_RIGHT) {
        r.offset = r.kv_len - r.q_len;
    } else if (p->align == OCLATTN_ALIGN_OFFSET) {
        r.offset = p->offsets[b];
    }
    return r;
}

static const double *kv_row(const reference_attention *p, const double *base, const row *r, int64_t j, int64_t width) {
    const int64_t kv_head = r->h / (p->q_heads / p->kv_heads);
    return base + ((r->b * p->kv_heads + kv_head) * p->kv_len + j) * width;
}

static int64_t strided(const int64_t strides[4], const row *r, int64_t j) {
    return r->b * strides[0] + r->h * strides[1] + r->i * strides[2] + j * strides[3];
}

static double scaled_score(const reference_attention *p, const row *r, int64_t j) {
    const double *q = p->q + ((r->b * p->q_heads + r->h) * p->q_len + r->i) * p->head_dim;
    const double *k = kv_row(p, p->k, r, j, p->head_dim);
    double sum = 0;
    for (int64_t d = 0; d < p->head_dim; d++) {
        sum += q[d] * k[d];
    }
    return p->scale * sum;
}

static double capped_score(const reference_attention *p, double scaled) {
    return p->softcap > 0 ? p->softcap * tanh(scaled / p->softcap) : scaled;
}

/* Hidden whatever the score is. */
static bool hidden_by_rule(const reference_attention *p, const row *r, int64_t j) {
    const int64_t distance = j - (r->i + r->offset);
    if (r->i >= r->q_len || j >= r->kv_len) {
        return true;
    }
    if ((p->causal && distance > 0) || (p->window_left >= 0 && distance < -p->window_left) ||
        (p->window_right >= 0 && distance > p->window_right)) {
        return true;
    }
    if (p->mask && (j >= p->mask_kv_len || p->mask[strided(p->mask_strides, r, j)] == 0)) {
        return true;
    }
    return p->bias && (j >= p->bias_kv_len || p->bias[strided(p->bias_strides, r, j)] == -INFINITY);
}

static double biased_score(const reference_attention *p, const row *r, int64_t j, double capped) {
    double s = capped;
    if (p->bias) {
        s += (p->bias_scale ? p->bias_scale[r->h] : 1.0) * p->bias[strided(p->bias_strides, r, j)];
    }
    if (p->alibi_slopes) {
        s += -p->alibi_slopes[r->h] * fabs((double)(r->i + r->offset - j));
    }
    return s;
}

/* Scores of the row after step 4, -inf where hidden, into s; and what the caller wants of steps 1 and 2. */
static void score_row(const reference_attention *p, const row *r, double *s, double *wanted) {
    const bool want_scaled = wanted && p->scores_kind == OCLATTN_SCORES_SCALED;
    const bool want_hidden = want_scaled || (wanted && p->scores_kind == OCLATTN_SCORES_CAPPED);
    for (int64_t j = 0; j < p->kv_len; j++) {
        const bool hidden = hidden_by_rule(p, r, j);
        s[j] = -INFINITY;
        if (hidden && !want_hidden) {
            continue;
        }
        const double scaled = scaled_score(p, r, j);
        const double capped = capped_score(p, scaled);
        if (want_hidden) {
            wanted[j] = want_scaled ? scaled : capped;
        }
        if (!hidden) {
            s[j] = biased_score(p, r, j, capped);
        }
    }
}

static double greatest(const double *s, int64_t count, double start) {
    double most = start;
    for (int64_t j = 0; j < count; j++) {
        most = fmax(most, s[j]);
    }
    return most;
}

/* Turns scores into probabilities; returns the logarithm of the denominator. -inf is a hidden key, NaN spreads. */
static double softmax_row(double *s, int64_t count, double sink) {
    const double most = greatest(s, count, sink);
    double sum = sink == -INFINITY ? 0 : exp(sink - most);
    for (int64_t j = 0; j < count; j++) {
        s[j] = s[j] == -INFINITY ? -1 : exp(s[j] - most);
        sum += s[j] == -1 ? 0 : s[j];
    }
    for (int64_t j = 0; j < count; j++) {
        s[j] = s[j] == -1 ? -1 : s[j] / sum;
    }
    return sum == 0 ? -INFINITY : most + log(sum);
}

static void mix_values(const reference_attention *p, const row *r, const double *probabilities, double *o) {
    memset(o, 0, (size_t)p->v_dim * sizeof *o);
    for (int64_t j = 0; j < p->kv_len; j++) {
        if (probabilities[j] == -1) {
            continue;
        }
        const double *v = kv_row(p, p->v, r, j, p->v_dim);
        for (int64_t d = 0; d < p->v_dim; d++) {
            o[d] += probabilities[j] * v[d];
        }
    }
}

static void attend_row(const reference_attention *p, const row *r, double *s) {
    const int64_t index = (r->b * p->q_heads + r->h) * p->q_len + r->i;
    double *wanted = p->scores ? p->scores + index * p->kv_len : NULL;
    score_row(p, r, s, wanted);
    if (wanted && p->scores_kind == OCLATTN_SCORES_BIASED) {
        memcpy(wanted, s, (size_t)p->kv_len * sizeof *s);
    }
    const double sink = p->sinks && r->i < r->q_len ? p->sinks[r->h] : -INFINITY;
    const double lse = softmax_row(s, p->kv_len, sink);
    if (p->lse) {
        p->lse[index] = lse;
    }
    if (wanted && p->scores_kind == OCLATTN_PROBABILITIES) {
        for (int64_t j = 0; j < p->kv_len; j++) {
            wanted[j] = s[j] == -1 ? 0 : s[j];
        }
    }
    if (p->o) {
        mix_values(p, r, s, p->o + index * p->v_dim);
    }
}

bool reference_attention_run(const reference_attention *problem) {
    double *scores = malloc((size_t)(problem->kv_len + 1) * sizeof *scores);
    if (!scores) {
        return false;
    }
    for (int64_t b = 0; b < problem->batch; b++) {
        for (int64_t h = 0; h < problem->q_heads; h++) {
            for (int64_t i = 0; i < problem->q_len; i++) {
                const row r = row_at(problem, b, h, i);
                attend_row(problem, &r, scores);
            }
        }
    }
    free(scores);
    return true;
}

/* ---- projections and F(H) --------------------------------------------------------------------------------------- */

void reference_projection(int64_t rows, int64_t in_dim, int64_t out_dim, const double *x, const double *w, bool out_in,
                          const double *b, double *y) {
    const int64_t in_stride = out_in ? 1 : out_dim;
    const int64_t out_stride = out_in ? in_dim : 1;
    for (int64_t row_index = 0; row_index < rows; row_index++) {
        for (int64_t out = 0; out < out_dim; out++) {
            double sum = 0;
            for (int64_t in = 0; in < in_dim; in++) {
                sum += x[row_index * in_dim + in] * w[in * in_stride + out * out_stride];
            }
            y[row_index * out_dim + out] = sum + (b ? b[out] : 0);
        }
    }
}

/* [batch, rows, heads, dim] to [batch, heads, rows, dim], or back when `back` is set. */
static void move_heads(int64_t batch, int64_t rows, int64_t heads, int64_t dim, const double *from, double *to,
                       bool back) {
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t s = 0; s < rows; s++) {
                const int64_t packed = ((b * rows + s) * heads + h) * dim;
                const int64_t split = ((b * heads + h) * rows + s) * dim;
                memcpy(to + (back ? packed : split), from + (back ? split : packed), (size_t)dim * sizeof *to);
            }
        }
    }
}

static double *new_values(int64_t count) {
    return malloc((size_t)(count + 1) * sizeof(double));
}

/* The heads of x W + b, [batch, heads, rows, dim]; NULL: out of memory. */
static double *project_to_heads(int64_t batch, int64_t rows, int64_t in_dim, int64_t heads, int64_t dim,
                                const double *x, const double *w, const double *bias, bool out_in) {
    double *packed = new_values(batch * rows * heads * dim);
    double *split = new_values(batch * rows * heads * dim);
    if (packed && split) {
        reference_projection(batch * rows, in_dim, heads * dim, x, w, out_in, bias, packed);
        move_heads(batch, rows, heads, dim, packed, split, false);
    } else {
        free(split);
        split = NULL;
    }
    free(packed);
    return split;
}

bool reference_mha_run(const reference_mha *problem) {
    reference_attention a = problem->attention;
    const double *kv = problem->kv ? problem->kv : problem->x;
    const int64_t rows = a.batch * a.q_len;
    double *q = project_to_heads(a.batch, a.q_len, problem->d_model, a.q_heads, a.head_dim, problem->x, problem->w_q,
                                 problem->b_q, problem->out_in);
    double *k = project_to_heads(a.batch, a.kv_len, problem->kv_width, a.kv_heads, a.head_dim, kv, problem->w_k,
                                 problem->b_k, problem->out_in);
    double *v = project_to_heads(a.batch, a.kv_len, problem->kv_width, a.kv_heads, a.v_dim, kv, problem->w_v,
                                 problem->b_v, problem->out_in);
    double *o = new_values(rows * a.q_heads * a.v_dim);
    double *merged = new_values(rows * a.q_heads * a.v_dim);
    bool done = q && k && v && o && merged;
    if (done) {
        a.q = q;
        a.k = k;
        a.v = v;
        a.o = o;
        done = reference_attention_run(&a);
    }
    if (done) {
        move_heads(a.batch, a.q_len, a.q_heads, a.v_dim, o, merged, true);
        reference_projection(rows, a.q_heads * a.v_dim, problem->d_model, merged, problem->w_head, problem->out_in,
                             problem->b_head, problem->y);
    }
    free(merged);
    free(o);
    free(v);
    free(k);
    free(q);
    return done;
}

/* ---- 16-bit types ----------------------------------------------------------------------------------------------- */

double reference_from_f16(uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) {
        return fraction ? (double)NAN : sign * INFINITY;
    }
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

uint16_t reference_to_f16(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value)) {
        return 0x7e00;
    }
    if (size >= 65520) { /* halfway from the largest number to the next power of two */
        return sign | 0x7c00;
    }
    /* In steps of its last digit, a binary16 is its own bit pattern: a carry moves to the exponent. */
    const int exponent = size < 0x1p-14 ? -14 : ilogb(size);
    const int steps = (int)nearbyint(ldexp(size, 10 - exponent));
    return (uint16_t)(sign | (((exponent + 14) << 10) + steps));
}

double reference_from_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t reference_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* ---- tolerances ------------------------------------------------------------------------------------------------- */

/* Rounding one operation in f32 errs by at most this, relative to its result. */
static const double unit_roundoff = 0x1p-24;

double reference_ulp(oclattn_type type, double value) {
    const int digits = type == OCLATTN_F16 ? 10 : type == OCLATTN_BF16 ? 7 : 23;
    const int least_exponent = type == OCLATTN_F16 ? -14 : -126;
    if (!isfinite(value)) {
        return 0;
    }
    const int exponent = value == 0 || ilogb(value) < least_exponent ? least_exponent : ilogb(value);
    return ldexp(1, exponent - digits);
}

/* 0.51: a correctly rounded f32 result lies at most half a step away, and 0.01 pays for results near the midpoint. */
static double storage_tolerance(oclattn_type type, double expected) {
    return type == OCLATTN_F32 ? 0 : 0.51 * reference_ulp(type, expected);
}

/* A sum of n terms in f32 errs by n roundings at worst, sqrt(n) of them in practice because their signs are random;
 * twice that is five standard deviations. The constant covers the scale, the cap (tanh: 5 ulp), the bias, the slope and
 * the exponential's 3 ulp. An f16 accumulator would err by 2^-11, thousands of times more. */
double reference_score_tolerance(int64_t head_dim, double score_max) {
    return unit_roundoff * (8 + 2 * sqrt((double)head_dim)) * (1 + score_max);
}

/* An error e in every score changes each weight by a factor within exp(+-2e), so o would move by 2 e v_max if all errors
 * conspired. Those of different keys do not: a quarter holds, with four times what 5,000 random problems reach. The
 * weights' sum, the sum of values and the division add their own roundings. */
double reference_attention_tolerance(oclattn_type type, int64_t kv_len, int64_t head_dim, double v_max,
                                     double score_max, double expected) {
    const double by_scores = 0.5 * reference_score_tolerance(head_dim, score_max);
    const double by_sums = unit_roundoff * (8 + 2 * sqrt((double)kv_len));
    return v_max * (by_scores + by_sums) + storage_tolerance(type, expected);
}

double reference_projection_tolerance(oclattn_type type, int64_t in_dim, double sum_of_magnitudes, double expected) {
    return unit_roundoff * (4 + sqrt((double)in_dim)) * sum_of_magnitudes + storage_tolerance(type, expected);
}
