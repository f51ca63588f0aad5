/* Memory beyond inputs and outputs, as the workspace query states it: in proportion to batch, heads and length. */
#include <harness.h>
#include <oclattn/oclattn.h>

static size_t workspace_of(int64_t batch, int64_t heads, int64_t q_len, int64_t kv_len, int64_t head_dim) {
    oclattn_attention_desc desc;
    oclattn_plan *plan = NULL;
    oclattn_error error;
    oclattn_attention_desc_init(&desc);
    desc.batch = batch;
    desc.q_heads = desc.kv_heads = heads;
    desc.q_len = q_len;
    desc.kv_len = kv_len;
    desc.head_dim = desc.v_dim = head_dim;
    assert_ok(oclattn_attention_plan(device.context, &desc, &plan, &error), &error);
    const size_t bytes = oclattn_plan_workspace_bytes(plan);
    oclattn_plan_destroy(plan);
    return bytes;
}

/* Rows that need no splitting of keys need nothing, however long they are. */
static void test_many_rows_need_none(void **state) {
    (void)state;
    assert_int_equal(workspace_of(1, 2, 512, 512, 64), 0);
    assert_int_equal(workspace_of(1, 2, 16384, 16384, 64), 0);
}

/* A part of keys leaves a row's sums, maximum and denominator behind. */
static void test_few_rows_need_little(void **state) {
    (void)state;
    const size_t row_bytes = (64 + 2) * sizeof(float);
    for (int64_t kv_len = 1; kv_len <= 65536; kv_len *= 4) {
        for (int64_t q_len = 1; q_len <= 16; q_len *= 4) {
            const size_t most_parts = (size_t)(kv_len / 256 + 1);
            assert_true(workspace_of(1, 1, q_len, kv_len, 64) <= (size_t)q_len * most_parts * row_bytes);
        }
    }
    assert_true(workspace_of(1, 1, 1, 65536, 64) > 0);
}

static void test_linear_in_batch_and_heads(void **state) {
    (void)state;
    const size_t one = workspace_of(1, 1, 1, 8192, 64);
    assert_int_equal(workspace_of(7, 1, 1, 8192, 64), 7 * one);
    assert_int_equal(workspace_of(1, 5, 1, 8192, 64), 5 * one);
    assert_int_equal(workspace_of(3, 4, 1, 16384, 64), 24 * one);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_rows_need_none),
        cmocka_unit_test(test_few_rows_need_little),
        cmocka_unit_test(test_linear_in_batch_and_heads),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
