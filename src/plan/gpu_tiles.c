#include "gpu_tiles.h"

#include "tile_rules.h"

/* QUAD and ROW_GAP of quads.clh. */
enum { QUAD = 4, ROW_GAP = QUAD };

/* Each item of a group beside its tiles: sums and largest; each row: everything else in tile_memory. */
enum { ITEM_BYTES = 8, ROW_BYTES = 88, GROUP_BYTES = 64 };

/* Along the query rows where there are few: a group is then no smaller than most sub-groups. */
enum { LEAST_ROW_ITEMS = 4 };

/* Up to here, blocks become longer where tiles are low. */
enum { LONG_BLOCK_BYTES = 18 << 10 };

typedef struct gpu_row {
    device_family family; /* FAMILY_OTHER: any */
    const char *name;
    gpu_tiles tiles[WIDTH_CLASSES][GPU_ELEMENT_SIZES];
} gpu_row;

#define TILES(r, k, row, column, quads, in_local)                                                                      \
    .rows = r, .keys = k, .row_items = row, .column_items = column, .unroll = quads, .staged = in_local

/* Tiles are as high as they can be with at most 32 KB of local memory, no spills, and two groups on a compute unit, as
 * tools/vendor-compile says of those that it has compilers for; nobody has timed one. */
static const gpu_row gpu_rows[] = {
    /* 64 to 228 KB of shared memory and 65536 registers for a multiprocessor, at most 48 KB of it static, warps of 32:
     * CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". NVIDIA's driver offers no
     * sub-groups. */
    {FAMILY_NVIDIA,
     "NVIDIA",
     {{{TILES(4, 2, 16, 16, 2, 1)}, {TILES(4, 2, 8, 16, 2, 1)}},
      {{TILES(4, 2, 8, 16, 2, 1)}, {TILES(4, 1, 8, 16, 2, 1)}},
      {{TILES(4, 1, 8, 16, 2, 1)}, {TILES(2, 1, 8, 8, 2, 1)}}}},
    /* 128 KB of LDS for two compute units, 1024 or 1536 registers a lane of a SIMD, at most 256 of them for a wave:
     * GPUOpen, "Occupancy explained", and GCNSubtarget of LLVM. Sub-groups of 32. */
    {FAMILY_AMD_WAVE32,
     "AMD, 32 lanes",
     {{{TILES(4, 2, 16, 16, 2, 1), .sub_groups = 1}, {TILES(4, 2, 8, 16, 2, 1), .sub_groups = 1}},
      {{TILES(4, 2, 8, 16, 2, 1), .sub_groups = 1}, {TILES(4, 1, 8, 16, 2, 1), .sub_groups = 1}},
      {{TILES(4, 1, 8, 16, 2, 1), .sub_groups = 1}, {TILES(2, 1, 8, 8, 2, 1), .sub_groups = 1}}}},
    /* 64 KB of LDS for a compute unit, 256 (GCN) or 512 registers (CDNA 2 and 3, half of them accumulators) a lane of a
     * SIMD: ISA documents of Vega and CDNA, and GCNSubtarget of LLVM. Of a sub-group's 64 work-items half would idle.
     */
    {FAMILY_AMD_WAVE64,
     "AMD, 64 lanes",
     {{{TILES(4, 2, 8, 16, 2, 1)}, {TILES(4, 2, 8, 16, 2, 1)}},
      {{TILES(4, 2, 8, 16, 2, 1)}, {TILES(4, 1, 8, 16, 2, 1)}},
      {{TILES(2, 2, 8, 16, 2, 1)}, {TILES(2, 1, 8, 8, 2, 1)}}}},
    /* 128 registers of 32 bytes a thread, so 128 floats for each work-item of a sub-group of 8, half of that for 16; 64
     * KB of local memory for a group, 64 or 128 KB for a (dual) sub-slice: oneAPI GPU Optimization Guide, and the table
     * of Intel's GPU Occupancy Calculator. Xe-HPC and Xe2 have registers of 64 bytes and no sub-groups of 8: there the
     * smallest, of 16, are taken. */
    {FAMILY_INTEL,
     "Intel GPUs",
     {{{TILES(4, 2, 16, 16, 1, 1), .sub_groups = 1, .sub_group_size = 8},
       {TILES(4, 2, 8, 16, 1, 1), .sub_groups = 1, .sub_group_size = 8}},
      {{TILES(2, 2, 16, 16, 1, 1), .sub_groups = 1, .sub_group_size = 8},
       {TILES(4, 1, 8, 16, 1, 1), .sub_groups = 1, .sub_group_size = 8}},
      {{TILES(2, 2, 8, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8},
       {TILES(1, 1, 8, 16, 2, 1), .sub_groups = 1, .sub_group_size = 8}}}},
    /* 32 KB of local memory (CL_DEVICE_LOCAL_MEM_SIZE of an Adreno 650), waves of 64 and 128, and no public number of
     * registers: small tiles, K and V through the cache. Qualcomm, Snapdragon Mobile Platform OpenCL General
     * Programming and Optimization. */
    {FAMILY_ADRENO,
     "Adreno",
     {{{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}}}},
    /* Local memory is mapped into main memory, behind the same caches: copying there costs, and gains nothing. Arm,
     * Mali GPU OpenCL Developer Guide, "The Mali GPU OpenCL memory model". 64 registers a work-item at full occupancy
     * (Valhall), and sub-groups of 16. */
    {FAMILY_MALI,
     "Mali",
     {{{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(2, 2, 8, 8, 1, 0), .sub_groups = 1}},
      {{TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}, {TILES(1, 2, 8, 8, 1, 0), .sub_groups = 1}}}},
    /* Of no device in particular. CPUs are here too, where the variant is taken by name. */
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

int gpu_tile_items(const gpu_tiles *tiles) {
    return tiles->row_items * tiles->column_items;
}

int gpu_tile_rows(const gpu_tiles *tiles) {
    return tiles->row_items * tiles->rows;
}

int gpu_tile_keys(const gpu_tiles *tiles) {
    return tiles->column_items * tiles->keys;
}

static int64_t block_bytes(const gpu_tiles *tiles, const gpu_request *request) {
    const int64_t row_elements = width_class_columns(request->width_class) + ROW_GAP;
    return tiles->staged ? gpu_tile_keys(tiles) * row_elements * request->kv_bytes : 0;
}

/* One row each for no more work-items than there are rows, and more keys for each of them. */
static gpu_tiles lower(const gpu_tiles *tiles, const gpu_request *request) {
    gpu_tiles lowered = *tiles;
    lowered.rows = 1;
    lowered.row_items = LEAST_ROW_ITEMS;
    while (lowered.row_items < request->rows) {
        lowered.row_items *= 2;
    }
    if (lowered.row_items >= tiles->row_items || tiles->row_items % lowered.row_items != 0) {
        lowered.row_items = tiles->row_items;
    }
    for (int n = tiles->row_items / lowered.row_items; n > 1; n /= 2) {
        lowered.keys *= 2;
        if (block_bytes(&lowered, request) > LONG_BLOCK_BYTES) {
            lowered.keys /= 2;
        }
    }
    return lowered;
}

gpu_tiles gpu_tiles_for(const tuning *tuned, const gpu_request *request) {
    const gpu_tiles tiles = tuned->attention_gpu[request->width_class][gpu_element_size(request)];
    return request->rows <= tiles.row_items ? lower(&tiles, request) : tiles;
}

int64_t gpu_tile_local_bytes(const gpu_tiles *tiles, const gpu_request *request) {
    const int64_t rows = gpu_tile_rows(tiles);
    const int64_t keys = gpu_tile_keys(tiles);
    const int64_t row_elements = width_class_columns(request->width_class) + ROW_GAP;
    return rows * row_elements * request->q_bytes + block_bytes(tiles, request) +
           rows * (keys + ROW_GAP) * (int64_t)sizeof(float) + rows * ROW_BYTES +
           (int64_t)gpu_tile_items(tiles) * ITEM_BYTES + GROUP_BYTES;
}

bool gpu_tiles_check(const gpu_tiles *tiles, int columns, text *why) {
    return tile_divides(tiles->rows, tiles->column_items, "rows", "column_items", why) &&
           tile_divides(QUAD, gpu_tile_keys(tiles), "4", "a block's keys (keys x column_items)", why) &&
           tile_divides(QUAD * tiles->column_items, columns, "4 x column_items", "the class's width", why) &&
           tile_divides(QUAD * tiles->unroll, columns, "4 x unroll", "the class's width", why);
}
