#include "tuning_kernels.h"

#include <string.h>

#include "../program/hash.h"
#include "../program/source.h"
#include "tuning_parameters.h"

static uint64_t read_version(const char *file) {
    text source = {0};
    const bool read = source_expand(file, &source, NULL) == OCLATTN_OK;
    const uint64_t version = read ? hash_bytes(HASH_START, source.data, source.length) : 0;
    text_clear(&source);
    return version;
}

static uint64_t file_version(tuning_kernels *kernels, const char *file) {
    for (int i = 0; i < TUNING_MOST_KERNELS; ++i) {
        if (kernels->files[i] == NULL) {
            kernels->files[i] = file;
            kernels->versions[i] = read_version(file);
        }
        if (strcmp(kernels->files[i], file) == 0) {
            return kernels->versions[i];
        }
    }
    return read_version(file);
}

uint64_t tuning_kernels_version(tuning_kernels *kernels, tuning_group group) {
    uint64_t version = HASH_START;
    for (int i = 0; i < TUNING_KERNELS && tuning_groups[group].kernel_files[i] != NULL; ++i) {
        const uint64_t one = file_version(kernels, tuning_groups[group].kernel_files[i]);
        if (one == 0) {
            return 0;
        }
        version = hash_bytes(version, &one, sizeof(one));
    }
    return version;
}
