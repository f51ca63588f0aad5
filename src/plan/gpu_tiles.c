#include "gpu_tiles.h"

#include "tile_rules.h"

/* QUAD and ROW_GAP of quads.clh. */
enum { QUAD = 4, ROW_GAP = QUAD };

/* Each item of a group beside its tiles: sums and largest; each row: everything else in tile_memory. */
enum { ITEM_BYTES = 8, ROW_BYTES = 88, GROUP_BYTES = 64 };

typedef struct gpu_row {
    device_family family; /* FAMILY_OTHER: any */
    const char *name;
    gpu_tiles tiles[WIDTH_CLASSES][GPU_ELEMENT_SIZES];
} gpu_row;

#define TILES(r, k, row, column, quads, in_local)                                                                      \
    .rows = r, .keys = k, .row_items = row, .column_items = column, .unroll = quads, .staged = in_local

static const gpu_row gpu_rows[] = {
    {FAMILY_NVIDIA,
     "NVIDIA",
     {{{TILES(4, 2, 16, 16, 2, 1)}, {TILES(4, 2, 8, 16, 2, 1)}},
      {{TILES(4, 2, 8, 16, 2, 1)}, {TILES(4, 1, 8, 16, 2, 1)}},
      {{TILES(4, 1, 8, 16, 2, 1)}, {TILES(2, 1, 8, 8, 2, 1)}}}},
    {FAMILY_AMD_WAVE32,
     "AMD, 32 lanes",
     {{{TILES(4, 2, 16, 16, 2, 1), .sub_groups = 1}, {TILES(4, 2, 8, 16, 2, 1), .sub_groups = 1}},
      {{TILES(4, 2, 8, 16, 2, 1), .sub_groups = 1}, {TILES(4, 1, 8, 16, 2, 1), .sub_groups = 1}},
      {{TILES(4, 1, 8, 16, 2, 1), .sub_groups = 1}, {TILES(2, 1, 8, 8, 2, 1), .sub_groups = 1}}}},
    {FAMILY_AMD_WAVE64,
     "AMD, 64 lanes",
     {{{TILES(4, 2, 16, 16, 2, 1)}, {TILES(4, 2, 8, 16, 2, 1)}},
      {{TILES(4, 2, 8, 16, 2, 1)}, {TILES(4, 1, 8, 16, 2, 1)}},
      {{TILES(4, 1, 8, 16, 2, 1)}, {TILES(2, 1, 8, 8, 2, 1)}}}},
    {FAMILY_INTEL,
     "Intel GPUs",
     {{{TILES(4, 2, 16, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8},
       {TILES(2, 2, 16, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8}},
      {{TILES(4, 2, 8, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8},
       {TILES(2, 2, 8, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8}},
      {{TILES(2, 2, 8, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8},
       {TILES(2, 1, 8, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8}}}},
    {FAMILY_ADRENO,
     "Adreno",
     {{{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}}}},
    {FAMILY_MALI,
     "Mali",
     {{{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}}}},
    {FAMILY_OTHER,
     "GPUs of other kinds",
     {{{TILES(2, 2, 8, 16, 1, 1), .sub_groups = 1}, {TILES(2, 2, 8, 16, 1, 1), .sub_groups = 1}},
      {{TILES(2, 1, 8, 16, 1, 1), .sub_groups = 1}, {TILES(2, 1, 8, 16, 1, 1), .sub_groups = 1}},
      {{TILES(1, 1, 8, 16, 1, 1), .sub_groups = 1}, {TILES(1, 1, 8, 16, 1, 1), .sub_groups = 1}}}},
};

const char *gpu_tiles_find(device_family family, gpu_tiles tiles[WIDTH_CLASSES][GPU_ELEMENT_SIZES]) {
    const gpu_row *row = gpu_rows;
    while (row->family != family && row->family != FAMILY_OTHER) {
        ++row;
    }
    for (int c = 0; c < WIDTH_CLASSES; ++c) {
        for (int e = 0; e < GPU_ELEMENT_SIZES; ++e) {
            tiles[c][e] = row->tiles[c][e];
        }
    }
    return row->name;
}

int gpu_element_size(const gpu_request *request) {
    return request->q_bytes > 2 || request->kv_bytes > 2 ? 1 : 0;
}

gpu_tiles gpu_tiles_for(const tuning *tuned, const gpu_request *request) {
    gpu_tiles tiles = tuned->attention_gpu[request->width_class][gpu_element_size(request)];
    if (request->rows <= tiles.row_items) {
        tiles.rows = 1;
    }
    return tiles;
}

int gpu_tile_items(const gpu_tiles *tiles) {
    return tiles->row_items * tiles->column_items;
}

int gpu_tile_rows(const gpu_tiles *tiles) {
    return tiles->row_items * tiles->rows;
}

int gpu_tile_keys(const gpu_tiles *tiles) {
    return tiles->column_items * tiles->keys;
}

int64_t gpu_tile_local_bytes(const gpu_tiles *tiles, const gpu_request *request) {
    const int64_t rows = gpu_tile_rows(tiles);
    const int64_t keys = gpu_tile_keys(tiles);
    const int64_t row_elements = width_class_columns(request->width_class) + ROW_GAP;
    const int64_t block = tiles->staged ? keys * row_elements * request->kv_bytes : 0;
    return rows * row_elements * request->q_bytes + block + rows * (keys + ROW_GAP) * (int64_t)sizeof(float) +
           rows * ROW_BYTES + (int64_t)gpu_tile_items(tiles) * ITEM_BYTES + GROUP_BYTES;
}

bool gpu_tiles_check(const gpu_tiles *tiles, int columns, text *why) {
    return tile_divides(tiles->rows, tiles->column_items, "rows", "column_items", why) &&
           tile_divides(QUAD, gpu_tile_keys(tiles), "4", "a block's keys (keys x column_items)", why) &&
           tile_divides(QUAD * tiles->column_items, columns, "4 x column_items", "the class's width", why) &&
           tile_divides(QUAD * tiles->unroll, columns, "4 x unroll", "the class's width", why);
}
