/* Tuned parameters: one table, looked up from the most exact row to the defaults. What the user has measured
 * (tuning_file.h) goes over it. */
#ifndef OCLATTN_PLAN_TUNING_H
#define OCLATTN_PLAN_TUNING_H

#include <stdbool.h>
#include <stdint.h>

#include "../device/device.h"
#include "../program/text.h"

/* With no more query rows than this, a device with many processors is kept busy by splitting the keys. */
enum { FEW_ROWS = 16 };

/* Rows of K and V up to 64, 128 and 256 wide: the widths that tiled kernels are compiled for. */
enum { WIDTH_CLASSES = 3 };

/* No projection variant pads the columns of weights to more than this. */
enum { MOST_PANEL_COLUMNS = 64 };

/* Variants of attention, by the numbers that stand in tuning files. */
enum attention_choice {
    CHOICE_BY_TABLE, /* of variants: the first one that fits */
    CHOICE_FEW_ROWS_CPU,
    CHOICE_TILED_CPU,
    CHOICE_TILED_GPU,
    CHOICE_PORTABLE,
    LAST_CHOICE = CHOICE_PORTABLE
};

/* The variant of attention that is tried first, where q_len is at most FEW_ROWS and sequences are not packed, and else.
 */
typedef struct first_choices {
    int few_rows, many_rows;
} first_choices;

/* attention_tiled_cpu.cl: the macros of the same names. */
typedef struct attention_tiles {
    int group_vectors, groups, key_block, key_step, score_vectors, out_rows, out_vectors;
} attention_tiles;

/* Tiles of attention_tiled_gpu for elements of two bytes (f16, bf16), and of four. */
enum { GPU_ELEMENT_SIZES = 2 };

/* attention_tiled_gpu.cl: the macros of the same names; SUB_GROUPS only where the device has some that fit. */
typedef struct gpu_tiles {
    int rows, keys, row_items, column_items, unroll, staged, sub_groups, sub_group_size;
} gpu_tiles;

/* attention_few_rows_cpu.cl: KEY_BLOCK. */
typedef struct few_rows_tiles {
    int key_block;
} few_rows_tiles;

/* attention_portable.cl: KEY_BLOCK, V_PART. */
typedef struct portable_tiles {
    int key_block, v_part;
} portable_tiles;

/* projection_tiled_cpu.cl: the macros of the same names. */
typedef struct projection_tiles {
    int rows, row_tiles, panel_vectors, panels, k_block;
} projection_tiles;

/* projection_portable.cl: ROWS, K_BLOCK. */
typedef struct portable_projection_tiles {
    int rows, k_block;
} portable_projection_tiles;

/* CLBlast's parameters of the same names: of its kernel Xgemm (with GEMMK 0), of XgemmDirect, and
 * XGEMM_MIN_INDIRECT_SIZE. */
typedef struct clblast_tiles {
    int preferred; /* 1: projections by CLBlast, where it can take them */
    int overrides; /* 0: CLBlast's own database tells, and what follows is not used */
    int mwg, nwg, kwg, mdimc, ndimc, mdima, ndimb, kwi, vwm, vwn, strm, strn, sa, sb;
    int wgd, mdimcd, ndimcd, mdimad, ndimbd, kwid, vwmd, vwnd, pada, padb;
    int min_indirect_size;
} clblast_tiles;

/* Values that are measured, checked and replaced together. */
typedef enum tuning_group {
    TUNING_GENERAL,
    TUNING_ATTENTION_64, /* the width classes, in order */
    TUNING_ATTENTION_128,
    TUNING_ATTENTION_256,
    TUNING_GPU_64_F16, /* the width classes, in order, each for both element sizes */
    TUNING_GPU_64_F32,
    TUNING_GPU_128_F16,
    TUNING_GPU_128_F32,
    TUNING_GPU_256_F16,
    TUNING_GPU_256_F32,
    TUNING_ATTENTION_FEW_ROWS,
    TUNING_ATTENTION_PORTABLE,
    TUNING_PROJECTION,
    TUNING_PROJECTION_PORTABLE,
    TUNING_CLBLAST,
    TUNING_VARIANTS,
    TUNING_GROUPS
} tuning_group;

enum { TUNING_PATH_SIZE = 512 };

/* Every value is described in tuning_parameters.c. */
typedef struct tuning {
    const char *row;             /* of the table, for people; static */
    const char *gpu_row;         /* that of attention_tiled_gpu's tiles, which go by the family of GPUs */
    const char *clblast_row;     /* and that of CLBlast's parameters, which go by the driver's compiler */
    char path[TUNING_PATH_SIZE]; /* of the tuning file, its end where it is too long */
    bool from_file[TUNING_GROUPS];
    int local_size;     /* work-items per work-group that kernels without local memory ask for */
    int few_rows_chunk; /* keys of a chunk where q_len is at most FEW_ROWS; 0: not chunked */
    attention_tiles attention[WIDTH_CLASSES];
    gpu_tiles attention_gpu[WIDTH_CLASSES][GPU_ELEMENT_SIZES];
    few_rows_tiles attention_few_rows;
    portable_tiles attention_portable;
    projection_tiles projection;
    portable_projection_tiles projection_portable;
    clblast_tiles clblast;
    first_choices first;
} tuning;

/* Floats of a vector for the kernels that use wide ones: LANES of lanes.clh. */
int tuning_lanes(const device_caps *caps);

/* The columns that a class's kernel holds, and the class for rows that are `width` wide (the last one where none is
 * wide enough). */
int width_class_columns(int width_class);
int width_class_of(int64_t width);

/* The group of attention_tiled_cpu for a class. */
tuning_group width_class_group(int width_class);

/* The group of attention_tiled_gpu for a class and an element size (0: two bytes, 1: four); and whether a group is one
 * of those, and of which class and size. */
tuning_group gpu_group(int width_class, int element_size);
bool is_gpu_group(tuning_group group, int *width_class, int *element_size);

/* The table's row for the device. */
tuning tuning_find(const device_caps *caps);

/* Where a group's values are from: "tuning file PATH", or the row. */
void tuning_add_origin(const tuning *tuned, tuning_group group, text *to);

#endif
