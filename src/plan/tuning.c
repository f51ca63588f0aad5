#include "tuning.h"

#include "../device/text.h"

typedef struct tuning_row {
    const char *name, *vendor; /* parts of the device's name and vendor; NULL: any */
    cl_device_type type;       /* CL_DEVICE_TYPE_ALL: any */
    int lanes;                 /* tuning_lanes; 0: any */
    tuning values;
} tuning_row;

/* With 32 vector registers, and with 16. */
#define TILES_OF_512_BITS                                                                                              \
    {                                                                                                                  \
        .group_vectors = 4, .groups = 4, .key_block = 64, .key_step = 4, .score_vectors = 4, .out_rows = 4,            \
        .out_vectors = 4                                                                                               \
    }
#define WIDE_TILES_OF_512_BITS                                                                                         \
    {                                                                                                                  \
        .group_vectors = 4, .groups = 2, .key_block = 64, .key_step = 4, .score_vectors = 4, .out_rows = 4,            \
        .out_vectors = 4                                                                                               \
    }
#define TILES_OF_256_BITS                                                                                              \
    {                                                                                                                  \
        .group_vectors = 6, .groups = 4, .key_block = 60, .key_step = 6, .score_vectors = 2, .out_rows = 6,            \
        .out_vectors = 2                                                                                               \
    }
#define WIDE_TILES_OF_256_BITS                                                                                         \
    {                                                                                                                  \
        .group_vectors = 6, .groups = 2, .key_block = 60, .key_step = 6, .score_vectors = 2, .out_rows = 6,            \
        .out_vectors = 2                                                                                               \
    }
#define PROJECTION_TILES_OF_512_BITS                                                                                   \
    { .rows = 6, .row_tiles = 8, .panel_vectors = 4, .panels = 2, .k_block = 384 }
#define PROJECTION_TILES_OF_256_BITS                                                                                   \
    { .rows = 6, .row_tiles = 8, .panel_vectors = 2, .panels = 2, .k_block = 256 }

/* The sizes in CLBlast's database for a device that it does not know, where it is asked for them at all. */
#define CLBLAST_TILES                                                                                                  \
    .mwg = 64, .nwg = 64, .kwg = 32, .mdimc = 16, .ndimc = 8, .mdima = 16, .ndimb = 8, .kwi = 2, .vwm = 4, .vwn = 4,   \
    .wgd = 32, .mdimcd = 8, .ndimcd = 8, .mdimad = 8, .ndimbd = 8, .kwid = 2, .vwmd = 4, .vwnd = 4, .pada = 1,         \
    .padb = 1, .min_indirect_size = 576

/* CPUs: a work-group is what a core runs at a time, so one work-item each keeps all cores busy; private arrays live on
 * the stack, so a work-item takes the whole width of V and no score is computed twice. */
#define CPU_VALUES                                                                                                     \
    .local_size = 1, .few_rows_chunk = 512, .attention_few_rows = {.key_block = 256},                                  \
    .attention_portable = {.key_block = 32, .v_part = 1024}, .projection_portable = {.rows = 4, .k_block = 128},       \
    .clblast = {.overrides = 1, CLBLAST_TILES}

/* Most exact rows first: a device's name, then a vendor, then a type. The last one fits everything; its private arrays
 * are scarce registers or scratch memory, so a work-item takes 64 columns of V, and 64 work-items share the keys they
 * read. */
static const tuning_row rows[] = {
    {.type = CL_DEVICE_TYPE_CPU,
     .lanes = 16,
     .values = {.row = "CPUs with 512-bit vectors",
                CPU_VALUES,
                .attention = {TILES_OF_512_BITS, TILES_OF_512_BITS, WIDE_TILES_OF_512_BITS},
                .projection = PROJECTION_TILES_OF_512_BITS}},
    {.type = CL_DEVICE_TYPE_CPU,
     .lanes = 8,
     .values = {.row = "CPUs with 256-bit vectors",
                CPU_VALUES,
                .attention = {TILES_OF_256_BITS, TILES_OF_256_BITS, WIDE_TILES_OF_256_BITS},
                .projection = PROJECTION_TILES_OF_256_BITS}},
    {.type = CL_DEVICE_TYPE_ALL,
     .values = {.row = "defaults",
                .clblast = {.preferred = 1, .overrides = 0, CLBLAST_TILES},
                .local_size = 64,
                .few_rows_chunk = 256,
                .attention_few_rows = {.key_block = 256},
                .attention_portable = {.key_block = 32, .v_part = 64},
                .attention = {TILES_OF_256_BITS, TILES_OF_256_BITS, WIDE_TILES_OF_256_BITS},
                .projection = PROJECTION_TILES_OF_256_BITS,
                .projection_portable = {.rows = 4, .k_block = 128}}},
};

static bool row_fits(const tuning_row *row, const device_caps *caps) {
    return (row->name == NULL || text_contains_ignoring_case(caps->name, row->name)) &&
           (row->vendor == NULL || text_contains_ignoring_case(caps->vendor, row->vendor)) &&
           (row->type & caps->type) != 0 && (row->lanes == 0 || row->lanes == tuning_lanes(caps));
}

int tuning_lanes(const device_caps *caps) {
    return caps->native_float_width >= 16 ? 16 : 8;
}

int width_class_columns(int width_class) {
    return 64 << width_class;
}

int width_class_of(int64_t width) {
    int found = 0;
    while (found + 1 < WIDTH_CLASSES && width > width_class_columns(found)) {
        ++found;
    }
    return found;
}

tuning_group width_class_group(int width_class) {
    return (tuning_group)((int)TUNING_ATTENTION_64 + width_class);
}

tuning tuning_find(const device_caps *caps) {
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    for (size_t i = 0; i + 1 < count; ++i) {
        if (row_fits(&rows[i], caps)) {
            return rows[i].values;
        }
    }
    return rows[count - 1].values;
}

void tuning_add_origin(const tuning *tuned, tuning_group group, text *to) {
    if (tuned->from_file[group]) {
        text_format(to, "tuning file %s", tuned->path);
    } else {
        text_add_string(to, tuned->row);
    }
}
