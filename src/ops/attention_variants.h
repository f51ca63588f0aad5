/* What tells the variants of attention apart: build options, work-items. */
#ifndef OCLATTN_OPS_ATTENTION_VARIANTS_H
#define OCLATTN_OPS_ATTENTION_VARIANTS_H

#include "../plan/variant.h"
#include "attention_problem.h"

void attention_build_options(variant_id id, const tuning *tuned, const device_caps *caps,
                             const oclattn_attention_desc *desc, char options[PART_OPTIONS_SIZE]);

/* Work-items of its main kernel, and of attention_combine. */
int64_t attention_items(variant_id id, const tuning *tuned, const device_caps *caps, const attention_problem *problem,
                        int64_t chunk_count);
int64_t attention_combine_items(const attention_problem *problem);

/* The group of its tiles. */
tuning_group attention_tiles_of(variant_id id, const oclattn_attention_desc *desc);

#endif
