#include "cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "file.h"
#include "hash.h"
#include "os.h"

#define MAX_ENTRY_BYTES ((size_t)256 << 20)

/* ---- the folder ------------------------------------------------------------------------------------------------- */

static oclattn_status join_path(const char *start, const char *end, char **path, oclattn_error *error) {
    text joined = {0};
    text_add_string(&joined, start);
    text_add_string(&joined, end);
    if (joined.failed) {
        text_clear(&joined);
        return error_no_memory(error);
    }
    *path = joined.data;
    return OCLATTN_OK;
}

oclattn_status cache_choose_folder(const char *wish, const logger *log, char **folder, oclattn_error *error) {
    *folder = NULL;
    const char *named = wish ? wish : getenv("OCLATTN_CACHE_DIR");
    if (named) {
        return named[0] == '\0' ? OCLATTN_OK : join_path(named, "", folder, error);
    }
    /* The XDG rules ignore relative paths, and a relative HOME would scatter caches over working folders. */
    const char *xdg = getenv("XDG_CACHE_HOME");
    if (xdg && xdg[0] == '/') {
        return join_path(xdg, "/oclattn", folder, error);
    }
    const char *home = getenv("HOME");
    if (home && home[0] == '/') {
        return join_path(home, "/.cache/oclattn", folder, error);
    }
    log_line(log, OCLATTN_LOG_WARNING,
             "compiled kernels are not kept: none of OCLATTN_CACHE_DIR, XDG_CACHE_HOME and "
             "HOME names a folder");
    return OCLATTN_OK;
}

/* Asked for a binary, PoCL compiles every kernel once more, for work-groups of any size, which takes as long as the build
 * itself. (What it keeps on disk by itself starts in 30 ms where a binary starts in 7.) */
bool cache_waits_for_binaries(const oclattn_context *context) {
    return strcmp(context->caps.platform_name, "Portable Computing Language") == 0;
}

/* ---- the key ---------------------------------------------------------------------------------------------------- */

/* Drivers read these where they generate code, and put none of them into a version string. */
static const char *const compiler_variables[] = {
    /* PoCL */
    "POCL_BINARY_SPECIALIZE_WG",
    "POCL_ENABLE_UNINIT",
    "POCL_EXTRA_BUILD_FLAGS",
    "POCL_FORCE_PARALLEL_OUTER_LOOP",
    "POCL_FULL_REPLICATION_THRESHOLD",
    "POCL_KERNELLIB_NAME",
    "POCL_LLVM_CPU_NAME",
    "POCL_MAX_WORK_GROUP_SIZE",
    "POCL_WILOOPS_MAX_UNROLL_COUNT",
    "POCL_WORK_GROUP_METHOD",
    "POCL_WORK_GROUP_SPECIALIZATION",
    /* Intel's CPU runtime */
    "CL_CONFIG_CPU_EXPENSIVE_MEM_OPT",
    "CL_CONFIG_CPU_FORCE_WORK_GROUP_SIZE",
    "CL_CONFIG_CPU_O0_VECTORIZATION",
    "CL_CONFIG_CPU_REQD_SUB_GROUP_SIZE",
    "CL_CONFIG_CPU_RT_LOOP_UNROLL_FACTOR",
    "CL_CONFIG_CPU_STREAMING_ALWAYS",
    "CL_CONFIG_CPU_SUB_GROUP_CONSTRUCTION",
    "CL_CONFIG_CPU_TARGET_ARCH",
    "CL_CONFIG_CPU_VECTORIZER_MODE",
    "CL_CONFIG_LLVM_OPTIONS",
    "CL_CONFIG_LTO_PM",
    "CL_CONFIG_USE_FAST_RELAXED_MATH",
    "CL_CONFIG_USE_VECTORIZER",
};

static void describe_environment(text *key) {
    for (size_t i = 0; i < sizeof compiler_variables / sizeof *compiler_variables; i++) {
        const char *value = getenv(compiler_variables[i]);
        if (value) {
            text_format(key, "environment: %s=%s\n", compiler_variables[i], value);
        }
    }
}

/* A virtual machine may keep the name of its processor and lose instructions when it moves to another host. */
static void describe_host_cpu(text *key) {
    FILE *stream = fopen("/proc/cpuinfo", "r");
    if (!stream) {
        return;
    }
    char line[4096];
    while (fgets(line, sizeof line, stream) && line[0] != '\n') {
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            text_format(key, "host cpu: %016" PRIx64 "\n", hash_bytes(HASH_START, line, strlen(line)));
        }
    }
    fclose(stream);
}

void cache_describe(text *key, const oclattn_context *context, const text *source, const char *options) {
    const device_caps *caps = &context->caps;
    text_format(key, "library: %s\n", oclattn_version());
    text_format(key, "source: %016" PRIx64 ", %zu bytes\n", hash_bytes(HASH_START, source->data, source->length),
                source->length);
    text_format(key, "options: %s\n", options);
    text_format(key, "device: %s\nvendor: %s, %08" PRIx32 "\ndevice version: %s\ndriver: %s\n", caps->name,
                caps->vendor, caps->vendor_id, caps->device_version, caps->driver_version);
    text_format(key, "platform: %s\nplatform version: %s\n", caps->platform_name, caps->platform_version);
    text_format(key, "address bits: %" PRIu32 ", host pointer: %zu bytes\n", caps->address_bits, sizeof(void *));
    if (caps->type & CL_DEVICE_TYPE_CPU) {
        describe_host_cpu(key);
    }
    describe_environment(key);
}

/* The path of a key's entry; free it. NULL: out of memory. */
static char *entry_path(const oclattn_context *context, const text *key) {
    text path = {0};
    text_format(&path, "%s/%016" PRIx64 ".bin", context->cache_dir, hash_bytes(HASH_START, key->data, key->length));
    if (path.failed) {
        text_clear(&path);
    }
    return path.data;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

unsigned char *cache_load(const oclattn_context *context, const text *key, size_t *size) {
    char *path = entry_path(context, key);
    if (!path) {
        return NULL;
    }
    text content = {0};
    unsigned char *binary = NULL;
    if (file_load(path, MAX_ENTRY_BYTES, &content) && content.length > 0) {
        const char *why = entry_decode(&content, key, &binary, size);
        if (why) {
            log_line(&context->log, OCLATTN_LOG_DEBUG, "cache entry %s is not used: %s", path, why);
        }
    }
    text_clear(&content);
    free(path);
    return binary;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* errno says why it failed. */
static bool write_entry(const oclattn_context *context, const text *key, const text *content) {
    char *path = entry_path(context, key);
    if (!path) {
        errno = ENOMEM;
        return false;
    }
    const bool stored = os_make_folders(context->cache_dir) && file_replace(path, content);
    const int reason = errno;
    free(path);
    errno = reason;
    return stored;
}

void cache_store(oclattn_context *context, const text *key, const unsigned char *binary, size_t size) {
    text content = {0};
    entry_encode(&content, key, binary, size);
    const bool failed = !content.failed && !write_entry(context, key, &content);
    if (failed && !atomic_exchange(&context->cache_is_read_only, true)) {
        log_line(&context->log, OCLATTN_LOG_WARNING, "compiled kernels are not kept: cannot write in %s: %s",
                 context->cache_dir, strerror(errno));
    }
    text_clear(&content);
}
