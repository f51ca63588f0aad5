/* Compiled programs on disk. Nothing here fails: what cannot be read is not there, and what cannot be written costs one
 * log line per context. */
#ifndef OCLATTN_PROGRAM_CACHE_H
#define OCLATTN_PROGRAM_CACHE_H

#include "context.h"
#include "text.h"

/* Resolves oclattn_context_options.cache_dir. *folder receives a copy, or NULL for no cache. Nothing is
 * made on disk. */
oclattn_status cache_choose_folder(const char *wish, const logger *log, char **folder, oclattn_error *error);

/* Whether the driver takes long to hand out a binary, so that plans should not wait for it. */
bool cache_waits_for_binaries(const oclattn_context *context);

/* Describes everything that the compiled program follows from. */
void cache_describe(text *key, const oclattn_context *context, const text *source, const char *options);

/* Reads the binary stored under a key; free it. NULL where there is none, or it is damaged. */
unsigned char *cache_load(const oclattn_context *context, const text *key, size_t *size);

void cache_store(oclattn_context *context, const text *key, const unsigned char *binary, size_t size);

#endif
