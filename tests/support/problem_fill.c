#include <math.h>

#include "problem.h"

static int64_t at_least(int64_t value, int64_t least) {
    return value < least ? least : value;
}

static void fill_mask(const view *mask, random_source *source) {
    const int64_t every = random_between(source, 1, 6);
    for (int64_t i = 0; mask->memory && view_count(mask) > 0 && i < mask->shape[0] * mask->shape[1] * mask->shape[2];
         i++) {
        const int64_t h = i / mask->shape[2] % mask->shape[1];
        const bool empty = random_one_in(source, 12);
        for (int64_t j = 0; j < mask->shape[3]; j++) {
            const bool visible = !empty && !random_one_in(source, every + 1);
            view_set(mask, i / mask->shape[2] / mask->shape[1], h, i % mask->shape[2], j,
                     visible ? (double)random_between(source, 1, 255) : 0);
        }
    }
}

/* Sets some of a tensor's elements to `value`. */
static void sprinkle(const view *tensor, random_source *source, int64_t every, double value) {
    const int64_t count = tensor->memory ? view_count(tensor) : 0;
    for (int64_t left = count ? (count + every - 1) / every : 0; left > 0; left--) {
        view_set(tensor, random_between(source, 0, tensor->shape[0] - 1),
                 random_between(source, 0, tensor->shape[1] - 1), random_between(source, 0, tensor->shape[2] - 1),
                 random_between(source, 0, tensor->shape[3] - 1), value);
    }
}

static void fill_lens(const view *lens, int64_t most, random_source *source) {
    for (int64_t b = 0; lens->memory && b < lens->shape[0]; b++) {
        view_set(lens, b, 0, 0, 0, (double)random_between(source, -1, most + 2));
    }
}

static void fill_lines(problem *p, random_source *source) {
    fill_lens(&p->q_lens, problem_q_len(p), source);
    fill_lens(&p->kv_lens, problem_kv_len(p), source);
    for (int64_t h = 0; h < p->desc.q_heads; h++) {
        if (p->bias_scale.memory) {
            view_set(&p->bias_scale, h, 0, 0, 0, random_one_in(source, 8) ? 0 : 2 * random_unit(source));
        }
        if (p->alibi_slopes.memory) {
            view_set(&p->alibi_slopes, h, 0, 0, 0, 0.3 * random_unit(source) + 0.2);
        }
        if (p->sinks.memory) {
            view_set(&p->sinks, h, 0, 0, 0, random_one_in(source, 5) ? (double)-INFINITY : 4 * random_unit(source));
        }
    }
    for (int64_t b = 0; p->offsets.memory && b < p->desc.batch; b++) {
        view_set(&p->offsets, b, 0, 0, 0, (double)random_between(source, -p->desc.q_len - 3, p->desc.kv_len + 3));
    }
}

/* Garbage in the slots of a cache that no length reaches. */
static void spoil_tails(const problem *p, random_source *source) {
    const double garbage = random_one_in(source, 2) ? (double)NAN : (double)INFINITY;
    if (!p->kv_lens.memory || p->kv_starts.memory || p->k.strides[0] == 0 || p->v.strides[0] == 0 ||
        p->k.strides[2] == 0 || p->v.strides[2] == 0 || random_one_in(source, 2)) {
        return;
    }
    for (int64_t b = 0; b < p->desc.batch; b++) {
        for (int64_t h = 0; h < p->desc.kv_heads; h++) {
            for (int64_t j = at_least((int64_t)view_get(&p->kv_lens, b, 0, 0, 0), 0); j < p->desc.kv_len; j++) {
                view_set(&p->k, b, h, j, random_between(source, 0, p->desc.head_dim - 1), garbage);
                view_set(&p->v, b, h, j, random_between(source, 0, p->desc.v_dim - 1), garbage);
            }
        }
    }
}

void problem_fill(problem *p, random_source *source, uint64_t features) {
    const double magnitude = (features >> FEATURE_LARGE & 1) ? 12 : 1;
    view_fill_random(&p->q, source, magnitude);
    view_fill_random(&p->k, source, 2);
    view_fill_random(&p->v, source, 1);
    fill_mask(&p->mask, source);
    if (p->bias.memory) {
        view_fill_random(&p->bias, source, 3);
        sprinkle(&p->bias, source, 20, (double)-INFINITY);
    }
    fill_lines(p, source);
    spoil_tails(p, source);
    if (features >> FEATURE_NAN & 1) {
        const int64_t every = 4 * p->desc.head_dim * at_least(p->desc.kv_len, 1);
        sprinkle(&p->q, source, every, (double)NAN);
        sprinkle(&p->k, source, every, random_one_in(source, 2) ? (double)INFINITY : (double)NAN);
        sprinkle(&p->v, source, every, (double)NAN);
        sprinkle(&p->bias, source, every, (double)NAN);
    }
}
