/* Invalid descriptors, one wrong field at a time: each is refused with a message that names it. */
#include <math.h>
#include <problem.h>
#include <wrong_field.h>

/* ---- descriptors of attention ----------------------------------------------------------------------------------- */

static void assert_plan_refused(const oclattn_attention_desc *desc, oclattn_status status, const char *word) {
    oclattn_error error;
    oclattn_plan *plan = (oclattn_plan *)&error;
    assert_refused(oclattn_attention_check(device.context, desc, &error), status, &error, word);
    assert_refused(oclattn_attention_plan(device.context, desc, &plan, &error), status, &error, word);
    assert_null(plan);
    assert_int_equal(oclattn_attention_check(device.context, desc, NULL), status);
}

static oclattn_attention_desc valid_desc(void) {
    return problem_new(2, 4, 2, 5, 5, 8, 8).desc;
}

static void test_attention_descriptor(void **state) {
    (void)state;
    typedef oclattn_attention_desc desc;
    static const wrong_field fields[] = {
        {FIELD(desc, struct_size), 0, OCLATTN_INVALID_ARGUMENT, "struct_size"},
        {FIELD(desc, struct_size), sizeof(desc) + 8, OCLATTN_INVALID_ARGUMENT, "oclattn_attention_desc"},
        {FIELD(desc, q_type), 0, OCLATTN_INVALID_ARGUMENT, "q_type"},
        {FIELD(desc, k_type), 4, OCLATTN_INVALID_ARGUMENT, "k_type"},
        {FIELD(desc, v_type), 99, OCLATTN_INVALID_ARGUMENT, "v_type"},
        {FIELD(desc, o_type), 77, OCLATTN_INVALID_ARGUMENT, "o_type"},
        {FIELD(desc, batch), -1, OCLATTN_INVALID_ARGUMENT, "batch"},
        {FIELD(desc, batch), INT64_MAX, OCLATTN_INVALID_ARGUMENT, "batch"},
        {FIELD(desc, q_heads), 0, OCLATTN_INVALID_ARGUMENT, "q_heads"},
        {FIELD(desc, q_heads), 3, OCLATTN_INVALID_ARGUMENT, "q_heads"},
        {FIELD(desc, kv_heads), 0, OCLATTN_INVALID_ARGUMENT, "kv_heads"},
        {FIELD(desc, kv_heads), -2, OCLATTN_INVALID_ARGUMENT, "kv_heads"},
        {FIELD(desc, q_len), -1, OCLATTN_INVALID_ARGUMENT, "q_len"},
        {FIELD(desc, kv_len), INT64_MIN, OCLATTN_INVALID_ARGUMENT, "kv_len"},
        {FIELD(desc, head_dim), 0, OCLATTN_INVALID_ARGUMENT, "head_dim"},
        {FIELD(desc, head_dim), 1025, OCLATTN_UNSUPPORTED, "head_dim"},
        {FIELD(desc, v_dim), -8, OCLATTN_INVALID_ARGUMENT, "v_dim"},
        {FIELD(desc, v_dim), 2000, OCLATTN_UNSUPPORTED, "v_dim"},
        {FIELD(desc, want_lse), 2, OCLATTN_UNSUPPORTED, "want_lse"},
        {FIELD(desc, scores_kind), 5, OCLATTN_INVALID_ARGUMENT, "scores_kind"},
        {FIELD(desc, kv_chunk), -1, OCLATTN_INVALID_ARGUMENT, "kv_chunk"},
        {FIELD(desc, q_strides[0]), -40, OCLATTN_INVALID_ARGUMENT, "q"},
        {FIELD(desc, k_strides[2]), INT64_MAX, OCLATTN_INVALID_ARGUMENT, "k"},
        {FIELD(desc, o_strides[0]), 0, OCLATTN_INVALID_ARGUMENT, "o overlaps"},
        {FIELD(desc, o_strides[2]), 7, OCLATTN_INVALID_ARGUMENT, "o overlaps"},
        {FIELD(desc, score.flags), 1 << 30, OCLATTN_UNSUPPORTED, "flags"},
        {FIELD(desc, score.align), 4, OCLATTN_INVALID_ARGUMENT, "align"},
        {FIELD(desc, score.window_left), -2, OCLATTN_INVALID_ARGUMENT, "window_left"},
        {FIELD(desc, score.window_right), INT64_MIN, OCLATTN_INVALID_ARGUMENT, "window_right"},
        {FIELD(desc, score.reserved_type), 1, OCLATTN_UNSUPPORTED, "reserved"},
        {FIELD(desc, score.mask_kv_len), -2, OCLATTN_INVALID_ARGUMENT, "mask_kv_len"},
        {FIELD(desc, score.bias_kv_len), -7, OCLATTN_INVALID_ARGUMENT, "bias_kv_len"},
        {FIELD(desc, score.q_rows), 3, OCLATTN_INVALID_ARGUMENT, "q_rows"},
        {FIELD(desc, score.kv_rows), 3, OCLATTN_INVALID_ARGUMENT, "kv_rows"},
        {FIELD(desc, score.reserved[0]), 1, OCLATTN_UNSUPPORTED, "reserved"},
        {FIELD(desc, score.reserved[5]), -1, OCLATTN_UNSUPPORTED, "reserved"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        desc wrong = valid_desc();
        write_field(&wrong, &fields[i]);
        assert_plan_refused(&wrong, fields[i].status, fields[i].word);
    }
}

static void test_attention_numbers(void **state) {
    (void)state;
    const float not_finite[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        oclattn_attention_desc wrong = valid_desc();
        wrong.score.flags &= ~OCLATTN_DEFAULT_SCALE;
        wrong.score.scale = not_finite[i];
        assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "scale");
        wrong = valid_desc();
        wrong.score.softcap = not_finite[i];
        assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "softcap");
    }
    oclattn_attention_desc wrong = valid_desc();
    wrong.score.softcap = -1;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "softcap");
}

/* Combinations of options that make no sense, or say too little. */
static void test_attention_combinations(void **state) {
    (void)state;
    oclattn_attention_desc wrong = valid_desc();
    wrong.kv_len = 6;
    wrong.score.flags |= OCLATTN_CAUSAL;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "align");
    wrong = valid_desc();
    wrong.kv_len = 6;
    wrong.score.flags |= OCLATTN_ALIBI;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "align");
    wrong = valid_desc();
    wrong.q_len = 4;
    wrong.score.window_left = 1;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "align");
    wrong = valid_desc();
    wrong.score.flags |= OCLATTN_CAUSAL | OCLATTN_RUNTIME_LENGTHS;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "align");
    wrong = valid_desc();
    wrong.score.flags |= OCLATTN_BIAS_SCALE;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "BIAS");
    wrong = valid_desc();
    wrong.score.flags |= OCLATTN_BIAS;
    wrong.score.bias_type = (oclattn_type)9;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "bias_type");
    wrong = valid_desc();
    wrong.want_lse = 1;
    wrong.lse_strides[0] = wrong.lse_strides[1] = wrong.lse_strides[2] = 0;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "lse overlaps");
    wrong = valid_desc();
    wrong.scores_kind = OCLATTN_PROBABILITIES;
    wrong.scores_strides[2] = 4;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "scores overlaps");
    wrong = valid_desc();
    wrong.variant = "attention_of_tomorrow";
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "attention_of_tomorrow");
}

static void test_sizes_that_overflow(void **state) {
    (void)state;
    oclattn_attention_desc wrong = valid_desc();
    wrong.batch = wrong.q_len = (int64_t)1 << 40;
    assert_int_not_equal(oclattn_attention_check(device.context, &wrong, NULL), OCLATTN_OK);
    wrong = valid_desc();
    wrong.q_heads = wrong.kv_heads = (int64_t)1 << 31;
    wrong.q_len = (int64_t)1 << 31;
    assert_int_not_equal(oclattn_attention_check(device.context, &wrong, NULL), OCLATTN_OK);
    wrong = valid_desc();
    wrong.k_strides[0] = wrong.k_strides[1] = wrong.k_strides[2] = INT64_MAX / 8;
    assert_plan_refused(&wrong, OCLATTN_INVALID_ARGUMENT, "k");
}

static void test_null_pointers(void **state) {
    (void)state;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    const oclattn_attention_desc desc = valid_desc();
    assert_refused(oclattn_attention_plan(NULL, &desc, &plan, &error), OCLATTN_INVALID_ARGUMENT, &error, "context");
    assert_refused(oclattn_attention_plan(device.context, NULL, &plan, &error), OCLATTN_INVALID_ARGUMENT, &error,
                   "desc");
    assert_refused(oclattn_attention_plan(device.context, &desc, NULL, &error), OCLATTN_INVALID_ARGUMENT, &error,
                   "plan");
    assert_refused(oclattn_attention_enqueue(NULL, device.in_order, NULL, 0, NULL, NULL, &error),
                   OCLATTN_INVALID_ARGUMENT, &error, "plan");
    oclattn_plan_destroy(NULL);
    oclattn_weights_destroy(NULL);
    oclattn_context_destroy(NULL);
}

/* ---- the other operations --------------------------------------------------------------------------------------- */

static void test_heads_descriptor(void **state) {
    (void)state;
    typedef oclattn_heads_desc desc;
    static const wrong_field fields[] = {
        {FIELD(desc, struct_size), 0, OCLATTN_INVALID_ARGUMENT, "struct_size"},
        {FIELD(desc, packed_type), 0, OCLATTN_INVALID_ARGUMENT, "packed_type"},
        {FIELD(desc, heads_type), 8, OCLATTN_INVALID_ARGUMENT, "heads_type"},
        {FIELD(desc, batch), -1, OCLATTN_INVALID_ARGUMENT, "batch"},
        {FIELD(desc, rows), -1, OCLATTN_INVALID_ARGUMENT, "rows"},
        {FIELD(desc, heads), 0, OCLATTN_INVALID_ARGUMENT, "heads"},
        {FIELD(desc, head_dim), 0, OCLATTN_INVALID_ARGUMENT, "head_dim"},
        {FIELD(desc, padded_dim), 3, OCLATTN_INVALID_ARGUMENT, "padded_dim"},
        {FIELD(desc, reserved[3]), 1, OCLATTN_UNSUPPORTED, "reserved"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        oclattn_error error;
        desc wrong;
        oclattn_heads_desc_init(&wrong);
        wrong.batch = wrong.rows = wrong.heads = 2;
        wrong.head_dim = 4;
        write_field(&wrong, &fields[i]);
        assert_refused(oclattn_split_check(device.context, &wrong, &error), fields[i].status, &error, fields[i].word);
        assert_refused(oclattn_merge_check(device.context, &wrong, &error), fields[i].status, &error, fields[i].word);
    }
}

static void test_projection_descriptor(void **state) {
    (void)state;
    typedef oclattn_projection_desc desc;
    static const wrong_field fields[] = {
        {FIELD(desc, struct_size), 0, OCLATTN_INVALID_ARGUMENT, "struct_size"},
        {FIELD(desc, flags), 1 << 5, OCLATTN_UNSUPPORTED, "flags"},
        {FIELD(desc, x_type), 0, OCLATTN_INVALID_ARGUMENT, "x_type"},
        {FIELD(desc, w_type), 8, OCLATTN_INVALID_ARGUMENT, "w_type"},
        {FIELD(desc, y_type), -1, OCLATTN_INVALID_ARGUMENT, "y_type"},
        {FIELD(desc, batch), -1, OCLATTN_INVALID_ARGUMENT, "batch"},
        {FIELD(desc, rows), -1, OCLATTN_INVALID_ARGUMENT, "rows"},
        {FIELD(desc, in_dim), 0, OCLATTN_INVALID_ARGUMENT, "in_dim"},
        {FIELD(desc, out_dim), 0, OCLATTN_INVALID_ARGUMENT, "out_dim"},
        {FIELD(desc, y_strides[1]), 1, OCLATTN_INVALID_ARGUMENT, "y overlaps"},
        {FIELD(desc, x_strides[0]), -5, OCLATTN_INVALID_ARGUMENT, "x"},
        {FIELD(desc, reserved[0]), 1, OCLATTN_UNSUPPORTED, "reserved"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        oclattn_error error;
        desc wrong;
        oclattn_projection_desc_init(&wrong);
        wrong.batch = wrong.rows = 2;
        wrong.in_dim = wrong.out_dim = 4;
        write_field(&wrong, &fields[i]);
        assert_refused(oclattn_projection_check(device.context, &wrong, &error), fields[i].status, &error,
                       fields[i].word);
    }
}

static void test_merge_states_descriptor(void **state) {
    (void)state;
    typedef oclattn_merge_states_desc desc;
    static const wrong_field fields[] = {
        {FIELD(desc, struct_size), 0, OCLATTN_INVALID_ARGUMENT, "struct_size"},
        {FIELD(desc, struct_size), sizeof(desc) + 8, OCLATTN_INVALID_ARGUMENT, "oclattn_merge_states_desc"},
        {FIELD(desc, rows), -1, OCLATTN_INVALID_ARGUMENT, "rows"},
        {FIELD(desc, v_dim), 0, OCLATTN_INVALID_ARGUMENT, "v_dim"},
        {FIELD(desc, reserved[0]), 1, OCLATTN_UNSUPPORTED, "reserved"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        oclattn_error error;
        desc wrong;
        oclattn_merge_states_desc_init(&wrong);
        wrong.rows = wrong.v_dim = 4;
        write_field(&wrong, &fields[i]);
        assert_refused(oclattn_merge_states_check(device.context, &wrong, &error), fields[i].status, &error,
                       fields[i].word);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_descriptor),   cmocka_unit_test(test_attention_numbers),
        cmocka_unit_test(test_attention_combinations), cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_null_pointers),          cmocka_unit_test(test_heads_descriptor),
        cmocka_unit_test(test_projection_descriptor),  cmocka_unit_test(test_merge_states_descriptor),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
