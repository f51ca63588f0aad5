#include "attention_variants.h"

#include <stdio.h>

#include "../plan/params.h"

/* Columns that one work-item of attention_combine takes: VECTOR of storage.clh. */
enum { COMBINE_COLUMNS = 16 };

static int64_t parts(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
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

void attention_build_options(variant_id id, const tuning *tuned, const device_caps *caps,
                             const oclattn_attention_desc *desc, char options[PART_OPTIONS_SIZE]) {
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
    case VARIANT_ATTENTION_FEW_ROWS_CPU:
        return TUNING_ATTENTION_FEW_ROWS;
    default:
        return TUNING_ATTENTION_PORTABLE;
    }
}
