/* Changes to a problem whose effect on the result is known without computing it. */
#include <math.h>
#include <problem.h>
#include <reference.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 25, LONG_ROUNDS = 500 };

static int rounds(void) {
    return options.is_long ? LONG_ROUNDS : ROUNDS;
}

/* Self-attention or cross-attention over at least two keys, with a mask, all f32. */
static problem random_problem(random_source *source, uint32_t flags) {
    const int64_t kv_heads = random_between(source, 1, 2);
    problem p = problem_new(random_between(source, 1, 2), kv_heads * random_between(source, 1, 3), kv_heads,
                            random_between(source, 1, 20), random_between(source, 2, 150),
                            random_between(source, 1, 100), random_between(source, 1, 100));
    if (random_one_in(source, 2)) {
        p.desc.variant = "attention_portable";
    } else {
        const program_choice choice = random_program(source, true);
        p.desc.head_dim = choice.head_dim;
        p.desc.v_dim = choice.v_dim;
    }
    p.desc.want_lse = 1;
    p.desc.score.flags |= flags;
    problem_allocate(&p, source);
    problem_fill(&p, source, 0);
    return p;
}

/* Two results that differ by rounding only; scores are at most `score_max`. */
static double tolerance_of(const problem *p, double score_max) {
    return 2 * reference_attention_tolerance(OCLATTN_F32, p->desc.kv_len, p->desc.head_dim, 1, score_max, 0);
}

static void assert_close(const view *a, const view *b, double shift, double tolerance) {
    double *first = view_results(a);
    double *second = view_results(b);
    for (int64_t i = 0; i < view_count(a); i++) {
        const double expected = first[i] + shift;
        if (!(fabs(second[i] - expected) <= tolerance || second[i] == expected)) {
            fail_msg("element %lld: %.9g became %.9g, expected %.9g +- %.3g", (long long)i, first[i], second[i],
                     expected, tolerance);
        }
    }
    free(second);
    free(first);
}

static void run(problem *p) {
    oclattn_error error;
    assert_ok(problem_run(p, &error), &error);
}

static void assert_same_attention(problem *a, problem *b, double lse_shift, double score_max) {
    run(a);
    run(b);
    assert_close(&a->o, &b->o, 0, tolerance_of(a, score_max));
    assert_close(&a->lse, &b->lse, lse_shift, tolerance_of(a, score_max));
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* Copies key `from` of p, with its value and mask, to key `to` of other. */
static void copy_key(const problem *p, int64_t from, const problem *other, int64_t to) {
    const oclattn_attention_desc *d = &p->desc;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t h = 0; h < d->kv_heads; h++) {
            for (int64_t x = 0; x < d->head_dim; x++) {
                view_set(&other->k, b, h, to, x, view_get(&p->k, b, h, from, x));
            }
            for (int64_t x = 0; x < d->v_dim; x++) {
                view_set(&other->v, b, h, to, x, view_get(&p->v, b, h, from, x));
            }
        }
        for (int64_t n = 0; p->mask.memory && n < d->q_heads * d->q_len; n++) {
            const int64_t h = n / d->q_len;
            view_set(&other->mask, b, h, n % d->q_len, to, view_get(&p->mask, b, h, n % d->q_len, from));
        }
    }
}

static void copy_queries(const problem *p, const problem *other) {
    const oclattn_attention_desc *d = &p->desc;
    for (int64_t n = 0; n < d->batch * d->q_heads * d->q_len * d->head_dim; n++) {
        const int64_t x = n % d->head_dim, i = n / d->head_dim % d->q_len;
        const int64_t h = n / (d->head_dim * d->q_len) % d->q_heads, b = n / (d->head_dim * d->q_len * d->q_heads);
        view_set(&other->q, b, h, i, x, view_get(&p->q, b, h, i, x));
    }
}

/* Another problem of p's options and queries, over kv_len keys that are yet to be filled. */
static problem with_other_keys(const problem *p, int64_t kv_len) {
    problem other = problem_new(p->desc.batch, p->desc.q_heads, p->desc.kv_heads, p->desc.q_len, kv_len,
                                p->desc.head_dim, p->desc.v_dim);
    other.desc = p->desc;
    other.desc.kv_len = kv_len;
    problem_allocate(&other, NULL);
    copy_queries(p, &other);
    return other;
}

static void test_order_of_keys_does_not_matter(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, (uint64_t)round);
        problem p = random_problem(&source, OCLATTN_MASK);
        problem other = with_other_keys(&p, p.desc.kv_len);
        const int64_t turn = random_between(&source, 1, p.desc.kv_len - 1);
        for (int64_t j = 0; j < p.desc.kv_len; j++) {
            copy_key(&p, j, &other, p.desc.kv_len - 1 - (j + turn) % p.desc.kv_len);
        }
        assert_same_attention(&p, &other, 0, 4);
        problem_free(&other);
        problem_free(&p);
    }
}

static void test_hidden_keys_change_nothing(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 1000 + (uint64_t)round);
        problem p = random_problem(&source, OCLATTN_MASK);
        problem other = with_other_keys(&p, p.desc.kv_len + random_between(&source, 1, 90));
        view_fill(&other.mask, 0);
        for (int64_t j = 0; j < p.desc.kv_len; j++) {
            copy_key(&p, j, &other, j);
        }
        assert_same_attention(&p, &other, 0, 4);
        problem_free(&other);
        problem_free(&p);
    }
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

/* Keys first... of p, in the same memory. Only part 0 carries the sink. */
static problem part_of(const problem *p, int64_t first, int64_t count) {
    problem part = problem_new(p->desc.batch, p->desc.q_heads, p->desc.kv_heads, p->desc.q_len, count, p->desc.head_dim,
                               p->desc.v_dim);
    part.desc = p->desc;
    part.desc.kv_len = count;
    memcpy(part.desc.k_strides, p->k.strides, sizeof part.desc.k_strides);
    memcpy(part.desc.v_strides, p->v.strides, sizeof part.desc.v_strides);
    memcpy(part.desc.score.mask_strides, p->mask.strides, sizeof part.desc.score.mask_strides);
    part.q = p->q;
    part.k = p->k;
    part.v = p->v;
    part.mask = p->mask;
    part.k.offset += first * p->k.strides[2];
    part.v.offset += first * p->v.strides[2];
    part.mask.offset += first;
    part.k.shape[2] = part.v.shape[2] = part.mask.shape[3] = count;
    if (first == 0) {
        part.sinks = p->sinks;
    } else {
        part.desc.score.flags &= ~OCLATTN_SINKS;
    }
    problem_allocate(&part, NULL);
    return part;
}

static void free_part(problem *part) {
    storage_free(part->o.memory);
    storage_free(part->lse.memory);
}

/* Merges b into a, in place. */
static void merge_into(problem *a, const problem *b) {
    oclattn_merge_states_desc desc;
    oclattn_merge_states_args args;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_merge_states_desc_init(&desc);
    desc.rows = a->desc.batch * a->desc.q_heads * a->desc.q_len;
    desc.v_dim = a->desc.v_dim;
    assert_ok(oclattn_merge_states_plan(device.context, &desc, &plan, &error), &error);
    oclattn_merge_states_args_init(&args);
    args.o = args.o1 = view_tensor(&a->o, false);
    args.lse = args.lse1 = view_tensor(&a->lse, false);
    args.o2 = view_tensor(&b->o, false);
    args.lse2 = view_tensor(&b->lse, false);
    assert_ok(oclattn_merge_states_enqueue(plan, device.in_order, &args, 0, NULL, NULL, &error), &error);
    storage_download(a->o.memory);
    storage_download(a->lse.memory);
    oclattn_plan_destroy(plan);
}

static void test_parts_merge_to_the_whole(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 2000 + (uint64_t)round);
        problem p = random_problem(&source, OCLATTN_MASK | (round % 2 ? OCLATTN_SINKS : 0));
        const int64_t cut = random_between(&source, 1, p.desc.kv_len - 1);
        problem first = part_of(&p, 0, cut);
        problem second = part_of(&p, cut, p.desc.kv_len - cut);
        run(&p);
        run(&first);
        run(&second);
        merge_into(&first, &second);
        assert_close(&p.o, &first.o, 0, tolerance_of(&p, 4));
        assert_close(&p.lse, &first.lse, 0, tolerance_of(&p, 4));
        free_part(&second);
        free_part(&first);
        problem_free(&p);
    }
}

/* ---- heads and scores ------------------------------------------------------------------------------------------- */

static void copy_heads(const view *few, const view *many) {
    const int64_t group = many->shape[1] / few->shape[1];
    for (int64_t n = 0; n < view_count(many); n++) {
        const int64_t x = n % many->shape[3], j = n / many->shape[3] % many->shape[2];
        const int64_t h = n / (many->shape[3] * many->shape[2]) % many->shape[1];
        const int64_t b = n / (many->shape[3] * many->shape[2] * many->shape[1]);
        view_set(many, b, h, j, x, view_get(few, b, h / group, j, x));
    }
}

static void test_repeated_kv_heads_are_shared_ones(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 3000 + (uint64_t)round);
        problem p = random_problem(&source, 0);
        problem many = problem_new(p.desc.batch, p.desc.q_heads, p.desc.q_heads, p.desc.q_len, p.desc.kv_len,
                                   p.desc.head_dim, p.desc.v_dim);
        many.desc.want_lse = 1;
        many.desc.variant = p.desc.variant;
        problem_allocate(&many, NULL);
        copy_queries(&p, &many);
        copy_heads(&p.k, &many.k);
        copy_heads(&p.v, &many.v);
        assert_same_attention(&p, &many, 0, 4);
        problem_free(&many);
        problem_free(&p);
    }
}

static void test_constant_added_to_all_scores(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 4000 + (uint64_t)round);
        const double constant = 8 * random_unit(&source);
        problem p = random_problem(&source, OCLATTN_MASK);
        problem shifted = p;
        shifted.o.memory = shifted.lse.memory = NULL;
        shifted.desc.score.flags |= OCLATTN_BIAS;
        memset(shifted.desc.score.bias_strides, 0, sizeof shifted.desc.score.bias_strides);
        problem_allocate(&shifted, NULL);
        view_fill(&shifted.bias, constant);
        assert_same_attention(&p, &shifted, view_get(&shifted.bias, 0, 0, 0, 0), 12);
        free_part(&shifted);
        storage_free(shifted.bias.memory);
        problem_free(&p);
    }
}

/* ---- bits ------------------------------------------------------------------------------------------------------- */

static void take_entry(view *tensor, int64_t b) {
    tensor->offset += b * tensor->strides[0];
    tensor->shape[0] = 1;
}

/* Batch entry b of p as a problem of its own, in the same memory. */
static problem entry_of(const problem *p, int64_t b) {
    problem entry = *p;
    entry.desc.batch = 1;
    take_entry(&entry.q, b);
    take_entry(&entry.k, b);
    take_entry(&entry.v, b);
    take_entry(&entry.o, b);
    take_entry(&entry.lse, b);
    take_entry(&entry.scores, b);
    take_entry(&entry.mask, b);
    take_entry(&entry.bias, b);
    take_entry(&entry.q_lens, b);
    take_entry(&entry.kv_lens, b);
    take_entry(&entry.offsets, b);
    return entry;
}

/* The results of `memory` as they are now, for a later comparison. */
static storage keep_results(const storage *memory) {
    storage kept = {.result = NULL};
    if (memory) {
        kept = *memory;
        kept.result = must_allocate((size_t)kept.count * element_bytes(kept.type));
        memcpy(kept.result, memory->result, (size_t)kept.count * element_bytes(kept.type));
    }
    return kept;
}

static void assert_bits_kept(const view *tensor, storage *kept) {
    if (tensor->memory) {
        view before = *tensor;
        before.memory = kept;
        assert_true(view_same_bits(tensor, &before));
    }
}

static uint64_t features_without_packing(random_source *source) {
    const uint64_t excluded = 1ull << FEATURE_Q_STARTS | 1ull << FEATURE_KV_STARTS | 1ull << FEATURE_HOST;
    return random_bits(source) & random_bits(source) & ~excluded;
}

static void test_batch_equals_its_entries_one_by_one(void **state) {
    (void)state;
    for (int round = 0; round < 4 * rounds(); round++) {
        random_source source = random_start(options.seed, 5000 + (uint64_t)round);
        problem p = problem_random(&source, features_without_packing(&source));
        run(&p);
        storage o = keep_results(p.o.memory);
        storage lse = keep_results(p.lse.memory);
        storage scores = keep_results(p.scores.memory);
        for (int64_t b = 0; b < p.desc.batch; b++) {
            problem entry = entry_of(&p, b);
            run(&entry);
            assert_bits_kept(&entry.o, &o);
            assert_bits_kept(&entry.lse, &lse);
            assert_bits_kept(&entry.scores, &scores);
        }
        free(scores.result);
        free(lse.result);
        free(o.result);
        problem_free(&p);
    }
}

/* The same plan: the bits of an entry of packed rows stay when those of the others change. */
static void test_packed_entries_do_not_see_each_other(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 6000 + (uint64_t)round);
        problem p = problem_random(&source, 1ull << FEATURE_Q_STARTS | 1ull << FEATURE_KV_STARTS | 1ull << FEATURE_LSE);
        run(&p);
        storage o = keep_results(p.o.memory);
        for (int64_t b = 0; b < p.desc.batch; b++) {
            const int64_t first = (int64_t)view_get(&p.kv_starts, b, 0, 0, 0);
            const int64_t end = (int64_t)view_get(&p.kv_starts, b + 1, 0, 0, 0);
            view others = p.o;
            others.offset += p.o.strides[2] * (int64_t)view_get(&p.q_starts, b + 1, 0, 0, 0);
            others.shape[2] = p.desc.score.q_rows - (int64_t)view_get(&p.q_starts, b + 1, 0, 0, 0);
            for (int64_t j = first; j < end; j++) {
                view_set(&p.v, 0, 0, j, 0, (double)NAN);
            }
            run(&p);
            assert_bits_kept(&others, &o);
        }
        free(o.result);
        problem_free(&p);
    }
}

static void test_same_bits_every_time(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 7000 + (uint64_t)round);
        problem p = problem_random(&source, features_without_packing(&source));
        oclattn_error error;
        oclattn_plan *plan = NULL;
        assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
        assert_ok(problem_run_plan(&p, plan, &error), &error);
        storage o = keep_results(p.o.memory);
        for (int i = 0; i < 20; i++) {
            assert_ok(problem_run_plan(&p, plan, &error), &error);
            assert_bits_kept(&p.o, &o);
        }
        free(o.result);
        oclattn_plan_destroy(plan);
        problem_free(&p);
    }
}

static void test_host_version_gives_the_same_bits(void **state) {
    (void)state;
    const uint64_t excluded = 1ull << FEATURE_RUNTIME_LENGTHS | 1ull << FEATURE_CALL_STRIDES;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 8000 + (uint64_t)round);
        problem p = problem_random(&source, random_bits(&source) & random_bits(&source) & ~excluded);
        oclattn_error error;
        char message[PROBLEM_MESSAGE_SIZE];
        run(&p);
        storage o = keep_results(p.o.memory);
        assert_ok(problem_run_host(&p, &error), &error);
        assert_bits_kept(&p.o, &o);
        if (!problem_check(&p, message)) {
            fail_msg("round %d: %s", round, message);
        }
        free(o.result);
        problem_free(&p);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_keys_does_not_matter),
        cmocka_unit_test(test_hidden_keys_change_nothing),
        cmocka_unit_test(test_parts_merge_to_the_whole),
        cmocka_unit_test(test_repeated_kv_heads_are_shared_ones),
        cmocka_unit_test(test_constant_added_to_all_scores),
        cmocka_unit_test(test_batch_equals_its_entries_one_by_one),
        cmocka_unit_test(test_packed_entries_do_not_see_each_other),
        cmocka_unit_test(test_same_bits_every_time),
        cmocka_unit_test(test_host_version_gives_the_same_bits),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
