#include "suite.h"

#include <string.h>

static const int32_t ragged_lengths[16] = {2048, 1999, 1731, 1536, 1280, 1111, 1024, 900,
                                           777,  640,  512,  333,  256,  128,  77,   1};

typedef struct suite_row {
    problem_group group;
    bool quick;
    int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim;
    bool causal;
    int64_t window; /* keys that a row sees, itself included; 0: all */
    const int32_t *kv_lens;
} suite_row;

static const suite_row rows[] = {
    {GROUP_PREFILL, true, 1, 12, 12, 512, 512, 64, false, 0, NULL},
    {GROUP_PREFILL, false, 1, 12, 12, 2048, 2048, 64, false, 0, NULL},
    {GROUP_PREFILL, false, 1, 12, 12, 2048, 2048, 64, true, 0, NULL},
    {GROUP_PREFILL, true, 8, 12, 12, 128, 128, 64, false, 0, NULL},
    {GROUP_PREFILL, false, 1, 32, 32, 1024, 1024, 128, true, 0, NULL},
    {GROUP_PREFILL, false, 1, 16, 16, 4096, 4096, 128, true, 0, NULL},
    {GROUP_PREFILL, false, 32, 12, 12, 128, 128, 32, false, 0, NULL},
    {GROUP_PREFILL, false, 1, 8, 8, 1000, 1000, 80, false, 0, NULL},
    {GROUP_PREFILL, true, 1, 16, 16, 577, 577, 72, false, 0, NULL},
    {GROUP_PREFILL, false, 1, 4, 4, 8192, 8192, 256, true, 512, NULL},
    {GROUP_DECODE, false, 1, 32, 32, 1, 4096, 128, false, 0, NULL},
    {GROUP_DECODE, true, 1, 32, 8, 1, 4096, 128, false, 0, NULL},
    {GROUP_DECODE, false, 16, 32, 8, 1, 2048, 128, false, 0, ragged_lengths},
    {GROUP_LAYER, true, 1, 12, 12, 128, 128, 64, false, 0, NULL},
    {GROUP_LAYER, false, 1, 12, 12, 512, 512, 64, false, 0, NULL},
    {GROUP_LAYER, false, 8, 12, 12, 128, 128, 64, false, 0, NULL},
    {GROUP_LAYER, false, 1, 12, 12, 2048, 2048, 64, false, 0, NULL},
    {GROUP_LAYER, false, 1, 12, 12, 1, 1, 64, false, 0, NULL},
    {GROUP_LAYER, false, 4, 16, 16, 256, 256, 64, false, 0, NULL},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static bench_problem problem_of(const suite_row *row) {
    return (bench_problem){.group = row->group,
                           .type = OCLATTN_F32,
                           .kv_type = OCLATTN_F32,
                           .batch = row->batch,
                           .q_heads = row->q_heads,
                           .kv_heads = row->kv_heads,
                           .q_len = row->q_len,
                           .kv_len = row->kv_len,
                           .head_dim = row->head_dim,
                           .v_dim = row->head_dim,
                           .window_left = row->window - 1,
                           .window_right = -1,
                           .align = OCLATTN_ALIGN_BOTTOM_RIGHT,
                           .causal = row->causal,
                           .kv_lens = row->kv_lens,
                           .d_model = row->group == GROUP_LAYER ? row->q_heads * row->head_dim : 0};
}

static bool belongs(const suite_row *row, const char *name) {
    return strcmp(name, "all") == 0 || strcmp(name, group_name(row->group)) == 0 ||
           (row->quick && strcmp(name, "quick") == 0);
}

size_t suite_problems(const char *name, bench_problem problems[MOST_SUITE_PROBLEMS]) {
    size_t count = 0;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (belongs(&rows[i], name)) {
            problems[count++] = problem_of(&rows[i]);
        }
    }
    return count;
}
