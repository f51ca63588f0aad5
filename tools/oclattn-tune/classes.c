#include "classes.h"

#include <stdio.h>

#include "plan/tuning_parameters.h"

#define ATTENTION(numbers, count, group, rows, keys, columns)                                                          \
    {                                                                                                                  \
        .operation = TUNE_ATTENTION, .type = numbers, .batch = 1, .heads = count, .kv_heads = group, .q_len = rows,    \
        .kv_len = keys, .width = columns                                                                               \
    }

/* Heads that share keys, rows that do not fill tiles, and keys that are hidden in the middle of blocks. */
#define ODD_ATTENTION(numbers, columns)                                                                                \
    {                                                                                                                  \
        .operation = TUNE_ATTENTION, .type = numbers, .batch = 2, .heads = 4, .kv_heads = 2, .q_len = 150,             \
        .kv_len = 171, .width = columns, .causal = true, .masked = true                                                \
    }

#define PROJECTION(numbers, height, in, out)                                                                           \
    { .operation = TUNE_PROJECTION, .type = numbers, .batch = 1, .rows = height, .in_dim = in, .out_dim = out }

/* Decoding, which takes lower tiles of the same grid, must not suffer. */
#define GPU_ATTENTION(its_group, numbers, columns, odd_columns, words)                                                 \
    {                                                                                                                  \
        its_group, "attention_tiled_gpu", CL_DEVICE_TYPE_GPU, false, words,                                            \
            {ATTENTION(numbers, 16, 16, 1024, 1024, columns), ATTENTION(numbers, 32, 8, 512, 512, columns)},           \
            ATTENTION(numbers, 32, 8, 1, 4096, columns), {                                                             \
            ODD_ATTENTION(numbers, odd_columns), ATTENTION(numbers, 6, 2, 1, 1023, odd_columns)                        \
        }                                                                                                              \
    }

const tune_class tune_classes[] = {
    {TUNING_ATTENTION_64,
     "attention_tiled_cpu",
     CL_DEVICE_TYPE_CPU,
     false,
     "attention, many query rows, heads up to 64 wide",
     {ATTENTION(OCLATTN_F32, 8, 8, 512, 512, 64), ATTENTION(OCLATTN_F32, 12, 12, 128, 128, 64)},
     ATTENTION(OCLATTN_F16, 8, 8, 512, 512, 64),
     {ODD_ATTENTION(OCLATTN_F32, 59), ODD_ATTENTION(OCLATTN_F16, 59)}},
    {TUNING_ATTENTION_128,
     "attention_tiled_cpu",
     CL_DEVICE_TYPE_CPU,
     false,
     "attention, many query rows, heads up to 128 wide",
     {ATTENTION(OCLATTN_F32, 8, 2, 512, 512, 128), ATTENTION(OCLATTN_F32, 8, 8, 128, 128, 96)},
     ATTENTION(OCLATTN_F16, 8, 2, 512, 512, 128),
     {ODD_ATTENTION(OCLATTN_F32, 99), ODD_ATTENTION(OCLATTN_F16, 99)}},
    {TUNING_ATTENTION_256,
     "attention_tiled_cpu",
     CL_DEVICE_TYPE_CPU,
     false,
     "attention, many query rows, heads up to 256 wide",
     {ATTENTION(OCLATTN_F32, 4, 1, 512, 512, 256)},
     ATTENTION(OCLATTN_F16, 4, 1, 512, 512, 256),
     {ODD_ATTENTION(OCLATTN_F32, 203), ODD_ATTENTION(OCLATTN_F16, 203)}},
    GPU_ATTENTION(TUNING_GPU_64_F16, OCLATTN_F16, 64, 59, "attention on GPUs, f16 and bf16, heads up to 64 wide"),
    GPU_ATTENTION(TUNING_GPU_64_F32, OCLATTN_F32, 64, 59, "attention on GPUs, f32, heads up to 64 wide"),
    GPU_ATTENTION(TUNING_GPU_128_F16, OCLATTN_F16, 128, 99, "attention on GPUs, f16 and bf16, heads up to 128 wide"),
    GPU_ATTENTION(TUNING_GPU_128_F32, OCLATTN_F32, 128, 99, "attention on GPUs, f32, heads up to 128 wide"),
    GPU_ATTENTION(TUNING_GPU_256_F16, OCLATTN_F16, 256, 203, "attention on GPUs, f16 and bf16, heads up to 256 wide"),
    GPU_ATTENTION(TUNING_GPU_256_F32, OCLATTN_F32, 256, 203, "attention on GPUs, f32, heads up to 256 wide"),
    {TUNING_PROJECTION,
     "projection_tiled_cpu",
     CL_DEVICE_TYPE_CPU,
     false,
     "projections, as in a layer of 768 columns",
     {PROJECTION(OCLATTN_F32, 512, 768, 768), PROJECTION(OCLATTN_F32, 64, 768, 3072)},
     PROJECTION(OCLATTN_F16, 512, 768, 768),
     {PROJECTION(OCLATTN_F32, 67, 301, 131), PROJECTION(OCLATTN_F16, 67, 301, 131)}},
    {TUNING_ATTENTION_FEW_ROWS,
     "attention_few_rows_cpu",
     CL_DEVICE_TYPE_CPU,
     false,
     "attention, one query row or a few, by its own kernel",
     {ATTENTION(OCLATTN_F32, 32, 8, 1, 4096, 128), ATTENTION(OCLATTN_F32, 8, 8, 4, 2048, 64)},
     ATTENTION(OCLATTN_F16, 32, 8, 1, 4096, 128),
     {ATTENTION(OCLATTN_F32, 6, 2, 1, 1023, 128), ATTENTION(OCLATTN_F16, 6, 3, 3, 1023, 59)}},
    {TUNING_GENERAL,
     NULL,
     CL_DEVICE_TYPE_ALL,
     false,
     "attention, one query row or a few, by the kernel that the library takes",
     {ATTENTION(OCLATTN_F32, 32, 8, 1, 4096, 128), ATTENTION(OCLATTN_F32, 8, 8, 8, 2048, 64)},
     ATTENTION(OCLATTN_F16, 32, 8, 1, 4096, 128),
     {ATTENTION(OCLATTN_F32, 6, 2, 1, 1023, 128), ATTENTION(OCLATTN_F16, 6, 3, 7, 1023, 59)}},
    {TUNING_ATTENTION_PORTABLE,
     "attention_portable",
     (cl_device_type)(CL_DEVICE_TYPE_ALL & ~(cl_device_type)CL_DEVICE_TYPE_CPU),
     false,
     "attention by the portable kernel",
     {ATTENTION(OCLATTN_F32, 8, 8, 512, 512, 64), ATTENTION(OCLATTN_F32, 32, 8, 1, 4096, 128)},
     ATTENTION(OCLATTN_F16, 8, 8, 512, 512, 64),
     {ODD_ATTENTION(OCLATTN_F32, 59), ODD_ATTENTION(OCLATTN_F16, 99)}},
    {TUNING_CLBLAST,
     "projection_clblast",
     0,
     true,
     "projections by CLBlast; measured only when it is named, since its kernels compile for seconds",
     {PROJECTION(OCLATTN_F32, 512, 768, 768), PROJECTION(OCLATTN_F32, 64, 768, 3072)},
     {.operation = TUNE_NOTHING},
     {PROJECTION(OCLATTN_F32, 67, 301, 131), PROJECTION(OCLATTN_F32, 128, 320, 192)}},
    {TUNING_PROJECTION_PORTABLE,
     "projection_portable",
     (cl_device_type)(CL_DEVICE_TYPE_ALL & ~(cl_device_type)CL_DEVICE_TYPE_CPU),
     false,
     "projections by the portable kernel",
     {PROJECTION(OCLATTN_F32, 512, 768, 768), PROJECTION(OCLATTN_F32, 64, 768, 3072)},
     PROJECTION(OCLATTN_F16, 512, 768, 768),
     {PROJECTION(OCLATTN_F32, 67, 301, 131), PROJECTION(OCLATTN_F16, 67, 301, 131)}},
    {TUNING_VARIANTS,
     NULL,
     CL_DEVICE_TYPE_ALL,
     false,
     "attention: which kernel is tried first, with the values that were found for each",
     {ATTENTION(OCLATTN_F32, 32, 8, 1, 4096, 128), ATTENTION(OCLATTN_F32, 8, 8, 512, 512, 64)},
     ATTENTION(OCLATTN_F16, 8, 8, 512, 512, 64),
     {ATTENTION(OCLATTN_F32, 6, 2, 1, 1023, 128), ODD_ATTENTION(OCLATTN_F32, 59)}},
};

const size_t tune_class_count = sizeof tune_classes / sizeof tune_classes[0];

/* Sixteen work-items side by side become the lanes of a vector in compilers that vectorise over work-items; one
 * work-item with wide vectors of its own suits those that do not; groups in two dimensions with local memory suit GPUs.
 */
#define XGEMM(m, n, k, m_items, n_items, unroll, m_vector, n_vector, local)                                            \
    .mwg = m, .nwg = n, .kwg = k, .mdimc = m_items, .ndimc = n_items, .mdima = m_items, .ndimb = n_items,              \
    .kwi = unroll, .vwm = m_vector, .vwn = n_vector, .sa = local, .sb = local
#define XGEMM_DIRECT(size, m_items, n_items, unroll, m_vector, n_vector)                                               \
    .wgd = size, .mdimcd = m_items, .ndimcd = n_items, .mdimad = m_items, .ndimbd = n_items, .kwid = unroll,           \
    .vwmd = m_vector, .vwnd = n_vector, .pada = 1, .padb = 1

static const clblast_tiles clblast_candidates[] = {
    {.overrides = 1, XGEMM(64, 8, 32, 16, 1, 8, 4, 2, 0), XGEMM_DIRECT(8, 8, 8, 2, 1, 1), .min_indirect_size = 1},
    {.overrides = 1, XGEMM(16, 32, 16, 1, 1, 2, 8, 8, 0), XGEMM_DIRECT(8, 8, 8, 2, 1, 1), .min_indirect_size = 1},
    {.overrides = 1, XGEMM(64, 16, 32, 16, 2, 4, 4, 4, 0), XGEMM_DIRECT(8, 8, 8, 2, 1, 1), .min_indirect_size = 1},
    {.overrides = 1, XGEMM(128, 8, 32, 32, 1, 8, 4, 2, 0), XGEMM_DIRECT(8, 8, 8, 2, 1, 1), .min_indirect_size = 1},
    {.overrides = 1, XGEMM(16, 64, 16, 1, 2, 2, 8, 8, 0), XGEMM_DIRECT(8, 8, 8, 2, 1, 1), .min_indirect_size = 1},
    {.overrides = 1, XGEMM(64, 64, 32, 8, 8, 2, 4, 4, 1), XGEMM_DIRECT(32, 8, 8, 2, 2, 2), .min_indirect_size = 512},
    {.overrides = 1,
     XGEMM(128, 128, 16, 16, 16, 2, 4, 4, 1),
     XGEMM_DIRECT(32, 16, 16, 8, 1, 1),
     .min_indirect_size = 512},
    {.overrides = 1, XGEMM(128, 64, 16, 16, 8, 2, 4, 4, 0), XGEMM_DIRECT(32, 16, 8, 2, 2, 1), .min_indirect_size = 512},
};

bool class_candidate(const tune_class *c, size_t index, tuning *values) {
    const size_t count = sizeof clblast_candidates / sizeof clblast_candidates[0];
    if (!c->alone || index > count) {
        return false;
    }
    const int preferred = values->clblast.preferred;
    if (index == 0) {
        values->clblast.overrides = 0;
    } else {
        values->clblast = clblast_candidates[index - 1];
        values->clblast.preferred = preferred;
    }
    return true;
}

const char *class_name(const tune_class *c) {
    return tuning_groups[c->group].name;
}

static int64_t part_of(int64_t size, int64_t most) {
    return size < most ? size : most;
}

tune_problem problem_in_small(const tune_problem *problem) {
    tune_problem small = *problem;
    small.batch = 1;
    small.heads = small.kv_heads = problem->heads > 0 ? 1 : 0;
    small.q_len = part_of(problem->q_len, 40);
    small.kv_len = part_of(problem->kv_len, 70);
    small.rows = part_of(problem->rows, 40);
    small.in_dim = part_of(problem->in_dim, 64);
    small.out_dim = part_of(problem->out_dim, 64);
    return small;
}

void problem_describe(const tune_problem *p, char *words, size_t size) {
    const char *type = p->type == OCLATTN_F16 ? "f16" : "f32";
    if (p->operation == TUNE_PROJECTION) {
        snprintf(words, size, "[%lld, %lld] x [%lld, %lld] %s", (long long)(p->batch * p->rows), (long long)p->in_dim,
                 (long long)p->in_dim, (long long)p->out_dim, type);
        return;
    }
    snprintf(words, size, "q [%lld, %lld, %lld, %lld], kv [%lld, %lld] %s", (long long)p->batch, (long long)p->heads,
             (long long)p->q_len, (long long)p->width, (long long)p->kv_heads, (long long)p->kv_len, type);
}

double problem_operations(const tune_problem *p) {
    return p->operation == TUNE_PROJECTION
               ? 2.0 * (double)(p->batch * p->rows) * (double)p->in_dim * (double)p->out_dim
               : 4.0 * (double)(p->batch * p->heads * p->q_len) * (double)p->kv_len * (double)p->width;
}
