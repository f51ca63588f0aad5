/* A plugin's way to the library: this program is linked with neither it nor OpenCL.
 *     test_plugin_table LIBRARY [--device SPEC] */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <oclattn/plugin.h>

static void *library;
static const char *library_path, *device_spec;
static const oclattn_plugin_table *oclattn;

static int load(void **state) {
    oclattn_get_plugin_table_fn get = NULL;
    (void)state;
    library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        print_error("%s\n", dlerror());
        return 1;
    }
    void *address = dlsym(library, "oclattn_get_plugin_table");
    memcpy(&get, &address, sizeof(get));
    oclattn = get != NULL ? get(OCLATTN_PLUGIN_MAJOR) : NULL;
    return oclattn == NULL;
}

static int unload(void **state) {
    (void)state;
    return dlclose(library);
}

static void has_no_hole(void **state) {
    void *members[sizeof(oclattn_plugin_table) / sizeof(void *) - 1];
    (void)state;
    assert_int_equal(oclattn->struct_size, sizeof(oclattn_plugin_table));
    memcpy(members, (const char *)oclattn + offsetof(oclattn_plugin_table, version), sizeof(members));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); ++i) {
        assert_non_null(members[i]);
    }
}

static void tells_how_far_it_reaches(void **state) {
    oclattn_plugin_table older = *oclattn;
    (void)state;
    assert_true(OCLATTN_PLUGIN_HAS(oclattn, mha_host));
    older.struct_size = offsetof(oclattn_plugin_table, mha_host);
    assert_true(OCLATTN_PLUGIN_HAS(&older, mha_host_args_init));
    assert_false(OCLATTN_PLUGIN_HAS(&older, mha_host));
}

static void knows_one_major_version(void **state) {
    oclattn_get_plugin_table_fn get = NULL;
    void *address = dlsym(library, "oclattn_get_plugin_table");
    (void)state;
    memcpy(&get, &address, sizeof(get));
    assert_null(get(0));
    assert_null(get(OCLATTN_PLUGIN_MAJOR + 1));
    assert_ptr_equal(get(OCLATTN_PLUGIN_MAJOR), oclattn);
}

/* Members are the functions of their names. */
static void has_functions_in_their_places(void **state) {
    static const struct {
        const char *name;
        size_t offset;
    } some[] = {{"oclattn_version", offsetof(oclattn_plugin_table, version)},
                {"oclattn_plan_destroy", offsetof(oclattn_plugin_table, plan_destroy)},
                {"oclattn_merge_states_enqueue", offsetof(oclattn_plugin_table, merge_states_enqueue)},
                {"oclattn_split_plan", offsetof(oclattn_plugin_table, split_plan)},
                {"oclattn_merge_plan", offsetof(oclattn_plugin_table, merge_plan)},
                {"oclattn_weights_destroy", offsetof(oclattn_plugin_table, weights_destroy)},
                {"oclattn_mha_host", offsetof(oclattn_plugin_table, mha_host)}};
    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); ++i) {
        void *member = NULL;
        memcpy(&member, (const char *)oclattn + some[i].offset, sizeof(member));
        assert_ptr_equal(member, dlsym(library, some[i].name));
    }
}

static oclattn_context *create_context(void) {
    oclattn_error error;
    oclattn_context *context = NULL;
    oclattn_context_options options;
    oclattn->context_options_init(&options);
    options.device = device_spec;
    if (oclattn->context_create(&options, &context, &error) != OCLATTN_OK) {
        print_error("%s\n", error.message);
    }
    assert_non_null(context);
    return context;
}

/* Two keys with scores 0 and log 3: weights 1/4 and 3/4, and 1/4 * 1 + 3/4 * 5 = 4. */
static void computes_attention(void **state) {
    const float q = 1, k[2] = {0, logf(3)}, v[2] = {1, 5};
    float o = -1;
    oclattn_error error = {.status = OCLATTN_OK};
    oclattn_attention_desc desc;
    oclattn_attention_host_args args;
    oclattn_context *context = create_context();
    (void)state;
    oclattn->attention_desc_init(&desc);
    desc.batch = desc.q_heads = desc.kv_heads = desc.q_len = desc.head_dim = desc.v_dim = 1;
    desc.kv_len = 2;
    oclattn->attention_host_args_init(&args);
    args.q = &q;
    args.k = k;
    args.v = v;
    args.o = &o;
    if (oclattn->attention_host(context, &desc, &args, &error) != OCLATTN_OK) {
        print_error("%s\n", error.message);
    }
    oclattn->context_destroy(context);
    assert_int_equal(error.status, OCLATTN_OK);
    assert_true(fabsf(o - 4) < 1e-5f);
}

static void refuses_in_words(void **state) {
    oclattn_error error = {.status = OCLATTN_OK};
    oclattn_attention_desc desc;
    oclattn_context *context = create_context();
    (void)state;
    oclattn->attention_desc_init(&desc);
    desc.batch = desc.q_len = desc.kv_len = desc.head_dim = desc.v_dim = 1;
    desc.q_heads = 3;
    desc.kv_heads = 2;
    const oclattn_status status = oclattn->attention_check(context, &desc, &error);
    oclattn->context_destroy(context);
    assert_int_equal(status, OCLATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "q_heads (3) is not a multiple of kv_heads (2)"));
}

int main(int count, char **words) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_no_hole),
        cmocka_unit_test(tells_how_far_it_reaches),
        cmocka_unit_test(knows_one_major_version),
        cmocka_unit_test(has_functions_in_their_places),
        cmocka_unit_test(computes_attention),
        cmocka_unit_test(refuses_in_words),
    };
    if (count < 2) {
        print_error("usage: test_plugin_table LIBRARY [--device SPEC]\n");
        return 2;
    }
    library_path = words[1];
    device_spec = count > 3 && strcmp(words[2], "--device") == 0 ? words[3] : NULL;
    return cmocka_run_group_tests(tests, load, unload);
}
