/* The functions of oclattn.h as one table, for plugins that load the library at run time:
 *
 *     void *library = dlopen("liboclattn.so.0", RTLD_NOW | RTLD_LOCAL);
 *     oclattn_get_plugin_table_fn get = (oclattn_get_plugin_table_fn)dlsym(library, "oclattn_get_plugin_table");
 *     const oclattn_plugin_table *oclattn = get(OCLATTN_PLUGIN_MAJOR);
 *
 * The table of a major version only ever grows at its end: what is there keeps its place, type and meaning. A plugin
 * that may meet an older library asks OCLATTN_PLUGIN_HAS before it uses a member that was added later. A member `name`
 * is the function oclattn_name, documented in oclattn.h.
 */
#ifndef OCLATTN_PLUGIN_H
#define OCLATTN_PLUGIN_H

#include "oclattn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OCLATTN_PLUGIN_MAJOR 1u

typedef struct oclattn_plugin_table {
    size_t struct_size; /* bytes of the table of the library that is loaded */
    const char *(*version)(void);
    const char *(*status_string)(oclattn_status status);
    void (*context_options_init)(oclattn_context_options *options);
    oclattn_status (*context_create)(const oclattn_context_options *options, oclattn_context **context,
                                     oclattn_error *error);
    oclattn_status (*context_create_from_cl)(const oclattn_context_options *options, cl_context cl_ctx,
                                             cl_device_id device, oclattn_context **context, oclattn_error *error);
    void (*context_destroy)(oclattn_context *context);
    cl_context (*context_cl)(const oclattn_context *context);
    cl_device_id (*context_device)(const oclattn_context *context);
    void (*device_info_init)(oclattn_device_info *info);
    oclattn_status (*context_device_info)(const oclattn_context *context, oclattn_device_info *info,
                                          oclattn_error *error);
    oclattn_status (*devices_list)(oclattn_device_info *infos, size_t capacity, size_t *count, oclattn_error *error);
    size_t (*type_bytes)(oclattn_type type);
    void (*plan_destroy)(oclattn_plan *plan);
    size_t (*plan_workspace_bytes)(const oclattn_plan *plan);
    const char *(*plan_variant)(const oclattn_plan *plan);
    size_t (*plan_describe)(const oclattn_plan *plan, char *text, size_t size);
    void (*alibi_slopes)(int64_t heads, float *slopes);
    void (*attention_desc_init)(oclattn_attention_desc *desc);
    void (*attention_args_init)(oclattn_attention_args *args);
    oclattn_status (*attention_check)(oclattn_context *context, const oclattn_attention_desc *desc,
                                      oclattn_error *error);
    oclattn_status (*attention_plan)(oclattn_context *context, const oclattn_attention_desc *desc, oclattn_plan **plan,
                                     oclattn_error *error);
    oclattn_status (*attention_enqueue)(const oclattn_plan *plan, cl_command_queue queue,
                                        const oclattn_attention_args *args, cl_uint wait_count,
                                        const cl_event *wait_list, cl_event *event, oclattn_error *error);
    void (*attention_host_args_init)(oclattn_attention_host_args *args);
    oclattn_status (*attention_host)(oclattn_context *context, const oclattn_attention_desc *desc,
                                     const oclattn_attention_host_args *args, oclattn_error *error);
    void (*merge_states_desc_init)(oclattn_merge_states_desc *desc);
    void (*merge_states_args_init)(oclattn_merge_states_args *args);
    oclattn_status (*merge_states_check)(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                         oclattn_error *error);
    oclattn_status (*merge_states_plan)(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                        oclattn_plan **plan, oclattn_error *error);
    oclattn_status (*merge_states_enqueue)(const oclattn_plan *plan, cl_command_queue queue,
                                           const oclattn_merge_states_args *args, cl_uint wait_count,
                                           const cl_event *wait_list, cl_event *event, oclattn_error *error);
    void (*heads_desc_init)(oclattn_heads_desc *desc);
    void (*heads_args_init)(oclattn_heads_args *args);
    oclattn_status (*split_check)(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_error *error);
    oclattn_status (*split_plan)(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_plan **plan,
                                 oclattn_error *error);
    oclattn_status (*split_enqueue)(const oclattn_plan *plan, cl_command_queue queue, const oclattn_heads_args *args,
                                    cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                    oclattn_error *error);
    oclattn_status (*merge_check)(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_error *error);
    oclattn_status (*merge_plan)(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_plan **plan,
                                 oclattn_error *error);
    oclattn_status (*merge_enqueue)(const oclattn_plan *plan, cl_command_queue queue, const oclattn_heads_args *args,
                                    cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                    oclattn_error *error);
    void (*projection_desc_init)(oclattn_projection_desc *desc);
    void (*projection_args_init)(oclattn_projection_args *args);
    oclattn_status (*projection_check)(oclattn_context *context, const oclattn_projection_desc *desc,
                                       oclattn_error *error);
    oclattn_status (*projection_plan)(oclattn_context *context, const oclattn_projection_desc *desc,
                                      oclattn_plan **plan, oclattn_error *error);
    oclattn_status (*projection_enqueue)(const oclattn_plan *plan, cl_command_queue queue,
                                         const oclattn_projection_args *args, cl_uint wait_count,
                                         const cl_event *wait_list, cl_event *event, oclattn_error *error);
    oclattn_status (*projection_weights)(const oclattn_plan *plan, cl_command_queue queue, const oclattn_tensor *w,
                                         const oclattn_tensor *b, oclattn_weights **weights, oclattn_error *error);
    void (*weights_destroy)(oclattn_weights *weights);
    void (*mha_desc_init)(oclattn_mha_desc *desc);
    void (*mha_weights_args_init)(oclattn_mha_weights_args *args);
    void (*mha_args_init)(oclattn_mha_args *args);
    oclattn_status (*mha_check)(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_error *error);
    oclattn_status (*mha_plan)(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_plan **plan,
                               oclattn_error *error);
    oclattn_status (*mha_weights)(const oclattn_plan *plan, cl_command_queue queue,
                                  const oclattn_mha_weights_args *args, oclattn_weights **weights,
                                  oclattn_error *error);
    oclattn_status (*mha_enqueue)(const oclattn_plan *plan, cl_command_queue queue, const oclattn_mha_args *args,
                                  cl_uint wait_count, const cl_event *wait_list, cl_event *event, oclattn_error *error);
    void (*mha_host_args_init)(oclattn_mha_host_args *args);
    oclattn_status (*mha_host)(oclattn_context *context, const oclattn_mha_desc *desc,
                               const oclattn_mha_host_args *args, oclattn_error *error);
} oclattn_plugin_table;

/* Whether the table of the library that is loaded reaches as far as a member. */
#define OCLATTN_PLUGIN_HAS(table, member)                                                                              \
    ((table)->struct_size >= offsetof(oclattn_plugin_table, member) + sizeof((table)->member))

/* The table of a major version; NULL: this library has none of that version. The table is static, and the same for all
 * threads; it is gone when the library is unloaded. */
OCLATTN_API const oclattn_plugin_table *oclattn_get_plugin_table(uint32_t major);

typedef const oclattn_plugin_table *(*oclattn_get_plugin_table_fn)(uint32_t major);

#ifdef __cplusplus
}
#endif

#endif
