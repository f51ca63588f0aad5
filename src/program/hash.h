/* FNV-1a, 64 bits. Source: G. Fowler, L. C. Noll, K.-P. Vo, 1991. Changing any one byte changes the result. */
#ifndef OCLATTN_PROGRAM_HASH_H
#define OCLATTN_PROGRAM_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Continues a hash with more bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif
