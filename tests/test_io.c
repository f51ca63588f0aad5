/* Reading and writing .npy and .safetensors, with good files and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/npy.h"
#include "io/npy_header.h"
#include "io/output_file.h"
#include "io/safetensors.h"
#include "reference/reference.h"

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/oclattn-io-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"a.npy", "b.npy", "a.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(in_folder(names[i]));
    }
    return rmdir(folder);
}

static void write_file(const char *name, const void *data, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static void test_every_half(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const double half = f16_to_double((uint16_t)bits), brain = bf16_to_double((uint16_t)bits);
        assert_true(same_number(half, reference_from_f16((uint16_t)bits)));
        assert_true(f16_from_double(half) == bits || isnan(f16_to_double(f16_from_double(half))));
        assert_true(bf16_from_double(brain) == bits || isnan(bf16_to_double(bf16_from_double(brain))));
    }
}

static void test_rounding(void **state) {
    (void)state;
    assert_int_equal(f16_from_double(1 + 0x1p-11), 0x3c00);           /* tie to even, down */
    assert_int_equal(f16_from_double(1 + 3 * 0x1p-11), 0x3c02);       /* tie to even, up */
    assert_int_equal(f16_from_double(1 + 0x1p-11 + 0x1p-40), 0x3c01); /* float32 would hide what breaks the tie */
    assert_int_equal(f16_from_double(65519.9), 0x7bff);
    assert_int_equal(f16_from_double(65520), 0x7c00);
    assert_int_equal(f16_from_double(-1e300), 0xfc00);
    assert_int_equal(f16_from_double(0x1p-25), 0);
    assert_int_equal(f16_from_double(0x1.8p-25), 1);
    assert_int_equal(f16_from_double(-0.0), 0x8000);
    assert_int_equal(bf16_from_double(1 + 0x1p-8), 0x3f80);
    assert_int_equal(bf16_from_double(1 + 0x1p-8 + 0x1p-45), 0x3f81);
    assert_int_equal(bf16_from_double(0x1.ffp127), 0x7f80);
    assert_int_equal(bf16_from_double(0x1p-133), 1);
    assert_int_equal(bf16_from_double(INFINITY), 0x7f80);
}

static void test_counts(void **state) {
    (void)state;
    size_t count = 1;
    const int64_t huge[] = {INT64_MAX, 2}, hidden[] = {0, INT64_MAX, INT64_MAX}, good[] = {2, 3, 4};
    assert_false(shape_count(huge, 2, 1, &count));
    assert_false(shape_count(hidden, 3, 1, &count));
    assert_false(shape_count(huge, 1, 2, &count));
    assert_true(shape_count(good, 3, 8, &count));
    assert_int_equal(count, 24);
    assert_true(shape_count(good, 0, 8, &count));
    assert_int_equal(count, 1);
}

/* ---- .npy ------------------------------------------------------------------------------------------------------- */

static void save_array(const char *name, array_type type, int rank, const int64_t *shape) {
    failure f = {0};
    host_array array;
    assert_true(array_create(&array, type, rank, shape, "a test", &f));
    for (size_t i = 0; i < array.count * array_type_bytes(type); i++) {
        ((uint8_t *)array.data)[i] = (uint8_t)(i % 7);
    }
    output_file out = {.label = "--out", .path = in_folder(name)};
    assert_true(output_check(&out, &f));
    assert_true(output_write_npy(&out, &array, &f));
    assert_true(output_commit(&out, &f));
    array_free(&array);
}

static void test_round_trip(void **state) {
    (void)state;
    static const array_type types[] = {ARRAY_BOOL, ARRAY_U8, ARRAY_I32, ARRAY_I64, ARRAY_F16, ARRAY_F32, ARRAY_F64};
    static const int64_t shapes[][4] = {{3, 1, 2, 5}, {7, 0, 0, 0}, {1000000000000, 0, 3, 4}};
    static const int ranks[] = {4, 1, 4};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (size_t s = 0; s < 3; s++) {
            failure f = {0};
            host_array array;
            save_array("a.npy", types[t], ranks[s], shapes[s]);
            assert_true(npy_read("--q", in_folder("a.npy"), &array, &f));
            assert_int_equal(array.type, types[t]);
            assert_int_equal(array.rank, ranks[s]);
            assert_memory_equal(array.shape, shapes[s], (size_t)ranks[s] * sizeof(int64_t));
            for (size_t i = 0; i < array.count * array_type_bytes(types[t]); i++) {
                assert_int_equal(((uint8_t *)array.data)[i], i % 7);
            }
            array_free(&array);
        }
    }
}

static bool header_is_good(const char *text, host_array *array) {
    const char *reason = NULL;
    char room[256];
    const bool good = npy_header_parse(text, strlen(text), array, &reason, room);
    assert_true(good || (reason && strlen(reason) > 10));
    return good;
}

static void test_headers(void **state) {
    (void)state;
    host_array a = {0};
    assert_true(header_is_good("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", &a));
    assert_int_equal(a.count, 6);
    assert_true(header_is_good("{\"shape\":(4,),\"descr\":\"|u1\",\"fortran_order\":False}", &a));
    assert_true(header_is_good("{'descr': '=f8', 'fortran_order': False, 'shape': ()}", &a));
    assert_int_equal(a.count, 1);
    static const char *const bad[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), ",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'fortran_order': False, 'shape': ()}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(header_is_good(bad[i], &a));
    }
}

static void expect_refused_npy(const char *name) {
    failure f = {0};
    host_array array;
    assert_false(npy_read("--q", in_folder(name), &array, &f));
    assert_null(array.data);
    assert_int_equal(f.code, EXIT_BAD_INPUT);
    assert_non_null(strstr(f.text, "--q"));
    assert_non_null(strstr(f.text, name));
    assert_null(strchr(f.text, '\n'));
}

static void test_versions(void **state) {
    (void)state;
    static const char header[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
    char file[128] = "\x93NUMPY\x02";
    const size_t length = sizeof header - 1;
    file[8] = (char)length;
    memcpy(file + 12, header, length);
    for (char version = 2; version <= 3; version++) {
        failure f = {0};
        host_array array;
        file[6] = version;
        write_file("b.npy", file, 12 + length + 2);
        assert_true(npy_read("--q", in_folder("b.npy"), &array, &f));
        assert_int_equal(array.count, 2);
        array_free(&array);
    }
    file[6] = 4;
    write_file("b.npy", file, 12 + length + 2);
    expect_refused_npy("b.npy");
    file[6] = 2;
    file[11] = 0x7f; /* a header of 2 GB */
    write_file("b.npy", file, 12 + length + 2);
    expect_refused_npy("b.npy");
}

static void test_truncated_npy(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 3};
    size_t size;
    save_array("a.npy", ARRAY_F32, 2, shape);
    unsigned char *data = read_file(in_folder("a.npy"), &size);
    for (size_t length = 0; length < size; length++) {
        write_file("b.npy", data, length);
        expect_refused_npy("b.npy");
    }
    free(data);
}

/* Any answer will do, but no crash, and no array larger than its file. */
static void read_any_npy(const char *name, size_t file_size) {
    failure f = {0};
    host_array array;
    if (npy_read("--q", in_folder(name), &array, &f)) {
        assert_true(array.count * array_type_bytes(array.type) <= file_size);
        array_free(&array);
    } else {
        assert_true(strlen(f.text) > 0);
    }
}

static void test_flipped_npy(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 3};
    size_t size;
    save_array("a.npy", ARRAY_F32, 2, shape);
    unsigned char *data = read_file(in_folder("a.npy"), &size);
    for (size_t i = 0; i < size; i++) {
        static const unsigned char flips[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
        for (size_t n = 0; n < sizeof flips; n++) {
            data[i] ^= flips[n];
            write_file("b.npy", data, size);
            read_any_npy("b.npy", size);
            data[i] ^= flips[n];
        }
    }
    free(data);
}

/* ---- .safetensors ----------------------------------------------------------------------------------------------- */

static size_t put_safetensors(unsigned char *to, const char *header, size_t data_bytes) {
    const size_t length = strlen(header);
    for (int i = 0; i < 8; i++) {
        to[i] = (unsigned char)(length >> (8 * i));
    }
    memcpy(to + 8, header, length);
    memset(to + 8 + length, 0, data_bytes);
    return 8 + length + data_bytes;
}

static const char good_header[] =
    "{\"__metadata__\":{\"a\":\"b\"},\"x\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
    "\"h\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]},"
    "\"i\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[22,26]}}  ";

static void test_good_safetensors(void **state) {
    (void)state;
    unsigned char data[1024];
    failure f = {0};
    host_array array;
    write_file("a.safetensors", data, put_safetensors(data, good_header, 26));
    char path[128];
    snprintf(path, sizeof path, "%s", in_folder("a.safetensors"));
    safetensors *file = safetensors_open("--weights", path, &f);
    assert_non_null(file);
    assert_true(safetensors_has(file, "x"));
    assert_false(safetensors_has(file, "__metadata__"));
    assert_true(safetensors_read(file, "x", &array, &f));
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.type, ARRAY_F32);
    array_free(&array);
    assert_true(safetensors_read(file, "h", &array, &f));
    assert_int_equal(array.type, ARRAY_BF16);
    array_free(&array);
    assert_false(safetensors_read(file, "i", &array, &f));
    assert_non_null(strstr(f.text, "I32"));
    assert_false(safetensors_read(file, "y", &array, &f));
    assert_non_null(strstr(f.text, "x, h, i"));
    safetensors_close(file);
}

static bool safetensors_opens(const unsigned char *data, size_t size) {
    failure f = {0};
    write_file("a.safetensors", data, size);
    char path[128];
    snprintf(path, sizeof path, "%s", in_folder("a.safetensors"));
    safetensors *file = safetensors_open("--weights", path, &f);
    const bool opened = file != NULL;
    host_array array;
    if (opened && safetensors_read(file, "x", &array, &f)) {
        array_free(&array);
    }
    safetensors_close(file);
    assert_true(opened || f.text[0] != '\0');
    assert_null(strchr(f.text, '\n'));
    return opened;
}

static void test_bad_safetensors(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{\"x\":1}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"x\":1}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} garbage",
    };
    unsigned char data[1024];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(safetensors_opens(data, put_safetensors(data, bad[i], 8)));
    }
}

static void test_damaged_safetensors(void **state) {
    (void)state;
    unsigned char data[1024];
    const size_t size = put_safetensors(data, good_header, 26);
    for (size_t length = 0; length < size; length++) {
        assert_false(safetensors_opens(data, length));
    }
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            data[i] ^= (unsigned char)(1 << bit);
            safetensors_opens(data, size);
            data[i] ^= (unsigned char)(1 << bit);
        }
    }
}

/* ---- outputs ---------------------------------------------------------------------------------------------------- */

static void test_discarded_output(void **state) {
    (void)state;
    failure f = {0};
    host_array array;
    const int64_t shape[] = {2};
    assert_true(array_create(&array, ARRAY_F32, 1, shape, "a test", &f));
    char path[128];
    snprintf(path, sizeof path, "%s", in_folder("never.npy"));
    output_file out = {.label = "--out", .path = path};
    assert_true(output_write_npy(&out, &array, &f));
    output_discard(&out);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s", in_folder("no/such/folder.npy"));
    assert_false(output_check(&out, &f));
    assert_int_equal(f.code, EXIT_BAD_INPUT);
    array_free(&array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_truncated_npy),
        cmocka_unit_test(test_flipped_npy),
        cmocka_unit_test(test_good_safetensors),
        cmocka_unit_test(test_bad_safetensors),
        cmocka_unit_test(test_damaged_safetensors),
        cmocka_unit_test(test_discarded_output),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
