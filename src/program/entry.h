/* The bytes of a cache entry:
 *
 *     byte 0   magic: "oclattn" and the version of this format
 *          8   checksum of all that follows it
 *         16   bytes of the key
 *         24   bytes of the binary
 *         32   key, binary, and nothing more
 *
 * Numbers have 64 bits, lowest byte first. */
#ifndef OCLATTN_PROGRAM_ENTRY_H
#define OCLATTN_PROGRAM_ENTRY_H

#include "text.h"

void entry_encode(text *content, const text *key, const unsigned char *binary, size_t size);

/* Copies the binary out of an entry; free it. Any bytes whatever are a valid input. Returns NULL, or a few words on why
 * the entry cannot be used. */
const char *entry_decode(const text *content, const text *key, unsigned char **binary, size_t *size);

#endif
