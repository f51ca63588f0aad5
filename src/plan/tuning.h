/* Tuned parameters: one table, looked up from the most exact row to the defaults. */
#ifndef OCLATTN_PLAN_TUNING_H
#define OCLATTN_PLAN_TUNING_H

#include "../device/device.h"

/* With no more query rows than this, a device with many processors is kept busy by splitting the keys. */
enum { FEW_ROWS = 8 };

typedef struct tuning {
    const char *origin;        /* which row it is, for people */
    const char *name, *vendor; /* parts of the device's name and vendor; NULL: any */
    cl_device_type type;       /* CL_DEVICE_TYPE_ALL: any */
    bool prefers_clblast;      /* for projections */
    int local_size;            /* work-items per work-group that kernels without local memory ask for */
    int key_block, v_part;     /* attention_portable.cl: KEY_BLOCK, V_PART */
    int few_rows_chunk;        /* keys of a chunk where q_len is at most FEW_ROWS; 0: not chunked */
    /* attention_tiled_cpu.cl: GROUP_VECTORS, GROUPS, KEY_BLOCK, KEY_STEP, OUT_ROWS, OUT_VECTORS */
    int group_vectors, groups, tile_keys, key_step, out_rows, out_vectors;
    int rows, k_block; /* projection_portable.cl: ROWS, K_BLOCK */
    /* projection_tiled_cpu.cl: ROWS, ROW_TILES, PANEL_VECTORS, PANELS, K_BLOCK */
    int tile_rows, row_tiles, panel_vectors, panels, tile_k_block;
} tuning;

/* Floats of a vector for the kernels that use wide ones: LANES of lanes.clh. */
int tuning_lanes(const device_caps *caps);

/* Never NULL. */
const tuning *tuning_find(const device_caps *caps);

#endif
