/* The parameters of CLBlast's matrix product: rules, needs, and the names that CLBlast has for them. */
#ifndef OCLATTN_PLAN_CLBLAST_TILES_H
#define OCLATTN_PLAN_CLBLAST_TILES_H

#include "../program/text.h"
#include "tuning.h"

/* Whether its kernels can be built with them; `why` receives what is wrong. Source: the comments of its kernels
 * (xgemm_part1.opencl and xgemm_direct_part1.opencl), and the constraints of its tuners. */
bool clblast_tiles_check(const clblast_tiles *tiles, text *why);

/* What its kernels ask of a device. CLBlast fails at run time and prints to stderr where there is less. */
typedef struct clblast_need {
    size_t work_group; /* in its first dimension too */
    cl_ulong local_bytes;
} clblast_need;

clblast_need clblast_tiles_need(const clblast_tiles *tiles);

/* The parameters of one of its kernels; an override takes all of them or none. */
enum { CLBLAST_KERNELS = 7, CLBLAST_MOST_PARAMETERS = 16 };

typedef struct clblast_kernel {
    const char *name;
    size_t count;
    const char *names[CLBLAST_MOST_PARAMETERS];
    size_t values[CLBLAST_MOST_PARAMETERS];
} clblast_kernel;

/* Only where tiles->overrides is 1. */
void clblast_tiles_list(const clblast_tiles *tiles, clblast_kernel kernels[CLBLAST_KERNELS]);

#endif
