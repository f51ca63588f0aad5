/* The bytes of a cache entry: whatever is wrong with them is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program/entry.h"
#include "program/hash.h"

static void make_entry(text *entry, text *key) {
    text_add_string(key, "key of this entry\n");
    entry_encode(entry, key, (const unsigned char *)"\0binary\377", 8);
    assert_false(entry->failed);
}

static bool decodes(const text *entry, const text *key) {
    unsigned char *binary;
    size_t size = 0;
    const char *why = entry_decode(entry, key, &binary, &size);
    if (!why) {
        assert_int_equal(size, 8);
        assert_memory_equal(binary, "\0binary\377", 8);
    } else {
        assert_null(binary);
    }
    free(binary);
    return !why;
}

static void test_every_flip_and_cut_is_noticed(void **state) {
    (void)state;
    text entry = {0}, key = {0};
    make_entry(&entry, &key);
    assert_true(decodes(&entry, &key));
    for (size_t i = 0; i < entry.length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            entry.data[i] = (char)(entry.data[i] ^ (1 << bit));
            assert_false(decodes(&entry, &key));
            entry.data[i] = (char)(entry.data[i] ^ (1 << bit));
        }
    }
    const size_t whole = entry.length;
    for (entry.length = 0; entry.length < whole; entry.length++) {
        /* A copy of the exact size, so that a sanitizer sees reads past its end. */
        text cut = {0};
        cut.data = malloc(entry.length + 1);
        assert_non_null(cut.data);
        memcpy(cut.data, entry.data, entry.length);
        cut.data = realloc(cut.data, entry.length > 0 ? entry.length : 1);
        cut.length = entry.length;
        assert_false(decodes(&cut, &key));
        free(cut.data);
    }
    text_add(&entry, "\0", 1);
    assert_false(decodes(&entry, &key));
    text_clear(&entry);
    text_clear(&key);
}

static void sign(text *entry) {
    const uint64_t hash = hash_bytes(HASH_START, entry->data + 16, entry->length - 16);
    for (int i = 0; i < 8; i++) {
        entry->data[8 + i] = (char)(unsigned char)(hash >> (8 * i));
    }
}

static void set_number(text *entry, size_t at, uint64_t number) {
    for (size_t i = 0; i < 8; i++) {
        entry->data[at + i] = (char)(unsigned char)(number >> (8 * i));
    }
}

/* Damage under a checksum that is right. */
static void test_sizes_in_an_entry_are_not_trusted(void **state) {
    (void)state;
    const uint64_t sizes[] = {0, 1, 7, 9, 17, 19, 26, 1 << 20, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX - 31,
                              UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t at = 16; at <= 24; at += 8) {
            text entry = {0}, key = {0};
            make_entry(&entry, &key);
            set_number(&entry, at, sizes[i]);
            sign(&entry);
            assert_false(decodes(&entry, &key));
            text_clear(&entry);
            text_clear(&key);
        }
    }
}

static void test_noise_is_not_an_entry(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        text entry = {0}, key = {0};
        make_entry(&entry, &key);
        for (int change = 0; change < 1 + round % 4; change++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            entry.data[16 + (random >> 33) % (entry.length - 16)] ^= (char)(1 + (random >> 24) % 255);
        }
        entry.length -= (random >> 40) % 3 == 0 ? (random >> 50) % 20 : 0;
        sign(&entry);
        unsigned char *binary;
        size_t size;
        entry_decode(&entry, &key, &binary, &size);
        free(binary);
        text_clear(&entry);
        text_clear(&key);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flip_and_cut_is_noticed),
        cmocka_unit_test(test_sizes_in_an_entry_are_not_trusted),
        cmocka_unit_test(test_noise_is_not_an_entry),
    };
    return cmocka_run_group_tests_name("entry", tests, NULL, NULL);
}
