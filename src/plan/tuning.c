#include "tuning.h"

#include "../device/text.h"
#include "gpu_tiles.h"

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

/* CPUs: a work-group is what a core runs at a time, so one work-item each keeps all cores busy; private arrays live on
 * the stack, so a work-item takes the whole width of V and no score is computed twice. */
#define CPU_VALUES                                                                                                     \
    .local_size = 1, .few_rows_chunk = 512, .attention_few_rows = {.key_block = 64},                                   \
    .attention_portable = {.key_block = 32, .v_part = 1024}, .projection_portable = {.rows = 4, .k_block = 128}

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
                .local_size = 64,
                .few_rows_chunk = 256,
                .attention_few_rows = {.key_block = 64},
                .attention_portable = {.key_block = 32, .v_part = 64},
                .attention = {TILES_OF_256_BITS, TILES_OF_256_BITS, WIDE_TILES_OF_256_BITS},
                .projection = PROJECTION_TILES_OF_256_BITS,
                .projection_portable = {.rows = 4, .k_block = 128}}},
};

/* XgemmDirect is compiled with the rest but never used: small, so that it asks nothing of a device. */
#define WITHOUT_DIRECT                                                                                                 \
    .wgd = 8, .mdimcd = 8, .ndimcd = 8, .mdimad = 8, .ndimbd = 8, .kwid = 2, .vwmd = 1, .vwnd = 1, .pada = 1,          \
    .padb = 1, .min_indirect_size = 1

typedef struct clblast_row {
    const char *name;
    const char *vendor; /* a part of the device's; NULL: any */
    cl_device_type type;
    clblast_tiles tiles;
} clblast_row;

/* Intel's compiler for CPUs makes vectors of neighbouring work-items, PoCL's of a work-item's own. Elsewhere CLBlast's
 * database knows better; the numbers there are not used. */
static const clblast_row clblast_rows[] = {
    {"Intel's compiler for CPUs",
     "Intel(R) Corporation",
     CL_DEVICE_TYPE_CPU,
     {.overrides = 1,
      .mwg = 64,
      .nwg = 8,
      .kwg = 32,
      .mdimc = 16,
      .ndimc = 1,
      .mdima = 16,
      .ndimb = 1,
      .kwi = 8,
      .vwm = 4,
      .vwn = 2,
      WITHOUT_DIRECT}},
    {"CPUs",
     NULL,
     CL_DEVICE_TYPE_CPU,
     {.overrides = 1,
      .mwg = 16,
      .nwg = 32,
      .kwg = 16,
      .mdimc = 1,
      .ndimc = 1,
      .mdima = 1,
      .ndimb = 1,
      .kwi = 2,
      .vwm = 8,
      .vwn = 8,
      WITHOUT_DIRECT}},
    {"defaults",
     NULL,
     CL_DEVICE_TYPE_ALL,
     {.preferred = 1,
      .mwg = 64,
      .nwg = 64,
      .kwg = 32,
      .mdimc = 8,
      .ndimc = 8,
      .mdima = 8,
      .ndimb = 8,
      .kwi = 2,
      .vwm = 4,
      .vwn = 4,
      WITHOUT_DIRECT}},
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

tuning_group gpu_group(int width_class, int element_size) {
    return (tuning_group)((int)TUNING_GPU_64_F16 + GPU_ELEMENT_SIZES * width_class + element_size);
}

bool is_gpu_group(tuning_group group, int *width_class, int *element_size) {
    const int number = (int)group - (int)TUNING_GPU_64_F16;
    if (number < 0 || number >= WIDTH_CLASSES * GPU_ELEMENT_SIZES) {
        return false;
    }
    *width_class = number / GPU_ELEMENT_SIZES;
    *element_size = number % GPU_ELEMENT_SIZES;
    return true;
}

static const tuning_row *find_row(const device_caps *caps) {
    const tuning_row *row = rows;
    while (row + 1 < rows + sizeof(rows) / sizeof(rows[0]) && !row_fits(row, caps)) {
        ++row;
    }
    return row;
}

static bool clblast_row_fits(const clblast_row *row, const device_caps *caps) {
    return (row->type & caps->type) != 0 &&
           (row->vendor == NULL || text_contains_ignoring_case(caps->vendor, row->vendor));
}

static const clblast_row *find_clblast_row(const device_caps *caps) {
    const clblast_row *row = clblast_rows;
    while (row + 1 < clblast_rows + sizeof(clblast_rows) / sizeof(clblast_rows[0]) && !clblast_row_fits(row, caps)) {
        ++row;
    }
    return row;
}

tuning tuning_find(const device_caps *caps) {
    const clblast_row *blas = find_clblast_row(caps);
    tuning values = find_row(caps)->values;
    values.clblast = blas->tiles;
    values.clblast_row = blas->name;
    values.gpu_row = gpu_tiles_find(caps->family, values.attention_gpu);
    return values;
}

static const char *row_of_group(const tuning *tuned, tuning_group group) {
    int width_class, element_size;
    if (is_gpu_group(group, &width_class, &element_size)) {
        return tuned->gpu_row;
    }
    return group == TUNING_CLBLAST ? tuned->clblast_row : tuned->row;
}

void tuning_add_origin(const tuning *tuned, tuning_group group, text *to) {
    if (tuned->from_file[group]) {
        text_format(to, "tuning file %s", tuned->path);
    } else {
        text_add_string(to, row_of_group(tuned, group));
    }
}
