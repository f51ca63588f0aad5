#include "tuning.h"

#include "../device/text.h"

/* Most exact rows first: a device's name, then a vendor, then a type. The last one fits everything.
 *
 * CPUs: a work-group is what a core runs at a time, so one work-item each keeps all cores busy; private arrays live on
 * the stack, so a work-item takes the whole width of V and no score is computed twice. Others: private arrays are
 * scarce registers or scratch memory, so a work-item takes 64 columns of V, and 64 work-items share the keys they read.
 */
#define TILES_MEASURED_ON_CPUS                                                                                         \
    .key_block = 32, .rows = 4, .k_block = 128, .group_vectors = 2, .groups = 4, .tile_keys = 32, .key_step = 4,       \
    .out_rows = 4, .out_vectors = 2, .tile_rows = 6, .row_tiles = 8, .panel_vectors = 2, .panels = 2,                  \
    .tile_k_block = 256

static const tuning rows[] = {
    {.origin = "defaults for CPUs",
     .type = CL_DEVICE_TYPE_CPU,
     .prefers_clblast = false,
     .local_size = 1,
     .v_part = 1024,
     .few_rows_chunk = 0,
     TILES_MEASURED_ON_CPUS},
    {.origin = "defaults",
     .type = CL_DEVICE_TYPE_ALL,
     .prefers_clblast = true,
     .local_size = 64,
     .v_part = 64,
     .few_rows_chunk = 256,
     TILES_MEASURED_ON_CPUS},
};

static bool row_fits(const tuning *row, const device_caps *caps) {
    return (row->name == NULL || text_contains_ignoring_case(caps->name, row->name)) &&
           (row->vendor == NULL || text_contains_ignoring_case(caps->vendor, row->vendor)) &&
           (row->type & caps->type) != 0;
}

int tuning_lanes(const device_caps *caps) {
    return caps->native_float_width >= 16 ? 16 : 8;
}

const tuning *tuning_find(const device_caps *caps) {
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    for (size_t i = 0; i + 1 < count; ++i) {
        if (row_fits(&rows[i], caps)) {
            return &rows[i];
        }
    }
    return &rows[count - 1];
}
