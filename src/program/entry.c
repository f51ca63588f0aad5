#include "entry.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

static const char magic[8] = {'o', 'c', 'l', 'a', 't', 't', 'n', 1};

enum { CHECKSUM_AT = 8, KEY_LENGTH_AT = 16, SIZE_AT = 24, KEY_AT = 32 };

static void add_number(text *content, uint64_t number) {
    char bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (char)(unsigned char)(number >> (8 * i));
    }
    text_add(content, bytes, sizeof bytes);
}

static uint64_t read_number(const text *content, size_t at) {
    uint64_t number = 0;
    for (size_t i = 8; i-- > 0;) {
        number = number << 8 | (unsigned char)content->data[at + i];
    }
    return number;
}

static uint64_t checksum(const text *content) {
    return hash_bytes(HASH_START, content->data + KEY_LENGTH_AT, content->length - KEY_LENGTH_AT);
}

void entry_encode(text *content, const text *key, const unsigned char *binary, size_t size) {
    text body = {0};
    add_number(&body, key->length);
    add_number(&body, size);
    text_add(&body, key->data, key->length);
    text_add(&body, (const char *)binary, size);
    if (body.failed) {
        content->failed = true;
    } else {
        text_add(content, magic, sizeof magic);
        add_number(content, hash_bytes(HASH_START, body.data, body.length));
        text_add(content, body.data, body.length);
    }
    text_clear(&body);
}

const char *entry_decode(const text *content, const text *key, unsigned char **binary, size_t *size) {
    *binary = NULL;
    if (content->length < KEY_AT || memcmp(content->data, magic, sizeof magic) != 0) {
        return "it is not an entry of this version";
    }
    if (read_number(content, CHECKSUM_AT) != checksum(content)) {
        return "its checksum is wrong";
    }
    const size_t rest = content->length - KEY_AT;
    const uint64_t key_length = read_number(content, KEY_LENGTH_AT);
    if (key_length != key->length || key_length > rest || memcmp(content->data + KEY_AT, key->data, key->length) != 0) {
        return "it belongs to another source, device, driver or setting";
    }
    const uint64_t found = read_number(content, SIZE_AT);
    if (found == 0 || found != rest - key_length) {
        return "its size is wrong";
    }
    unsigned char *copy = malloc((size_t)found);
    if (!copy) {
        return "out of memory";
    }
    *binary = memcpy(copy, content->data + KEY_AT + key->length, (size_t)found);
    *size = (size_t)found;
    return NULL;
}
