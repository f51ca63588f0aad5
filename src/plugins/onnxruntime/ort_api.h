/* The part of ONNX Runtime's C interface that the plugin uses, in our own words, so that none of its headers is needed.
 *
 * Its function tables only ever grow at the end. Gaps stand for functions that are not used here; the number after a
 * member is its position, counted in pointers from the start of the table, and static_asserts hold the gaps to it.
 * Members bear the names that ONNX Runtime's documentation gives them. */
#ifndef OCLATTN_ORT_API_H
#define OCLATTN_ORT_API_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the interface that is asked for, and that our own tables declare: ONNX Runtime 1.23. */
#define ORT_VERSION_ASKED 23

/* Opaque objects of the host. */
typedef struct ort_status ort_status; /* NULL: success */
typedef struct ort_graph ort_graph;
typedef struct ort_node ort_node;
typedef struct ort_value ort_value;
typedef struct ort_value_info ort_value_info;
typedef struct ort_type_info ort_type_info;
typedef struct ort_tensor_info ort_tensor_info;
typedef struct ort_attribute ort_attribute;
typedef struct ort_context ort_context;
typedef struct ort_logger ort_logger;
typedef struct ort_pairs ort_pairs;
typedef struct ort_session_options ort_session_options;
typedef struct ort_hardware_device ort_hardware_device;
typedef struct ort_ep_device ort_ep_device;
typedef struct ort_support_info ort_support_info;

enum ort_code { ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9, ORT_EP_FAIL = 11 };
enum ort_severity { ORT_VERBOSE = 0, ORT_INFO = 1, ORT_WARNING = 2 };
enum ort_attribute_type { ORT_ATTRIBUTE_INT = 1, ORT_ATTRIBUTE_FLOAT = 3, ORT_ATTRIBUTE_STRING = 5 };
enum ort_hardware { ORT_HARDWARE_CPU = 0 };

typedef enum ort_element {
    ORT_UNDEFINED = 0,
    ORT_FLOAT = 1,
    ORT_INT32 = 6,
    ORT_INT64 = 7,
    ORT_BOOL = 9,
    ORT_FLOAT16 = 10,
    ORT_BFLOAT16 = 16
} ort_element;

typedef struct ort_fusion_options {
    uint32_t version;
    bool drop_constant_initializers;
} ort_fusion_options;

typedef struct ort_ep_api {
    ort_status *(*CreateEpDevice)(void *factory, const ort_hardware_device *hardware, const ort_pairs *metadata,
                                  const ort_pairs *options, ort_ep_device **device); /* 0 */
    void *gap_1[1];
    ort_status *(*EpGraphSupportInfo_AddNodesToFuse)(ort_support_info *info, const ort_node *const *nodes, size_t count,
                                                     const ort_fusion_options *options); /* 2 */
} ort_ep_api;

typedef struct ort_api {
    ort_status *(*CreateStatus)(int code, const char *message); /* 0 */
    void *gap_1[1];
    const char *(*GetErrorMessage)(const ort_status *status); /* 2 */
    void *gap_3[48];
    ort_status *(*GetTensorMutableData)(ort_value *value, void **data); /* 51 */
    void *gap_52[3];
    ort_status *(*CastTypeInfoToTensorInfo)(const ort_type_info *type, const ort_tensor_info **info); /* 55 */
    void *gap_56[4];
    ort_status *(*GetTensorElementType)(const ort_tensor_info *info, int *element);               /* 60 */
    ort_status *(*GetDimensionsCount)(const ort_tensor_info *info, size_t *count);                /* 61 */
    ort_status *(*GetDimensions)(const ort_tensor_info *info, int64_t *dimensions, size_t count); /* 62 */
    void *gap_63[2];
    ort_status *(*GetTensorTypeAndShape)(const ort_value *value, ort_tensor_info **info); /* 65 */
    void *gap_66[24];
    ort_status *(*KernelContext_GetInput)(const ort_context *context, size_t index, const ort_value **value); /* 90 */
    ort_status *(*KernelContext_GetOutput)(ort_context *context, size_t index, const int64_t *dimensions, size_t count,
                                           ort_value **value); /* 91 */
    void *gap_92[1];
    void (*ReleaseStatus)(ort_status *status); /* 93 */
    void *gap_94[5];
    void (*ReleaseTensorTypeAndShapeInfo)(ort_tensor_info *info); /* 99 */
    void *gap_100[137];
    ort_status *(*HasSessionConfigEntry)(const ort_session_options *options, const char *key, int *has); /* 237 */
    /* With value NULL it tells the size, the final 0 included. */
    ort_status *(*GetSessionConfigEntry)(const ort_session_options *options, const char *key, char *value,
                                         size_t *size); /* 238 */
    void *gap_239[8];
    ort_status *(*Logger_LogMessage)(const ort_logger *logger, int severity, const char *message, const char *file,
                                     int line, const char *function); /* 247 */
    void *gap_248[24];
    ort_status *(*ReadOpAttr)(const ort_attribute *attribute, int type, void *value, size_t bytes,
                              size_t *needed); /* 272 */
    void *gap_273[1];
    /* Calls function(user, i) for each i below `total` on the host's threads; in `batches` of them, 0: one call, one
     * task. */
    ort_status *(*KernelContext_ParallelFor)(const ort_context *context, void (*function)(void *user, size_t i),
                                             size_t total, size_t batches, void *user); /* 274 */
    void *gap_275[14];
    ort_status *(*GetValueInfoName)(const ort_value_info *info, const char **name);              /* 289 */
    ort_status *(*GetValueInfoTypeInfo)(const ort_value_info *info, const ort_type_info **type); /* 290 */
    void *gap_291[7];
    /* Arrays of keys and values, which belong to the pairs. */
    void (*GetKeyValuePairs)(const ort_pairs *pairs, const char *const **keys, const char *const **values,
                             size_t *count); /* 298 */
    void *gap_299[1];
    void (*ReleaseKeyValuePairs)(ort_pairs *pairs); /* 300 */
    void *gap_301[6];
    int (*HardwareDevice_Type)(const ort_hardware_device *device); /* 307 */
    void *gap_308[9];
    const ort_ep_api *(*GetEpApi)(void); /* 317 */
    void *gap_318[26];
    ort_status *(*Graph_GetNumNodes)(const ort_graph *graph, size_t *count);                     /* 344 */
    ort_status *(*Graph_GetNodes)(const ort_graph *graph, const ort_node **nodes, size_t count); /* 345 */
    void *gap_346[3];
    ort_status *(*Node_GetName)(const ort_node *node, const char **name);                               /* 349 */
    ort_status *(*Node_GetOperatorType)(const ort_node *node, const char **type);                       /* 350 */
    ort_status *(*Node_GetDomain)(const ort_node *node, const char **domain);                           /* 351 */
    ort_status *(*Node_GetSinceVersion)(const ort_node *node, int *version);                            /* 352 */
    ort_status *(*Node_GetNumInputs)(const ort_node *node, size_t *count);                              /* 353 */
    ort_status *(*Node_GetInputs)(const ort_node *node, const ort_value_info **inputs, size_t count);   /* 354 */
    ort_status *(*Node_GetNumOutputs)(const ort_node *node, size_t *count);                             /* 355 */
    ort_status *(*Node_GetOutputs)(const ort_node *node, const ort_value_info **outputs, size_t count); /* 356 */
    void *gap_357[2];
    ort_status *(*Node_GetNumAttributes)(const ort_node *node, size_t *count);                               /* 359 */
    ort_status *(*Node_GetAttributes)(const ort_node *node, const ort_attribute **attributes, size_t count); /* 360 */
    void *gap_361[2];
    ort_status *(*OpAttr_GetType)(const ort_attribute *attribute, int *type);         /* 363 */
    ort_status *(*OpAttr_GetName)(const ort_attribute *attribute, const char **name); /* 364 */
    void *gap_365[3];
    /* The provider that has the node already; "" where none has. */
    ort_status *(*Node_GetEpName)(const ort_node *node, const char **name); /* 368 */
    void *gap_369[10];
    ort_status *(*GetSessionOptionsConfigEntries)(const ort_session_options *options, ort_pairs **pairs); /* 379 */
} ort_api;

#define ORT_AT(member, position)                                                                                       \
    static_assert(offsetof(ort_api, member) == (position) * sizeof(void *), #member " is not at " #position)
ORT_AT(GetErrorMessage, 2);
ORT_AT(GetTensorMutableData, 51);
ORT_AT(CastTypeInfoToTensorInfo, 55);
ORT_AT(GetTensorElementType, 60);
ORT_AT(GetTensorTypeAndShape, 65);
ORT_AT(KernelContext_GetInput, 90);
ORT_AT(ReleaseStatus, 93);
ORT_AT(ReleaseTensorTypeAndShapeInfo, 99);
ORT_AT(HasSessionConfigEntry, 237);
ORT_AT(Logger_LogMessage, 247);
ORT_AT(ReadOpAttr, 272);
ORT_AT(KernelContext_ParallelFor, 274);
ORT_AT(GetValueInfoName, 289);
ORT_AT(GetKeyValuePairs, 298);
ORT_AT(ReleaseKeyValuePairs, 300);
ORT_AT(HardwareDevice_Type, 307);
ORT_AT(GetEpApi, 317);
ORT_AT(Graph_GetNumNodes, 344);
ORT_AT(Node_GetName, 349);
ORT_AT(Node_GetSinceVersion, 352);
ORT_AT(Node_GetOutputs, 356);
ORT_AT(Node_GetNumAttributes, 359);
ORT_AT(OpAttr_GetType, 363);
ORT_AT(Node_GetEpName, 368);
ORT_AT(GetSessionOptionsConfigEntries, 379);
#undef ORT_AT

typedef struct ort_api_base {
    const ort_api *(*GetApi)(uint32_t version); /* NULL: older than that */
    const char *(*GetVersionString)(void);
} ort_api_base;

/* ---- tables of ours, which the host calls ----------------------------------------------------------------------- */

/* A table's later members are functions that newer hosts know; NULL says that there is nothing behind them. */
enum { LATER_MEMBERS = 16 };

typedef struct ort_compute_info ort_compute_info;
struct ort_compute_info {
    uint32_t version;
    ort_status *(*CreateState)(ort_compute_info *info, void *compute_context, void **state);
    ort_status *(*Compute)(ort_compute_info *info, void *state, ort_context *context);
    void (*ReleaseState)(ort_compute_info *info, void *state);
    void *later[LATER_MEMBERS];
};

typedef struct ort_ep ort_ep;
struct ort_ep {
    uint32_t version;
    const char *(*GetName)(const ort_ep *ep);
    ort_status *(*GetCapability)(ort_ep *ep, const ort_graph *graph, ort_support_info *info);
    ort_status *(*Compile)(ort_ep *ep, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute_info **infos, ort_node **context_nodes);
    void (*ReleaseNodeComputeInfos)(ort_ep *ep, ort_compute_info **infos, size_t count);
    void *later[LATER_MEMBERS];
};

typedef struct ort_factory ort_factory;
struct ort_factory {
    uint32_t version;
    const char *(*GetName)(const ort_factory *factory);
    const char *(*GetVendor)(const ort_factory *factory);
    ort_status *(*GetSupportedDevices)(ort_factory *factory, const ort_hardware_device *const *hardware, size_t count,
                                       ort_ep_device **devices, size_t most, size_t *found);
    ort_status *(*CreateEp)(ort_factory *factory, const ort_hardware_device *const *hardware,
                            const ort_pairs *const *metadata, size_t count, const ort_session_options *options,
                            const ort_logger *logger, ort_ep **ep);
    void (*ReleaseEp)(ort_factory *factory, ort_ep *ep);
    uint32_t (*GetVendorId)(const ort_factory *factory);
    const char *(*GetVersion)(const ort_factory *factory);
    void *gap[1];
    ort_status *(*CreateAllocator)(ort_factory *factory, const void *memory, const ort_pairs *options,
                                   void **allocator);
    void (*ReleaseAllocator)(ort_factory *factory, void *allocator);
    ort_status *(*CreateDataTransfer)(ort_factory *factory, void **transfer);
    bool (*IsStreamAware)(const ort_factory *factory);
    void *later[LATER_MEMBERS];
};

#endif
