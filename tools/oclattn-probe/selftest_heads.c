/* The self-test of split and merge. */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "selftest_values.h"

typedef struct heads_case {
    int64_t batch, rows, heads, head_dim, padded_dim;
    oclattn_type packed_type, heads_type;
} heads_case;

static const heads_case heads_cases[] = {
    {2, 9, 3, 20, 20, OCLATTN_F32, OCLATTN_F32},
    {1, 33, 2, 65, 72, OCLATTN_F32, OCLATTN_F16},
    {3, 5, 4, 16, 16, OCLATTN_BF16, OCLATTN_F32},
};

static size_t heads_at(const heads_case *c, int64_t b, int64_t h, int64_t row, int64_t column) {
    return (size_t)(((b * c->heads + h) * c->rows + row) * c->padded_dim + column);
}

static size_t packed_at(const heads_case *c, int64_t b, int64_t h, int64_t row, int64_t column) {
    return (size_t)((b * c->rows + row) * c->heads * c->head_dim + h * c->head_dim + column);
}

/* What `value` becomes in the type of `like`. */
static double rounded(const values *like, double value) {
    return like->type == OCLATTN_F32   ? (double)(float)value
           : like->type == OCLATTN_F16 ? reference_from_f16(reference_to_f16(value))
                                       : reference_from_bf16(reference_to_bf16((float)value));
}

static void heads_compare(const heads_case *c, bool split, const values *packed, const values *heads, outcome *result) {
    for (int64_t i = 0; i < c->batch * c->heads * c->rows * c->padded_dim; i++) {
        const int64_t column = i % c->padded_dim, row = i / c->padded_dim % c->rows;
        const int64_t h = i / c->padded_dim / c->rows % c->heads, b = i / c->padded_dim / c->rows / c->heads;
        const size_t in_heads = heads_at(c, b, h, row, column), in_packed = packed_at(c, b, h, row, column);
        if (split) {
            const double expected = column < c->head_dim ? rounded(heads, packed->real[in_packed]) : 0;
            compare_one(result, "heads", in_heads, values_get(heads, in_heads), expected, 0);
        } else if (column < c->head_dim) {
            compare_one(result, "packed", in_packed, values_get(packed, in_packed),
                        rounded(packed, heads->real[in_heads]), 0);
        }
    }
}

static oclattn_status heads_compute(session *s, const heads_case *c, bool split, values *packed, values *heads,
                                    oclattn_error *error) {
    oclattn_heads_desc desc;
    oclattn_heads_args args;
    oclattn_plan *plan = NULL;
    oclattn_heads_desc_init(&desc);
    oclattn_heads_args_init(&args);
    desc.packed_type = c->packed_type;
    desc.heads_type = c->heads_type;
    desc.batch = c->batch;
    desc.rows = c->rows;
    desc.heads = c->heads;
    desc.head_dim = c->head_dim;
    desc.padded_dim = c->padded_dim;
    oclattn_status status = split ? oclattn_split_plan(s->context, &desc, &plan, error)
                                  : oclattn_merge_plan(s->context, &desc, &plan, error);
    bool moved = upload(s, packed, &args.packed) && upload(s, heads, &args.heads);
    if (status == OCLATTN_OK && moved) {
        status = split ? oclattn_split_enqueue(plan, s->queue, &args, 0, NULL, NULL, error)
                       : oclattn_merge_enqueue(plan, s->queue, &args, 0, NULL, NULL, error);
        moved = status != OCLATTN_OK || (session_finish(s) && download(s, split ? heads : packed,
                                                                       split ? args.heads.buffer : args.packed.buffer));
    }
    oclattn_plan_destroy(plan);
    if (status == OCLATTN_OK && !moved) {
        snprintf(error->message, sizeof error->message, "%s", s->problem);
        return OCLATTN_OPENCL_ERROR;
    }
    return status;
}

static void heads_run(session *s, bool split, size_t index, outcome *result) {
    const heads_case *c = &heads_cases[index];
    values packed = {0}, heads = {0};
    uint64_t state = UINT64_C(0x8CB92BA72F3D8DD7);
    oclattn_error error = {0};
    const int64_t in_packed = c->batch * c->rows * c->heads * c->head_dim;
    const int64_t in_heads = c->batch * c->rows * c->heads * c->padded_dim;
    const bool made =
        split
            ? values_random(&packed, c->packed_type, in_packed, &state) && values_make(&heads, c->heads_type, in_heads)
            : values_random(&heads, c->heads_type, in_heads, &state) && values_make(&packed, c->packed_type, in_packed);
    if (!made) {
        fail_test(result, "the host is out of memory");
    } else {
        const oclattn_status status = heads_compute(s, c, split, &packed, &heads, &error);
        if (status == OCLATTN_OK) {
            heads_compare(c, split, &packed, &heads, result);
        } else {
            take_status(result, status, &error);
        }
    }
    values_free(&packed);
    values_free(&heads);
}

static void heads_describe(size_t index, char *words, size_t size) {
    const heads_case *c = &heads_cases[index];
    snprintf(words, size, "packed [%lld, %lld, %lld] %s, heads [%lld, %lld, %lld, %lld] %s", (long long)c->batch,
             (long long)c->rows, (long long)(c->heads * c->head_dim), type_word(c->packed_type), (long long)c->batch,
             (long long)c->heads, (long long)c->rows, (long long)c->padded_dim, type_word(c->heads_type));
}

static void split_run(session *s, const char *variant, size_t index, outcome *result) {
    (void)variant;
    heads_run(s, true, index, result);
}

static void merge_run(session *s, const char *variant, size_t index, outcome *result) {
    (void)variant;
    heads_run(s, false, index, result);
}

enum { HEADS_CASES = sizeof heads_cases / sizeof heads_cases[0] };

const problem_set split_problems = {HEADS_CASES, heads_describe, split_run};
const problem_set merge_problems = {HEADS_CASES, heads_describe, merge_run};
