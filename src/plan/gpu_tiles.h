/* Tiles of attention_tiled_gpu: one row of a table for each family of GPUs. */
#ifndef OCLATTN_PLAN_GPU_TILES_H
#define OCLATTN_PLAN_GPU_TILES_H

#include "tuning.h"

/* The table's row for a family, over all width classes and element sizes; returns the row's name. */
const char *gpu_tiles_find(device_family family, gpu_tiles tiles[WIDTH_CLASSES][GPU_ELEMENT_SIZES]);

/* What a problem asks of the tiles. */
typedef struct gpu_request {
    int width_class;
    int q_bytes, kv_bytes; /* of an element in local memory, of Q, and of the wider one of K and V */
    int64_t rows;          /* query rows that share K and V; INT64_MAX where that depends on the batch */
} gpu_request;

/* The index of its element size: 1 where any of the tensors in local memory has elements of four bytes. */
int gpu_element_size(const gpu_request *request);

/* The tiles for a problem. Where the rows that share K and V are no more than the work-items along them, one row each
 * is enough: the tile is lower, the group smaller, and the blocks of keys longer. */
gpu_tiles gpu_tiles_for(const tuning *tuned, const gpu_request *request);

int gpu_tile_items(const gpu_tiles *tiles); /* work-items of a group */
int gpu_tile_rows(const gpu_tiles *tiles);  /* query rows of a group */
int gpu_tile_keys(const gpu_tiles *tiles);  /* keys of a block */

/* Local memory of a group, for rows as wide as the class: tile_memory of gpu_tile.clh, or a little more. */
int64_t gpu_tile_local_bytes(const gpu_tiles *tiles, const gpu_request *request);

/* Whether sizes divide each other as the kernel needs it; `why` receives what is wrong. */
bool gpu_tiles_check(const gpu_tiles *tiles, int columns, text *why);

#endif
