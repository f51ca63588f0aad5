#include "attention_variants.h"

#include <stdio.h>

/* Columns that one work-item of attention_combine takes: VECTOR of storage.clh. */
enum { COMBINE_COLUMNS = 16 };

static int64_t parts(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}

/* Few programs serve all widths: their private arrays hold 64, 128 or 256 columns. */
static int held_width(const oclattn_attention_desc *desc) {
    const int64_t width = desc->head_dim > desc->v_dim ? desc->head_dim : desc->v_dim;
    return width <= 64 ? 64 : width <= 128 ? 128 : 256;
}

static void tiled_options(const tuning *tuned, const device_caps *caps, const oclattn_attention_desc *desc,
                          char options[ATTENTION_OPTIONS_SIZE]) {
    snprintf(options, ATTENTION_OPTIONS_SIZE,
             "-DK_TYPE=%d -DV_TYPE=%d -DWIDTH=%d -DLANES=%d -DGROUP_VECTORS=%d -DGROUPS=%d -DKEY_BLOCK=%d "
             "-DKEY_STEP=%d -DOUT_ROWS=%d -DOUT_VECTORS=%d",
             (int)desc->k_type, (int)desc->v_type, held_width(desc), tuning_lanes(caps), tuned->group_vectors,
             tuned->groups, tuned->tile_keys, tuned->key_step, tuned->out_rows, tuned->out_vectors);
}

void attention_build_options(variant_id id, const tuning *tuned, const device_caps *caps,
                             const oclattn_attention_desc *desc, char options[ATTENTION_OPTIONS_SIZE]) {
    if (id == VARIANT_ATTENTION_TILED_CPU) {
        tiled_options(tuned, caps, desc, options);
        return;
    }
    snprintf(options, ATTENTION_OPTIONS_SIZE, "-DK_TYPE=%d -DV_TYPE=%d -DKEY_BLOCK=%d -DV_PART=%d", (int)desc->k_type,
             (int)desc->v_type, tuned->key_block, tuned->v_part);
}

static int64_t tiled_items(const tuning *tuned, const device_caps *caps, const attention_problem *problem) {
    const int64_t vectors = parts(problem->q_len, tuning_lanes(caps));
    const int64_t tiles = parts(vectors, tuned->groups * tuned->group_vectors);
    return problem->desc.batch * problem->desc.q_heads * tiles;
}

int64_t attention_items(variant_id id, const tuning *tuned, const device_caps *caps, const attention_problem *problem,
                        int64_t chunk_count) {
    if (id == VARIANT_ATTENTION_TILED_CPU) {
        return tiled_items(tuned, caps, problem);
    }
    return attention_rows(problem) * parts(problem->desc.v_dim, tuned->v_part) * chunk_count;
}

int64_t attention_combine_items(const attention_problem *problem) {
    return attention_rows(problem) * parts(problem->desc.v_dim, COMBINE_COLUMNS);
}

void attention_describe_tiles(variant_id id, const tuning *tuned, const device_caps *caps, const char *indent,
                              text *lines) {
    text_format(lines, "%s  tiles (%s): ", indent, tuned->origin);
    if (id == VARIANT_ATTENTION_TILED_CPU) {
        text_format(lines, "%d query rows a work-item in vectors of %d, %d keys a block\n",
                    tuned->groups * tuned->group_vectors * tuning_lanes(caps), tuning_lanes(caps), tuned->tile_keys);
        return;
    }
    text_format(lines, "1 query row and %d columns of v a work-item, %d keys a block, work-groups of %d\n",
                tuned->v_part, tuned->key_block, tuned->local_size);
}
