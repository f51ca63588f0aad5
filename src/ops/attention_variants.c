#include "attention_variants.h"

#include <stdio.h>
#include <string.h>

#include "../plan/gpu_tiles.h"
#include "../plan/params.h"

/* Columns that one work-item of attention_combine takes: VECTOR of storage.clh. */
enum { COMBINE_COLUMNS = 16 };

static int64_t parts(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}

/* q_len of packed queries is that of the longest sequence there: what else is in the batch must not choose the variant.
 */
static int64_t rows_that_share_keys(const oclattn_attention_desc *desc) {
    if (desc->score.flags & OCLATTN_Q_STARTS) {
        return INT64_MAX;
    }
    return multiply_sizes(desc->q_heads / desc->kv_heads, desc->q_len);
}

static int bytes_of(oclattn_type type) {
    return (int)oclattn_type_bytes(type);
}

/* attention_tiled_gpu holds Q in K's type where it has it, else as f32. */
static oclattn_type held_q_type(const oclattn_attention_desc *desc) {
    return desc->q_type == desc->k_type ? desc->k_type : OCLATTN_F32;
}

/* q_len of packed queries is that of the longest sequence there, which must not decide anything. */
bool attention_has_few_rows(const oclattn_attention_desc *desc) {
    return desc->q_len <= FEW_ROWS && (desc->score.flags & OCLATTN_Q_STARTS) == 0;
}

variant_request attention_variant_request(const oclattn_attention_desc *desc) {
    const int k_bytes = bytes_of(desc->k_type);
    const int v_bytes = bytes_of(desc->v_type);
    return (variant_request){.operation = PLAN_ATTENTION,
                             .wanted = desc->variant,
                             .width = desc->head_dim > desc->v_dim ? desc->head_dim : desc->v_dim,
                             .rows = rows_that_share_keys(desc),
                             .few_rows = attention_has_few_rows(desc),
                             .q_bytes = bytes_of(held_q_type(desc)),
                             .kv_bytes = k_bytes > v_bytes ? k_bytes : v_bytes};
}

/* Few programs serve all widths. */
static int class_of(const oclattn_attention_desc *desc) {
    return width_class_of(desc->head_dim > desc->v_dim ? desc->head_dim : desc->v_dim);
}

static void tiled_options(const tuning *tuned, const device_caps *caps, const oclattn_attention_desc *desc,
                          char options[PART_OPTIONS_SIZE]) {
    const int width_class = class_of(desc);
    const attention_tiles *tiles = &tuned->attention[width_class];
    snprintf(options, PART_OPTIONS_SIZE,
             "-DK_TYPE=%d -DV_TYPE=%d -DWIDTH=%d -DLANES=%d -DGROUP_VECTORS=%d -DGROUPS=%d -DKEY_BLOCK=%d "
             "-DKEY_STEP=%d -DSCORE_VECTORS=%d -DOUT_ROWS=%d -DOUT_VECTORS=%d",
             (int)desc->k_type, (int)desc->v_type, width_class_columns(width_class), tuning_lanes(caps),
             tiles->group_vectors, tiles->groups, tiles->key_block, tiles->key_step, tiles->score_vectors,
             tiles->out_rows, tiles->out_vectors);
}

/* LANES are 16 whatever the device's: said here too, where programs that are built together compare what they define.
 */
static void few_rows_options(const tuning *tuned, const oclattn_attention_desc *desc, char options[PART_OPTIONS_SIZE]) {
    snprintf(options, PART_OPTIONS_SIZE, "-DK_TYPE=%d -DV_TYPE=%d -DWIDTH=%d -DLANES=16 -DKEY_BLOCK=%d",
             (int)desc->k_type, (int)desc->v_type, width_class_columns(class_of(desc)),
             tuned->attention_few_rows.key_block);
}

/* ---- attention_tiled_gpu ---------------------------------------------------------------------------------------- */

static gpu_request gpu_request_of(const oclattn_attention_desc *desc) {
    const variant_request request = attention_variant_request(desc);
    return (gpu_request){class_of(desc), request.q_bytes, request.kv_bytes, request.rows};
}

static gpu_tiles gpu_tiles_of(const tuning *tuned, const oclattn_attention_desc *desc) {
    const gpu_request request = gpu_request_of(desc);
    return gpu_tiles_for(tuned, &request);
}

/* Sub-groups of the core and of cl_khr_subgroups ask for OpenCL C 2.0 or newer, Intel's for nothing. "": base version.
 * NULL: the device's compiler is too old. */
static const char *sub_group_version(const device_caps *caps) {
    if (caps->has_intel_subgroups) {
        return "";
    }
    return caps->version_major >= 3 ? "-cl-std=CL3.0 " : caps->version_major == 2 ? "-cl-std=CL2.0 " : NULL;
}

bool attention_may_use_sub_groups(variant_id id, const tuning *tuned, const device_caps *caps,
                                  const oclattn_attention_desc *desc) {
    return id == VARIANT_ATTENTION_TILED_GPU && caps->has_subgroups && sub_group_version(caps) != NULL &&
           gpu_tiles_of(tuned, desc).sub_groups == 1;
}

/* A group is a whole number of them, or rows would be summed up in different orders; and a block has keys for all of
 * their work-items, or local memory does it in less time. */
bool attention_sub_groups_fit(const tuning *tuned, const oclattn_attention_desc *desc, size_t sub_group_size) {
    const gpu_tiles tiles = gpu_tiles_of(tuned, desc);
    return sub_group_size > 1 && sub_group_size <= (size_t)gpu_tile_keys(&tiles) &&
           (size_t)gpu_tile_items(&tiles) % sub_group_size == 0;
}

static bool has_score_terms(const oclattn_attention_desc *desc) {
    return (desc->score.flags & (OCLATTN_MASK | OCLATTN_BIAS | OCLATTN_ALIBI)) != 0 || desc->score.softcap > 0.0f;
}

/* The size that registers are planned for, or the device's smallest one where that is larger; 0: the compiler's choice.
 */
static int required_sub_group_size(const gpu_tiles *tiles, const device_caps *caps) {
    if (!caps->has_required_subgroup_size || tiles->sub_group_size == 0) {
        return 0;
    }
    const int smallest = (int)caps->smallest_sub_group;
    return tiles->sub_group_size > smallest ? tiles->sub_group_size : smallest;
}

static void gpu_options(const tuning *tuned, const device_caps *caps, const oclattn_attention_desc *desc,
                        bool sub_groups, bool one_tile_each, char options[PART_OPTIONS_SIZE]) {
    const gpu_tiles tiles = gpu_tiles_of(tuned, desc);
    snprintf(
        options, PART_OPTIONS_SIZE,
        "%s-DQ_TYPE=%d -DK_TYPE=%d -DV_TYPE=%d -DWIDTH=%d -DSCORE_TERMS=%d -DROWS=%d -DKEYS=%d -DROW_ITEMS=%d "
        "-DCOLUMN_ITEMS=%d -DUNROLL=%d -DSTAGED=%d -DNATIVE_HALF=%d -DSUB_GROUPS=%d -DSUB_GROUP_SIZE=%d -DTILE_LOOP=%d",
        sub_groups ? sub_group_version(caps) : "", (int)held_q_type(desc), (int)desc->k_type, (int)desc->v_type,
        width_class_columns(class_of(desc)), has_score_terms(desc), tiles.rows, tiles.keys, tiles.row_items,
        tiles.column_items, tiles.unroll, tiles.staged, caps->has_fp16, sub_groups,
        required_sub_group_size(&tiles, caps), !one_tile_each);
}

/* As plan_tiles of gpu_tile.clh. */
static int64_t gpu_items(const tuning *tuned, const attention_problem *problem, int64_t chunk_count) {
    const oclattn_attention_desc *desc = &problem->desc;
    const gpu_tiles tiles = gpu_tiles_of(tuned, desc);
    const int64_t tile_rows = gpu_tile_rows(&tiles);
    const int64_t heads = shared_heads(desc->q_heads / desc->kv_heads, problem->q_len, tile_rows);
    const int64_t groups =
        desc->batch * (desc->q_heads / heads) * parts(heads * problem->q_len, tile_rows) * chunk_count;
    return multiply_sizes(groups, gpu_tile_items(&tiles));
}

size_t attention_group_size(variant_id id, const tuning *tuned, const oclattn_attention_desc *desc) {
    switch (id) {
    case VARIANT_ATTENTION_TILED_GPU: {
        const gpu_tiles tiles = gpu_tiles_of(tuned, desc);
        return (size_t)gpu_tile_items(&tiles);
    }
    case VARIANT_ATTENTION_TILED_CPU:
    case VARIANT_ATTENTION_FEW_ROWS_CPU:
        return 1; /* one of their work-items takes 100 KB and more of a thread's stack: 64 are too many */
    default:
        return 0;
    }
}

void attention_add_narrow_option(const device_caps *caps, char options[PART_OPTIONS_SIZE]) {
    if (caps->family == FAMILY_INTEL && caps->has_required_subgroup_size && caps->smallest_sub_group > 0) {
        const size_t length = strlen(options);
        snprintf(options + length, PART_OPTIONS_SIZE - length, "%s-DSUB_GROUP_SIZE=%u", length > 0 ? " " : "",
                 (unsigned)caps->smallest_sub_group);
    }
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

void attention_build_options(variant_id id, const tuning *tuned, const device_caps *caps,
                             const oclattn_attention_desc *desc, bool sub_groups, bool one_tile_each,
                             char options[PART_OPTIONS_SIZE]) {
    if (id == VARIANT_ATTENTION_TILED_GPU) {
        gpu_options(tuned, caps, desc, sub_groups, one_tile_each, options);
        return;
    }
    if (id == VARIANT_ATTENTION_TILED_CPU) {
        tiled_options(tuned, caps, desc, options);
        return;
    }
    if (id == VARIANT_ATTENTION_FEW_ROWS_CPU) {
        few_rows_options(tuned, desc, options);
        return;
    }
    snprintf(options, PART_OPTIONS_SIZE, "-DK_TYPE=%d -DV_TYPE=%d -DKEY_BLOCK=%d -DV_PART=%d", (int)desc->k_type,
             (int)desc->v_type, tuned->attention_portable.key_block, tuned->attention_portable.v_part);
}

/* As plan_tiles of tile_rows.clh. */
static int64_t tiled_items(const tuning *tuned, const device_caps *caps, const attention_problem *problem,
                           int64_t chunk_count) {
    const oclattn_attention_desc *desc = &problem->desc;
    const attention_tiles *tiles = &tuned->attention[class_of(desc)];
    const int64_t lanes = tuning_lanes(caps);
    const int64_t tile_vectors = (int64_t)tiles->groups * tiles->group_vectors;
    const int64_t heads = shared_heads(desc->q_heads / desc->kv_heads, problem->q_len, tile_vectors * lanes);
    const int64_t vectors = parts(heads * problem->q_len, lanes);
    return desc->batch * (desc->q_heads / heads) * parts(vectors, tile_vectors) * chunk_count;
}

int64_t attention_items(variant_id id, const tuning *tuned, const device_caps *caps, const attention_problem *problem,
                        int64_t chunk_count) {
    if (id == VARIANT_ATTENTION_TILED_CPU) {
        return tiled_items(tuned, caps, problem, chunk_count);
    }
    if (id == VARIANT_ATTENTION_TILED_GPU) {
        return gpu_items(tuned, problem, chunk_count);
    }
    if (id == VARIANT_ATTENTION_FEW_ROWS_CPU) {
        return problem->desc.batch * problem->desc.kv_heads * chunk_count;
    }
    return attention_rows(problem) * parts(problem->desc.v_dim, tuned->attention_portable.v_part) * chunk_count;
}

int64_t attention_combine_items(const attention_problem *problem) {
    return attention_rows(problem) * parts(problem->desc.v_dim, COMBINE_COLUMNS);
}

tuning_group attention_tiles_of(variant_id id, const oclattn_attention_desc *desc) {
    switch (id) {
    case VARIANT_ATTENTION_TILED_CPU:
        return width_class_group(class_of(desc));
    case VARIANT_ATTENTION_TILED_GPU: {
        const gpu_request request = gpu_request_of(desc);
        return gpu_group(request.width_class, gpu_element_size(&request));
    }
    case VARIANT_ATTENTION_FEW_ROWS_CPU:
        return TUNING_ATTENTION_FEW_ROWS;
    default:
        return TUNING_ATTENTION_PORTABLE;
    }
}
