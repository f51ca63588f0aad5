#include "tuning_parameters.h"

#include <string.h>

#include "clblast_tiles.h"
#include "gpu_tiles.h"
#include "tile_rules.h"

/* VECTOR of storage.clh. */
enum { STORAGE_VECTOR = 16 };

/* A work-item's private arrays lie on the stack of one of the driver's threads. */
enum { MOST_PRIVATE_BYTES = 768 * 1024 };

const tuning_group_info tuning_groups[TUNING_GROUPS] = {
    /* For all kernels; these are the ones that it does most for. */
    [TUNING_GENERAL] = {"general", {"attention_portable.cl", "attention_few_rows_cpu.cl", "attention_tiled_gpu.cl"}},
    [TUNING_ATTENTION_64] = {"attention_tiled_cpu.64", {"attention_tiled_cpu.cl"}},
    [TUNING_ATTENTION_128] = {"attention_tiled_cpu.128", {"attention_tiled_cpu.cl"}},
    [TUNING_ATTENTION_256] = {"attention_tiled_cpu.256", {"attention_tiled_cpu.cl"}},
    [TUNING_GPU_64_F16] = {"attention_tiled_gpu.64.f16", {"attention_tiled_gpu.cl"}},
    [TUNING_GPU_64_F32] = {"attention_tiled_gpu.64.f32", {"attention_tiled_gpu.cl"}},
    [TUNING_GPU_128_F16] = {"attention_tiled_gpu.128.f16", {"attention_tiled_gpu.cl"}},
    [TUNING_GPU_128_F32] = {"attention_tiled_gpu.128.f32", {"attention_tiled_gpu.cl"}},
    [TUNING_GPU_256_F16] = {"attention_tiled_gpu.256.f16", {"attention_tiled_gpu.cl"}},
    [TUNING_GPU_256_F32] = {"attention_tiled_gpu.256.f32", {"attention_tiled_gpu.cl"}},
    [TUNING_ATTENTION_FEW_ROWS] = {"attention_few_rows_cpu", {"attention_few_rows_cpu.cl"}},
    [TUNING_ATTENTION_PORTABLE] = {"attention_portable", {"attention_portable.cl"}},
    [TUNING_PROJECTION] = {"projection_tiled_cpu", {"projection_tiled_cpu.cl"}},
    [TUNING_PROJECTION_PORTABLE] = {"projection_portable", {"projection_portable.cl"}},
    /* CLBlast's kernels are its own; these are what it is preferred to. */
    [TUNING_CLBLAST] = {"projection_clblast", {"projection_tiled_cpu.cl", "projection_portable.cl"}},
    [TUNING_VARIANTS] = {"attention",
                         {"attention_few_rows_cpu.cl", "attention_tiled_cpu.cl", "attention_tiled_gpu.cl",
                          "attention_portable.cl"}},
};

#define ATTENTION_PARAMETERS(group, at)                                                                                \
    {group, "group_vectors", offsetof(tuning, at.group_vectors), 1, 8, 1, "vectors of query rows in a group"},         \
        {group, "groups", offsetof(tuning, at.groups), 1, 16, 1, "groups of query rows in a work-item's tile"},        \
        {group, "key_block", offsetof(tuning, at.key_block), 4, 64, 4, "keys of a block"},                             \
        {group, "key_step", offsetof(tuning, at.key_step), 1, 16, 1, "keys of the scores' register tile"},             \
        {group,                                                                                                        \
         "score_vectors",                                                                                              \
         offsetof(tuning, at.score_vectors),                                                                           \
         1,                                                                                                            \
         8,                                                                                                            \
         1,                                                                                                            \
         "vectors of query rows of the scores' register tile"},                                                        \
        {group, "out_rows", offsetof(tuning, at.out_rows), 1, 16, 1, "rows of the output's register tile"}, {          \
        group, "out_vectors", offsetof(tuning, at.out_vectors), 1, 16, 1,                                              \
            "vectors of columns of the output's register tile"                                                         \
    }

#define GPU_PARAMETER(group, at, name, least, most, step, meaning)                                                     \
    { group, #name, offsetof(tuning, attention_gpu at.name), least, most, step, meaning }
#define GPU_PARAMETERS(group, at)                                                                                      \
    GPU_PARAMETER(group, at, rows, 1, 16, 1, "query rows of a work-item"),                                             \
        GPU_PARAMETER(group, at, keys, 1, 8, 1, "keys of a work-item"),                                                \
        GPU_PARAMETER(group, at, row_items, 1, 64, 1, "work-items along the query rows"),                              \
        GPU_PARAMETER(group, at, column_items, 2, 64, 2, "work-items along keys and columns"),                         \
        GPU_PARAMETER(group, at, unroll, 1, 16, 1, "unrolled products of scores, in fours"),                           \
        GPU_PARAMETER(group, at, staged, 0, 1, 1, "1: K and V pass through local memory"),                             \
        GPU_PARAMETER(group, at, sub_groups, 0, 1, 1, "1: softmax by sub-groups, where they fit"),                     \
        GPU_PARAMETER(group, at, sub_group_size, 0, 64, 8, "asked of Intel's compiler; 0: its choice")

#define CHOICE_PARAMETER(name, which)                                                                                  \
    {                                                                                                                  \
        TUNING_VARIANTS, #name, offsetof(tuning, first.name), CHOICE_BY_TABLE, LAST_CHOICE, 1,                         \
            "the variant tried first for " which ": 0 by the built-in order, 1 attention_few_rows_cpu, "               \
            "2 attention_tiled_cpu, 3 attention_tiled_gpu, 4 attention_portable"                                       \
    }

#define CLBLAST_PARAMETER(name, most, meaning)                                                                         \
    { TUNING_CLBLAST, #name, offsetof(tuning, clblast.name), 1, most, 1, meaning }
#define CLBLAST_SWITCH(name, meaning)                                                                                  \
    { TUNING_CLBLAST, #name, offsetof(tuning, clblast.name), 0, 1, 1, meaning }

const tuning_parameter tuning_parameters[] = {
    {TUNING_GENERAL, "local_size", offsetof(tuning, local_size), 1, 1024, 1,
     "work-items of a work-group, in kernels without local memory"},
    {TUNING_GENERAL, "few_rows_chunk", offsetof(tuning, few_rows_chunk), 0, 1 << 20, 64,
     "keys of a part, where few query rows would leave processors idle; 0: not split"},
    ATTENTION_PARAMETERS(TUNING_ATTENTION_64, attention[0]),
    ATTENTION_PARAMETERS(TUNING_ATTENTION_128, attention[1]),
    ATTENTION_PARAMETERS(TUNING_ATTENTION_256, attention[2]),
    GPU_PARAMETERS(TUNING_GPU_64_F16, [0][0]),
    GPU_PARAMETERS(TUNING_GPU_64_F32, [0][1]),
    GPU_PARAMETERS(TUNING_GPU_128_F16, [1][0]),
    GPU_PARAMETERS(TUNING_GPU_128_F32, [1][1]),
    GPU_PARAMETERS(TUNING_GPU_256_F16, [2][0]),
    GPU_PARAMETERS(TUNING_GPU_256_F32, [2][1]),
    {TUNING_ATTENTION_FEW_ROWS, "key_block", offsetof(tuning, attention_few_rows.key_block), 64, 1024, 64,
     "keys of a block"},
    {TUNING_ATTENTION_PORTABLE, "key_block", offsetof(tuning, attention_portable.key_block), 16, 256, 16,
     "keys of a block"},
    {TUNING_ATTENTION_PORTABLE, "v_part", offsetof(tuning, attention_portable.v_part), 16, 1024, 16,
     "columns of v that a work-item sums up"},
    {TUNING_PROJECTION, "rows", offsetof(tuning, projection.rows), 1, 16, 1, "rows of the register tile"},
    {TUNING_PROJECTION, "row_tiles", offsetof(tuning, projection.row_tiles), 1, 64, 1,
     "register tiles of a work-item, one below the other"},
    {TUNING_PROJECTION, "panel_vectors", offsetof(tuning, projection.panel_vectors), 1, 8, 1,
     "vectors of columns in a panel of weights"},
    {TUNING_PROJECTION, "panels", offsetof(tuning, projection.panels), 1, 16, 1, "panels of a work-item"},
    {TUNING_PROJECTION, "k_block", offsetof(tuning, projection.k_block), 16, 1024, 16, "terms of a partial sum"},
    {TUNING_PROJECTION_PORTABLE, "rows", offsetof(tuning, projection_portable.rows), 1, 16, 1,
     "rows of a work-item's tile"},
    {TUNING_PROJECTION_PORTABLE, "k_block", offsetof(tuning, projection_portable.k_block), 16, 1024, 16,
     "terms of a partial sum"},
    CLBLAST_SWITCH(preferred, "1: projections by CLBlast, where it can take them"),
    CLBLAST_SWITCH(overrides, "0: CLBlast's own parameters instead of these"),
    CLBLAST_PARAMETER(mwg, 256, "Xgemm: columns of W of a work-group's tile"),
    CLBLAST_PARAMETER(nwg, 256, "Xgemm: rows of x of a work-group's tile"),
    CLBLAST_PARAMETER(kwg, 128, "Xgemm: terms of a step"),
    CLBLAST_PARAMETER(mdimc, 64, "Xgemm: work-items along the columns"),
    CLBLAST_PARAMETER(ndimc, 64, "Xgemm: work-items along the rows"),
    CLBLAST_PARAMETER(mdima, 64, "Xgemm: the same while W is loaded into local memory"),
    CLBLAST_PARAMETER(ndimb, 64, "Xgemm: the same while x is loaded into local memory"),
    CLBLAST_PARAMETER(kwi, 32, "Xgemm: terms that are unrolled"),
    CLBLAST_PARAMETER(vwm, 16, "Xgemm: vector width along the columns"),
    CLBLAST_PARAMETER(vwn, 16, "Xgemm: vector width along the rows"),
    CLBLAST_SWITCH(strm, "Xgemm: 1: a work-item's columns lie apart"),
    CLBLAST_SWITCH(strn, "Xgemm: 1: a work-item's rows lie apart"),
    CLBLAST_SWITCH(sa, "Xgemm: 1: W passes through local memory"),
    CLBLAST_SWITCH(sb, "Xgemm: 1: x passes through local memory"),
    CLBLAST_PARAMETER(wgd, 128, "XgemmDirect: columns, rows and terms of a work-group's tile"),
    CLBLAST_PARAMETER(mdimcd, 64, "XgemmDirect: work-items along the columns"),
    CLBLAST_PARAMETER(ndimcd, 64, "XgemmDirect: work-items along the rows"),
    CLBLAST_PARAMETER(mdimad, 64, "XgemmDirect: the same while W is loaded"),
    CLBLAST_PARAMETER(ndimbd, 64, "XgemmDirect: the same while x is loaded"),
    CLBLAST_PARAMETER(kwid, 32, "XgemmDirect: terms that are unrolled"),
    CLBLAST_PARAMETER(vwmd, 16, "XgemmDirect: vector width along the columns"),
    CLBLAST_PARAMETER(vwnd, 16, "XgemmDirect: vector width along the rows"),
    CLBLAST_SWITCH(pada, "XgemmDirect: 1: a gap after each row of W in local memory"),
    CLBLAST_SWITCH(padb, "XgemmDirect: 1: a gap after each row of x in local memory"),
    CLBLAST_PARAMETER(min_indirect_size, 1 << 20, "size of a cube from which on Xgemm is used, not XgemmDirect"),
    CHOICE_PARAMETER(few_rows, "up to 16 query rows, not packed"),
    CHOICE_PARAMETER(many_rows, "others"),
};

const size_t tuning_parameter_count = sizeof(tuning_parameters) / sizeof(tuning_parameters[0]);

const tuning_parameter *tuning_find_parameter(tuning_group group, const char *name) {
    for (size_t i = 0; i < tuning_parameter_count; ++i) {
        if (tuning_parameters[i].group == group && strcmp(tuning_parameters[i].name, name) == 0) {
            return &tuning_parameters[i];
        }
    }
    return NULL;
}

int tuning_value(const tuning *tuned, const tuning_parameter *parameter) {
    int value;
    memcpy(&value, (const char *)tuned + parameter->offset, sizeof(value));
    return value;
}

bool tuning_is_choice(const tuning_parameter *parameter) {
    return parameter->group == TUNING_VARIANTS;
}

void tuning_set_value(tuning *tuned, const tuning_parameter *parameter, int value) {
    memcpy((char *)tuned + parameter->offset, &value, sizeof(value));
}

bool tuning_allows(const tuning_parameter *parameter, int value) {
    return value == parameter->least ||
           (value > parameter->least && value <= parameter->most && value % parameter->step == 0);
}

static bool check_each(const tuning *tuned, tuning_group group, text *why) {
    for (size_t i = 0; i < tuning_parameter_count; ++i) {
        const tuning_parameter *parameter = &tuning_parameters[i];
        const int value = tuning_value(tuned, parameter);
        if (parameter->group == group && !tuning_allows(parameter, value)) {
            text_format(why, "%s is %d: allowed are %d to %d in steps of %d", parameter->name, value, parameter->least,
                        parameter->most, parameter->step);
            return false;
        }
    }
    return true;
}

static bool is_at_most(long long bytes, long long most, const char *what, text *why) {
    if (bytes > most) {
        text_format(why, "%s, %lld, is more than %lld", what, bytes, most);
        return false;
    }
    return true;
}

/* tile_state and tile_view of attention_tiled_cpu.cl; what a row has besides queries and sums takes less than 192
 * bytes. */
static long long attention_bytes(const attention_tiles *tiles, int columns, int lanes) {
    const long long group = (long long)tiles->group_vectors * lanes;
    const long long rows = tiles->groups * group;
    const long long floats = rows * 3 * columns + tiles->key_block * (group + 2LL * columns);
    return floats * (long long)sizeof(float) + rows * 192;
}

static bool check_attention(const attention_tiles *tiles, int columns, int lanes, text *why) {
    const int group = tiles->group_vectors * lanes;
    return tile_divides(STORAGE_VECTOR, group, "16", "a group's rows (group_vectors x lanes)", why) &&
           tile_divides(tiles->out_rows * tiles->out_vectors, group, "out_rows x out_vectors",
                        "a group's rows (group_vectors x lanes)", why) &&
           tile_divides(tiles->out_vectors * lanes, columns, "out_vectors x lanes", "the class's width", why) &&
           tile_divides(tiles->score_vectors, tiles->group_vectors, "score_vectors", "group_vectors", why) &&
           tile_divides(tiles->key_step * tiles->score_vectors, tiles->key_block, "key_step x score_vectors",
                        "key_block", why) &&
           is_at_most(attention_bytes(tiles, columns, lanes), MOST_PRIVATE_BYTES, "a tile's size in bytes", why);
}

/* The sums and terms of projection_tiled_cpu.cl. */
static long long projection_bytes(const projection_tiles *tiles, int lanes) {
    const long long sums = (long long)tiles->panels * tiles->rows * tiles->row_tiles * tiles->panel_vectors * lanes;
    return (sums + (long long)tiles->rows * tiles->k_block) * (long long)sizeof(float);
}

static bool check_projection(const projection_tiles *tiles, int lanes, text *why) {
    return tile_divides(STORAGE_VECTOR, tiles->panel_vectors * lanes, "16", "a panel's columns (panel_vectors x lanes)",
                        why) &&
           is_at_most(tiles->panel_vectors * lanes, MOST_PANEL_COLUMNS, "a panel's columns (panel_vectors x lanes)",
                      why) &&
           is_at_most(projection_bytes(tiles, lanes), MOST_PRIVATE_BYTES, "a tile's size in bytes", why);
}

bool tuning_check(const tuning *tuned, tuning_group group, int lanes, text *why) {
    if (!check_each(tuned, group, why)) {
        return false;
    }
    int width_class, element_size;
    if (is_gpu_group(group, &width_class, &element_size)) {
        return gpu_tiles_check(&tuned->attention_gpu[width_class][element_size], width_class_columns(width_class), why);
    }
    switch (group) {
    case TUNING_ATTENTION_64:
    case TUNING_ATTENTION_128:
    case TUNING_ATTENTION_256:
        width_class = (int)group - (int)width_class_group(0);
        return check_attention(&tuned->attention[width_class], width_class_columns(width_class), lanes, why);
    case TUNING_PROJECTION:
        return check_projection(&tuned->projection, lanes, why);
    case TUNING_CLBLAST:
        return tuned->clblast.overrides == 0 || clblast_tiles_check(&tuned->clblast, why);
    default:
        return true;
    }
}

void tuning_describe(const tuning *tuned, tuning_group group, const device_caps *caps, const char *indent,
                     text *lines) {
    text_format(lines, "%s  tiles (", indent);
    tuning_add_origin(tuned, group, lines);
    if (group == TUNING_CLBLAST && tuned->clblast.overrides == 0) {
        text_add_string(lines, "): CLBlast's own\n");
        return;
    }
    int width_class, element_size;
    const char *separator = "): ";
    if (!is_gpu_group(group, &width_class, &element_size)) {
        text_format(lines, "): vectors of %d", tuning_lanes(caps));
        separator = ", ";
    }
    for (size_t i = 0; i < tuning_parameter_count; ++i) {
        const tuning_parameter *parameter = &tuning_parameters[i];
        if (parameter->group == group) {
            text_format(lines, "%s%s %d", separator, parameter->name, tuning_value(tuned, parameter));
            separator = ", ";
        }
    }
    text_add_string(lines, "\n");
}
