/* Versions of kernels, which measurements hold for. */
#ifndef OCLATTN_PLAN_TUNING_KERNELS_H
#define OCLATTN_PLAN_TUNING_KERNELS_H

#include <stdint.h>

#include "tuning.h"

enum { TUNING_MOST_KERNELS = 16 };

/* What has been found out; begin with zeros. Groups share kernels, and the work of reading them. */
typedef struct tuning_kernels {
    const char *files[TUNING_MOST_KERNELS]; /* NULL: free from here on */
    uint64_t versions[TUNING_MOST_KERNELS];
} tuning_kernels;

/* A hash of all source of a group's kernels; 0 where that cannot be read. */
uint64_t tuning_kernels_version(tuning_kernels *kernels, tuning_group group);

#endif
