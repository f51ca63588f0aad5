/* The operations: each makes plans and puts them on a queue. Entry points of the public API check struct sizes and
 * handles, then call these; mha calls them to build itself. */
#ifndef OCLATTN_OPS_OPS_H
#define OCLATTN_OPS_OPS_H

#include "../plan/launch.h"
#include "../plan/tensor.h"

/* The resolve functions check a descriptor and lay out its plan, but compile nothing. The launch functions add commands
 * to a launch list. Their workspace begins at workspace_offset bytes (a multiple of 256) of the one in the arguments,
 * which the caller has checked to be large enough. */

oclattn_status attention_resolve(oclattn_context *context, const oclattn_attention_desc *desc, oclattn_plan **plan,
                                 oclattn_error *error);
oclattn_status attention_launch(const oclattn_plan *plan, launch_list *list, const oclattn_attention_args *args,
                                size_t workspace_offset, oclattn_error *error);
/* Its tensors, in the order of enum attention_tensor. */
const tensor_spec *attention_specs(const oclattn_plan *plan);

oclattn_status merge_states_resolve(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                    oclattn_plan **plan, oclattn_error *error);
oclattn_status merge_states_launch(const oclattn_plan *plan, launch_list *list, const oclattn_merge_states_args *args,
                                   oclattn_error *error);

/* kind: PLAN_SPLIT or PLAN_MERGE. */
oclattn_status heads_resolve(oclattn_context *context, plan_kind kind, const oclattn_heads_desc *desc,
                             oclattn_plan **plan, oclattn_error *error);
oclattn_status heads_launch(const oclattn_plan *plan, launch_list *list, const oclattn_heads_args *args,
                            oclattn_error *error);

oclattn_status projection_resolve(oclattn_context *context, const oclattn_projection_desc *desc, oclattn_plan **plan,
                                  oclattn_error *error);
/* CLBlast takes its temporary buffer as a cl_mem without an offset, so that part of the workspace must come first: at
 * 0, projection_temporary_bytes long. The rest, projection_scratch_bytes, begins at scratch_offset. */
size_t projection_temporary_bytes(const oclattn_plan *plan);
size_t projection_scratch_bytes(const oclattn_plan *plan);
oclattn_status projection_launch(const oclattn_plan *plan, launch_list *list, const oclattn_projection_args *args,
                                 size_t scratch_offset, oclattn_error *error);
oclattn_status projection_weights_make(const oclattn_plan *plan, cl_command_queue queue, const oclattn_tensor *w,
                                       const oclattn_tensor *b, oclattn_weights **weights, oclattn_error *error);

oclattn_status mha_resolve(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_plan **plan,
                           oclattn_error *error);
oclattn_status mha_launch(const oclattn_plan *plan, launch_list *list, const oclattn_mha_args *args,
                          oclattn_error *error);
oclattn_status mha_weights_make(const oclattn_plan *plan, cl_command_queue queue, const oclattn_mha_weights_args *args,
                                oclattn_weights **weights, oclattn_error *error);

/* The tensors of F(H), and the attention inside it, whose score inputs are those of F(H). */
typedef struct mha_specs {
    tensor_spec x, kv, y;   /* kv is unused without OCLATTN_MHA_CROSS */
    tensor_spec w[4], b[4]; /* Q, K, V, head */
    const oclattn_plan *attention;
} mha_specs;

void mha_read_specs(const oclattn_plan *plan, mha_specs *specs);

#endif
