/* What tells the variants of attention apart: build options, work-items. */
#ifndef OCLATTN_OPS_ATTENTION_VARIANTS_H
#define OCLATTN_OPS_ATTENTION_VARIANTS_H

#include "../plan/variant.h"
#include "attention_problem.h"

/* As FEW_ROWS says; false where sequences are packed. */
bool attention_has_few_rows(const oclattn_attention_desc *desc);

/* What the table of variants wants to know of the problem. */
variant_request attention_variant_request(const oclattn_attention_desc *desc);

/* Whether the variant would use sub-groups on such a device, if those of the built kernel fit. */
bool attention_may_use_sub_groups(variant_id id, const tuning *tuned, const device_caps *caps,
                                  const oclattn_attention_desc *desc);
bool attention_sub_groups_fit(const tuning *tuned, const oclattn_attention_desc *desc, size_t sub_group_size);

/* one_tile_each: a launch has a work-group for each tile. */
void attention_build_options(variant_id id, const tuning *tuned, const device_caps *caps,
                             const oclattn_attention_desc *desc, bool sub_groups, bool one_tile_each,
                             char options[PART_OPTIONS_SIZE]);

/* For attention_combine and attention_scores, whose work-items hold wide vectors: the smallest sub-groups on Intel's
 * GPUs, which leave a work-item the most registers. */
void attention_add_narrow_option(const device_caps *caps, char options[PART_OPTIONS_SIZE]);

/* The work-group size that the variant is written for; 0: any. */
size_t attention_group_size(variant_id id, const tuning *tuned, const oclattn_attention_desc *desc);

/* Work-items of its main kernel, and of attention_combine. */
int64_t attention_items(variant_id id, const tuning *tuned, const device_caps *caps, const attention_problem *problem,
                        int64_t chunk_count);
int64_t attention_combine_items(const attention_problem *problem);

/* The group of its tiles. */
tuning_group attention_tiles_of(variant_id id, const oclattn_attention_desc *desc);

#endif
