/* oclattn: multi-head attention on any OpenCL device.
 *
 *     F(H) = Merge(head_1, ..., head_tau) W^head
 *     head_j = softmax(scale * Q_j K_j^T + ...) V_j,   Q = H W^Q, K = H W^K, V = H W^V
 *
 * How a computation runs:
 *
 *     descriptor -> check -> plan (compiles) -> workspace_bytes -> enqueue(queue, arguments, wait list, event)
 *
 * or, for those who just want the result, one call with host pointers (oclattn_attention_host, oclattn_mha_host).
 *
 * Rules that hold everywhere
 * - Strides and offsets are counted in ELEMENTS of the tensor's type; sizes in bytes say so in their name.
 * - Every descriptor and argument struct is filled by its init function first: that sets struct_size and defaults.
 * - Functions return a status. The optional `error` (may be NULL) is the caller's and receives the status, the OpenCL
 *   code where there is one, and a sentence that names the thing and what to do. It is left alone on success.
 * - The library never prints, aborts or exits, and keeps no state outside its handles but the number of the process that
 *   first used it, and which parameters it has given CLBlast for a device: CLBlast keeps those for the whole process, also
 *   for an application's own calls of its matrix product in f32.
 * - A context and a plan may be used from many threads at once; each thread brings its own queue and workspace.
 * - Handles made by a *_create function are released by the *_destroy function of the same name, which takes NULL.
 *   A plan and prepared weights keep what they need of their context alive, so the order of destruction is free.
 * - After fork(), a child of a process that has used the library cannot use it, nor handles of its parent: OpenCL drivers
 *   do not survive fork. Calls there return OCLATTN_OPENCL_ERROR.
 */
#ifndef OCLATTN_OCLATTN_H
#define OCLATTN_OCLATTN_H

#include <stddef.h>
#include <stdint.h>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(OCLATTN_BUILDING_LIBRARY) && defined(__GNUC__)
#define OCLATTN_API __attribute__((visibility("default")))
#else
#define OCLATTN_API
#endif

#define OCLATTN_VERSION_MAJOR 0
#define OCLATTN_VERSION_MINOR 1
#define OCLATTN_VERSION_PATCH 0

/* The version of the library that is loaded, "major.minor.patch". The string is static. */
OCLATTN_API const char *oclattn_version(void);

/* ---- status and errors ------------------------------------------------------------------------------------------ */

typedef enum oclattn_status {
    OCLATTN_OK = 0,
    OCLATTN_INVALID_ARGUMENT = 1, /* the call contradicts itself or the documentation */
    OCLATTN_UNSUPPORTED = 2,      /* a valid wish that this library or this device cannot fulfil */
    OCLATTN_NO_DEVICE = 3,        /* no OpenCL device, or none that fits the request */
    OCLATTN_OUT_OF_MEMORY = 4,    /* host or device memory, or a device limit on the size of an allocation */
    OCLATTN_BUILD_FAILED = 5,     /* the device's compiler refused a kernel; the message carries its log */
    OCLATTN_OPENCL_ERROR = 6      /* any other failure of the driver; see cl_code */
} oclattn_status;

#define OCLATTN_ERROR_MESSAGE_SIZE 2048

typedef struct oclattn_error {
    oclattn_status status;
    int32_t cl_code; /* the OpenCL error code, 0 where none was involved */
    char message[OCLATTN_ERROR_MESSAGE_SIZE];
} oclattn_error;

/* A short static name of a status, such as "invalid argument". Never NULL. */
OCLATTN_API const char *oclattn_status_string(oclattn_status status);

/* ---- log -------------------------------------------------------------------------------------------------------- */

typedef enum oclattn_log_level {
    OCLATTN_LOG_NONE = 0,
    OCLATTN_LOG_WARNING = 1, /* something was skipped or failed softly */
    OCLATTN_LOG_INFO = 2,    /* choices: device, variant, cache */
    OCLATTN_LOG_DEBUG = 3    /* everything else */
} oclattn_log_level;

/* Called with one line without a newline. It may be called from any thread that uses the library, also from several at
 * once, and must not call back into the library. The text is valid during the call only. */
typedef void (*oclattn_log_fn)(oclattn_log_level level, const char *text, void *user);

/* ---- devices and contexts --------------------------------------------------------------------------------------- */

typedef struct oclattn_context oclattn_context;

typedef struct oclattn_context_options {
    size_t struct_size;
    /* "P:D" (indexes of platform and device), "gpu", "cpu", "accelerator", or a part of a device's or its platform's
     * name, case ignored. NULL: the environment variable OCLATTN_DEVICE, and without it the best GPU, then accelerator,
     * then CPU. Ignored by oclattn_context_create_from_cl. */
    const char *device;
    /* Folder for compiled kernels, for the list of variants that failed a self-test (`quarantine`), and for what was
     * measured on this machine (`tuning`). NULL: OCLATTN_CACHE_DIR, else $XDG_CACHE_HOME/oclattn, else
     * $HOME/.cache/oclattn. "", here or in OCLATTN_CACHE_DIR: no cache on disk. A folder that cannot be used costs one
     * log line, never an error. Kernels are written when they are compiled, on PoCL when the context goes: it takes as
     * long to hand out a binary as to compile. */
    const char *cache_dir;
    oclattn_log_level log_level; /* messages above it are not produced; NONE by default */
    oclattn_log_fn log;          /* NULL: no log */
    void *log_user;              /* passed to log */
} oclattn_context_options;

OCLATTN_API void oclattn_context_options_init(oclattn_context_options *options);

/* Chooses a device and makes a cl_context on it. options may be NULL. OCLATTN_NO_DEVICE says what to install, or which
 * devices there are when the requested one is not among them. */
OCLATTN_API oclattn_status oclattn_context_create(const oclattn_context_options *options, oclattn_context **context,
                                                  oclattn_error *error);

/* The same on the caller's own cl_context and one of its devices. Both are retained until the context and everything
 * made from it are destroyed. */
OCLATTN_API oclattn_status oclattn_context_create_from_cl(const oclattn_context_options *options,
                                                          cl_context cl_ctx, cl_device_id device,
                                                          oclattn_context **context, oclattn_error *error);

OCLATTN_API void oclattn_context_destroy(oclattn_context *context);

/* The OpenCL objects of a context, for making buffers and queues. Owned by the context. */
OCLATTN_API cl_context oclattn_context_cl(const oclattn_context *context);
OCLATTN_API cl_device_id oclattn_context_device(const oclattn_context *context);

typedef struct oclattn_device_info {
    size_t struct_size;
    int32_t platform_index, device_index; /* as in "P:D"; -1 for a device from the caller's own cl_context */
    char name[128], vendor[128], platform[128], driver[128];
    cl_device_type type;
    uint32_t compute_units;
    uint64_t global_memory_bytes, max_allocation_bytes, local_memory_bytes;
    uint64_t max_work_group_size;
    int32_t host_unified_memory; /* 1: buffers share the host's memory */
    int32_t has_fp16, has_fp64, has_subgroups;
    int32_t alias_of; /* -1, or the index in the list of the same device, reached through a driver listed twice */
} oclattn_device_info;

OCLATTN_API void oclattn_device_info_init(oclattn_device_info *info);
OCLATTN_API oclattn_status oclattn_context_device_info(const oclattn_context *context, oclattn_device_info *info,
                                                       oclattn_error *error);

/* Lists every device of every platform. `infos` is an array of `capacity` structs, each initialised; NULL with capacity
 * 0 asks for the count only. *count receives how many devices there are, which may exceed capacity. No device at all is
 * OCLATTN_OK with a count of 0. */
OCLATTN_API oclattn_status oclattn_devices_list(oclattn_device_info *infos, size_t capacity, size_t *count,
                                                oclattn_error *error);

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

/* Storage types, on every device, also one without cl_khr_fp16. Arithmetic is float32 always. */
typedef enum oclattn_type {
    OCLATTN_F32 = 1,
    OCLATTN_F16 = 2, /* IEEE binary16 */
    OCLATTN_BF16 = 3 /* the upper half of a float32 */
} oclattn_type;

/* Bytes of one element; 0 for an unknown type. */
OCLATTN_API size_t oclattn_type_bytes(oclattn_type type);

/* A stride that the library computes: rows packed as in the tensor's default order, which its descriptor names. */
#define OCLATTN_STRIDE_AUTO INT64_MIN

/* A tensor in device memory. Its last dimension is contiguous; the strides of the others are part of the descriptor,
 * and `strides`, when not NULL, replaces them for this call (same number of values as there; copied by the call). Input
 * strides may be 0. The buffer must hold every element that shape and strides reach: enqueue checks it. */
typedef struct oclattn_tensor {
    cl_mem buffer;  /* NULL only where the tensor is empty or not used */
    int64_t offset; /* elements before the first one */
    const int64_t *strides;
} oclattn_tensor;

/* ---- plans ------------------------------------------------------------------------------------------------------ */

/* A compiled, immutable computation. Its tiles are those of the library's table, and over it those of the tuning file when
 * the plan is made: the one that the environment variable OCLATTN_TUNING names ("off": none), else `tuning` in the cache
 * folder. Prepared weights fit plans with the same tiles only. */
typedef struct oclattn_plan oclattn_plan;

OCLATTN_API void oclattn_plan_destroy(oclattn_plan *plan);

/* Bytes of device memory that each enqueue needs as workspace; 0: none, pass NULL. Contents need not be kept between
 * calls, and calls that overlap in time need one each. */
OCLATTN_API size_t oclattn_plan_workspace_bytes(const oclattn_plan *plan);

/* Name of the variant that the plan runs, such as "attention_portable". The string is static. */
OCLATTN_API const char *oclattn_plan_variant(const oclattn_plan *plan);

/* Writes a description for people: the shape at each stage, the variant of each, why faster ones were refused, tiles,
 * workspace, launches. Works as snprintf does: at most `size` bytes with the final 0, returns the length of the whole
 * text. text may be NULL when size is 0. */
OCLATTN_API size_t oclattn_plan_describe(const oclattn_plan *plan, char *text, size_t size);

/* ---- what happens between scores and softmax -------------------------------------------------------------------- */

/* For query row i and key j of query head h in batch entry b, in this order:
 *   1. s = scale * (q_i . k_j)
 *   2. softcap c > 0: s = c tanh(s / c)
 *   3. s += bias_scale_h * bias_ij;  s += -slope_h * |i + offset_b - j|
 *   4. key j is HIDDEN if: the mask is 0 there; its bias is exactly -inf; j >= kv_len_b; j lies beyond a mask or bias
 *      that is shorter than kv_len; causal and j > i + offset_b; outside the window, j < i + offset_b - window_left or
 *      j > i + offset_b + window_right; or s is -inf from whatever cause
 *   5. softmax over the visible keys; a sink adds exp(sink_h - max) to the denominator only
 * A hidden key contributes nothing, whatever K and V hold there. A visible NaN or a score of +inf makes NaN of the rows
 * that see it. A row that sees no key is 0, with LSE -inf (or the sink). */

/* Flags of oclattn_score_options. */
#define OCLATTN_DEFAULT_SCALE (1u << 0)   /* scale = 1 / sqrt(head_dim); set by init. Clear it to use `scale`. */
#define OCLATTN_CAUSAL (1u << 1)          /* hide j > i + offset_b */
#define OCLATTN_MASK (1u << 2)            /* uint8 mask [batch, heads, q_len, mask_kv_len]: 0 = hidden */
#define OCLATTN_BIAS (1u << 3)            /* additive bias [batch, heads, q_len, bias_kv_len] of bias_type */
#define OCLATTN_BIAS_SCALE (1u << 4)      /* f32 [heads]: factor of the bias, per query head */
#define OCLATTN_ALIBI (1u << 5)           /* f32 [heads]: slopes by position */
#define OCLATTN_SINKS (1u << 6)           /* f32 [heads]: one extra logit per head, -inf = none */
#define OCLATTN_Q_LENS (1u << 7)          /* int32 [batch]: rows from q_lens[b] on are 0 */
#define OCLATTN_KV_LENS (1u << 8)         /* int32 [batch]: keys from kv_lens[b] on are hidden */
#define OCLATTN_Q_STARTS (1u << 9)        /* int32 [batch + 1]: packed query rows, see q_rows */
#define OCLATTN_KV_STARTS (1u << 10)      /* int32 [batch + 1]: packed key rows, see kv_rows */
#define OCLATTN_RUNTIME_LENGTHS (1u << 11) /* q_len and kv_len of the descriptor are maxima; see the arguments */

/* Where row i stands among the keys: offset_b in the rules above. */
typedef enum oclattn_alignment {
    OCLATTN_ALIGN_UNSET = 0,        /* fine unless causal, a window or ALiBi asks: then q_len = kv_len, both fixed, is needed */
    OCLATTN_ALIGN_TOP_LEFT = 1,     /* 0 */
    OCLATTN_ALIGN_BOTTOM_RIGHT = 2, /* kv_len_b - q_len_b */
    OCLATTN_ALIGN_OFFSET = 3        /* the caller's int32 per batch entry, of any sign: a past of 12 keys is 12 */
} oclattn_alignment;

typedef struct oclattn_score_options {
    uint32_t flags;
    oclattn_alignment align;
    float scale;                       /* used when OCLATTN_DEFAULT_SCALE is clear: any finite number */
    float softcap;                     /* 0: none */
    int64_t window_left, window_right; /* -1: no bound */
    oclattn_type bias_type;
    uint32_t reserved_type; /* 0 */
    /* b, h, i, j. AUTO: contiguous [batch, heads, q_len, *_kv_len]. 0 repeats, which covers numpy's broadcasting. */
    int64_t mask_strides[4], bias_strides[4];
    int64_t mask_kv_len, bias_kv_len; /* keys beyond are hidden; -1: kv_len, also at run time */
    /* With Q_STARTS, entry b owns rows starts[b] to starts[b + 1] - 1 of a q, o and LSE that have q_rows rows in all,
     * and the strides of b are not used; the lengths that follow are clamped to [0, q_len]. Rows that belong to no entry
     * are not written. The same for K and V with KV_STARTS and kv_rows. 0 without the flag. */
    int64_t q_rows, kv_rows;
    int64_t reserved[6]; /* 0 */
} oclattn_score_options;

/* Their data. The strides of one-dimensional tensors are 1; theirs must be NULL. Unused ones stay zero. */
typedef struct oclattn_score_inputs {
    oclattn_tensor mask, bias;       /* 4 strides */
    oclattn_tensor bias_scale, alibi_slopes, sinks;
    oclattn_tensor q_lens, kv_lens;  /* clamped to [0, length] on the device */
    oclattn_tensor q_starts, kv_starts;
    oclattn_tensor offsets;          /* int32 [batch], for OCLATTN_ALIGN_OFFSET */
    oclattn_tensor reserved[4];
} oclattn_score_inputs;

/* The standard ALiBi slopes of `heads` heads, any number: geometric for a power of two, interleaved from the next power
 * otherwise. Source: Press, Smith, Lewis, "Train Short, Test Long", 2022, and its published reference code. */
OCLATTN_API void oclattn_alibi_slopes(int64_t heads, float *slopes);

/* ---- attention -------------------------------------------------------------------------------------------------- */

/* What the optional second output holds, float32 [batch, q_heads, q_len, kv_len]. It takes q_len x kv_len memory, the
 * caller's, and nothing else in the library does. Of packed sequences, rows and keys that do not exist are written as
 * hidden ones, or as 0 by SCALED and CAPPED. */
typedef enum oclattn_scores_kind {
    OCLATTN_SCORES_NONE = 0,
    OCLATTN_SCORES_SCALED = 1,    /* after step 1: every key, hidden or not */
    OCLATTN_SCORES_CAPPED = 2,    /* after step 2: every key, hidden or not */
    OCLATTN_SCORES_BIASED = 3,    /* after step 4: -inf where hidden */
    OCLATTN_PROBABILITIES = 4     /* after step 5: 0 where hidden */
} oclattn_scores_kind;

/* q [batch, q_heads, q_len, head_dim], k [batch, kv_heads, kv_len, head_dim], v [batch, kv_heads, kv_len, v_dim],
 * o [batch, q_heads, q_len, v_dim]. q_heads is a multiple of kv_heads, and query head h reads KV head
 * h / (q_heads / kv_heads). Any size may be 0 but the head counts, head_dim and v_dim, which are 1 to 1024. */
typedef struct oclattn_attention_desc {
    size_t struct_size;
    oclattn_type q_type, k_type, v_type, o_type; /* F32 by default */
    int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim;
    int64_t q_strides[3], k_strides[3], v_strides[3], o_strides[3]; /* b, h, s. AUTO: contiguous [b, h, s, d] */
    int32_t want_lse;                /* 1: write LSE, the natural logarithm of the softmax's denominator, f32 */
    oclattn_scores_kind scores_kind; /* what to write to `scores` */
    int64_t lse_strides[3];          /* b, h, s. AUTO: contiguous [batch, q_heads, q_len] ([q_heads, q_rows] if packed) */
    int64_t scores_strides[3];       /* b, h, i. AUTO: contiguous [batch, q_heads, q_len, kv_len] */
    /* 0: the plan decides. Otherwise keys are taken in chunks of this many, whose partial results are merged in order. */
    int64_t kv_chunk;
    const char *variant; /* NULL: the best that fits. A name: that one or a refusal. Copied while planning. */
    oclattn_score_options score;
} oclattn_attention_desc;

typedef struct oclattn_attention_args {
    size_t struct_size;
    oclattn_tensor q, k, v, o;
    oclattn_tensor lse, scores;  /* where the descriptor asks for them */
    oclattn_score_inputs score;
    int64_t q_len, kv_len;       /* -1: as planned. Less is allowed with OCLATTN_RUNTIME_LENGTHS. */
    cl_mem workspace;            /* at least workspace_bytes, used by no other call at the same time */
} oclattn_attention_args;

OCLATTN_API void oclattn_attention_desc_init(oclattn_attention_desc *desc);
OCLATTN_API void oclattn_attention_args_init(oclattn_attention_args *args);

/* Says whether a plan could be made, by the same code that makes it, without compiling; `error` says why not. */
OCLATTN_API oclattn_status oclattn_attention_check(oclattn_context *context, const oclattn_attention_desc *desc,
                                                   oclattn_error *error);

OCLATTN_API oclattn_status oclattn_attention_plan(oclattn_context *context, const oclattn_attention_desc *desc,
                                                  oclattn_plan **plan, oclattn_error *error);

/* Enqueues the computation; never compiles, allocates device memory or waits. `queue` belongs to the plan's cl_context
 * and device and may be out of order. wait_list and event are as in clEnqueueNDRangeKernel; the event covers all of it,
 * also where there is no work. Outputs overlap nothing (enqueue sees this where memory begins at the same place or has no
 * gaps). Same plan and inputs give the same bits, and the bits of a batch
 * entry do not depend on the others. On an error, parts may be enqueued already; outputs are then undefined. */
OCLATTN_API oclattn_status oclattn_attention_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                                     const oclattn_attention_args *args, cl_uint wait_count,
                                                     const cl_event *wait_list, cl_event *event,
                                                     oclattn_error *error);

/* The same with host memory: a pointer to the first element, NULL where empty or not used. */
typedef struct oclattn_host_score_inputs {
    const void *mask, *bias;
    const float *bias_scale, *alibi_slopes, *sinks;
    const int32_t *q_lens, *kv_lens, *q_starts, *kv_starts, *offsets;
    const void *reserved[4];
} oclattn_host_score_inputs;

typedef struct oclattn_attention_host_args {
    size_t struct_size;
    const void *q, *k, *v;
    void *o;
    float *lse, *scores;
    oclattn_host_score_inputs score;
} oclattn_attention_host_args;

OCLATTN_API void oclattn_attention_host_args_init(oclattn_attention_host_args *args);

/* Plans (compiled kernels are kept in the context), runs and waits, in one call. No copy on devices that share the
 * host's memory, where the driver allows it. Strides are the descriptor's; memory between an output's elements is kept. */
OCLATTN_API oclattn_status oclattn_attention_host(oclattn_context *context, const oclattn_attention_desc *desc,
                                                  const oclattn_attention_host_args *args, oclattn_error *error);

/* ---- merging partial results ------------------------------------------------------------------------------------ */

/* o = (e^lse1 o1 + e^lse2 o2) / (e^lse1 + e^lse2), lse = log(e^lse1 + e^lse2): the result over the union of two sets of
 * keys. (0, -inf) is the identity, and two of them give it again. All f32 and contiguous: o* [rows, v_dim], lse* [rows].
 * Source: Dao et al., FlashAttention, 2022; Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018. */
typedef struct oclattn_merge_states_desc {
    size_t struct_size;
    int64_t rows, v_dim;
    int64_t reserved[4];
} oclattn_merge_states_desc;

typedef struct oclattn_merge_states_args {
    size_t struct_size;
    oclattn_tensor o1, lse1, o2, lse2; /* strides NULL */
    oclattn_tensor o, lse;             /* may be o1 and lse1, or o2 and lse2: then it works in place */
} oclattn_merge_states_args;

OCLATTN_API void oclattn_merge_states_desc_init(oclattn_merge_states_desc *desc);
OCLATTN_API void oclattn_merge_states_args_init(oclattn_merge_states_args *args);
OCLATTN_API oclattn_status oclattn_merge_states_check(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                                      oclattn_error *error);
OCLATTN_API oclattn_status oclattn_merge_states_plan(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                                     oclattn_plan **plan, oclattn_error *error);
OCLATTN_API oclattn_status oclattn_merge_states_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                                        const oclattn_merge_states_args *args, cl_uint wait_count,
                                                        const cl_event *wait_list, cl_event *event,
                                                        oclattn_error *error);

/* ---- split and merge -------------------------------------------------------------------------------------------- */

/* A packed matrix [batch, rows, heads * head_dim] and its heads [batch, heads, rows, padded_dim]. Columns head_dim to
 * padded_dim - 1 of a head are written as 0 by split and ignored by merge. Types are converted (round to nearest even). */
typedef struct oclattn_heads_desc {
    size_t struct_size;
    oclattn_type packed_type, heads_type; /* F32 by default */
    int64_t batch, rows, heads, head_dim;
    int64_t padded_dim;       /* 0: head_dim */
    int64_t packed_strides[2]; /* b, row. AUTO: contiguous */
    int64_t heads_strides[3];  /* b, h, row. AUTO: contiguous */
    int64_t reserved[4];
} oclattn_heads_desc;

typedef struct oclattn_heads_args {
    size_t struct_size;
    oclattn_tensor packed; /* 2 strides */
    oclattn_tensor heads;  /* 3 strides */
} oclattn_heads_args;

OCLATTN_API void oclattn_heads_desc_init(oclattn_heads_desc *desc);
OCLATTN_API void oclattn_heads_args_init(oclattn_heads_args *args);
OCLATTN_API oclattn_status oclattn_split_check(oclattn_context *context, const oclattn_heads_desc *desc,
                                               oclattn_error *error);
OCLATTN_API oclattn_status oclattn_split_plan(oclattn_context *context, const oclattn_heads_desc *desc,
                                              oclattn_plan **plan, oclattn_error *error);
OCLATTN_API oclattn_status oclattn_split_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                                 const oclattn_heads_args *args, cl_uint wait_count,
                                                 const cl_event *wait_list, cl_event *event, oclattn_error *error);
OCLATTN_API oclattn_status oclattn_merge_check(oclattn_context *context, const oclattn_heads_desc *desc,
                                               oclattn_error *error);
OCLATTN_API oclattn_status oclattn_merge_plan(oclattn_context *context, const oclattn_heads_desc *desc,
                                              oclattn_plan **plan, oclattn_error *error);
OCLATTN_API oclattn_status oclattn_merge_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                                 const oclattn_heads_args *args, cl_uint wait_count,
                                                 const cl_event *wait_list, cl_event *event, oclattn_error *error);

/* ---- projections ------------------------------------------------------------------------------------------------ */

/* y = x W + b, f32 accumulation whatever the types. x [batch, rows, in_dim], y [batch, rows, out_dim], W [in_dim,
 * out_dim] contiguous, b [out_dim]. Weights are prepared once, in the form the plan's variant likes, and then belong to
 * the caller as an oclattn_weights, which any plan with the same variant, in_dim, out_dim and bias takes. */
#define OCLATTN_WEIGHTS_OUT_IN (1u << 0) /* W is stored [out_dim, in_dim], as PyTorch does */
#define OCLATTN_PROJECTION_BIAS (1u << 1)

typedef struct oclattn_weights oclattn_weights;

typedef struct oclattn_projection_desc {
    size_t struct_size;
    uint32_t flags;
    oclattn_type x_type, w_type, y_type; /* F32 by default; the bias has w_type */
    int64_t batch, rows, in_dim, out_dim;
    int64_t x_strides[2], y_strides[2]; /* b, row. AUTO: contiguous */
    /* NULL: the best that fits. "projection_portable", "projection_tiled_cpu", or "projection_clblast", which takes the
     * strides of the plan only, not those of a call. */
    const char *variant;
    int64_t reserved[4];
} oclattn_projection_desc;

typedef struct oclattn_projection_args {
    size_t struct_size;
    oclattn_tensor x, y; /* 2 strides */
    const oclattn_weights *weights;
    cl_mem workspace;
} oclattn_projection_args;

OCLATTN_API void oclattn_projection_desc_init(oclattn_projection_desc *desc);
OCLATTN_API void oclattn_projection_args_init(oclattn_projection_args *args);
OCLATTN_API oclattn_status oclattn_projection_check(oclattn_context *context, const oclattn_projection_desc *desc,
                                                    oclattn_error *error);
OCLATTN_API oclattn_status oclattn_projection_plan(oclattn_context *context, const oclattn_projection_desc *desc,
                                                   oclattn_plan **plan, oclattn_error *error);
OCLATTN_API oclattn_status oclattn_projection_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                                      const oclattn_projection_args *args, cl_uint wait_count,
                                                      const cl_event *wait_list, cl_event *event,
                                                      oclattn_error *error);

/* Prepares W (and b, unused without OCLATTN_PROJECTION_BIAS) for a projection plan. Allocates, runs on the queue after
 * what was enqueued there before, and waits. w and b are not needed afterwards; their strides must be NULL. */
OCLATTN_API oclattn_status oclattn_projection_weights(const oclattn_plan *plan, cl_command_queue queue,
                                                      const oclattn_tensor *w, const oclattn_tensor *b,
                                                      oclattn_weights **weights, oclattn_error *error);
OCLATTN_API void oclattn_weights_destroy(oclattn_weights *weights);

/* ---- F(H) ------------------------------------------------------------------------------------------------------- */

/* H [batch, q_len, d_model] -> F(H) [batch, q_len, d_model]. head_dim is d_model / n_heads unless given.
 *   W^Q [d_model, n_heads * head_dim]       W^K [kv_width, n_kv_heads * head_dim]
 *   W^V [kv_width, n_kv_heads * v_dim]      W^head [n_heads * v_dim, d_model]
 * Keys and values come from H, or, with OCLATTN_MHA_CROSS, from another input [batch, kv_len, kv_width]. */
#define OCLATTN_MHA_CROSS (1u << 0)
#define OCLATTN_MHA_WEIGHTS_OUT_IN (1u << 1) /* all four matrices are stored [out, in] */
#define OCLATTN_MHA_B_Q (1u << 2)            /* the projection has a bias */
#define OCLATTN_MHA_B_K (1u << 3)
#define OCLATTN_MHA_B_V (1u << 4)
#define OCLATTN_MHA_B_HEAD (1u << 5)
/* Run Split and Merge as kernels of their own. Without it they are free: attention reads heads where the projection
 * wrote them, and writes its rows where Merge wants them, by strides. Same bits either way. */
#define OCLATTN_MHA_SPLIT_MERGE (1u << 6)

typedef struct oclattn_mha_desc {
    size_t struct_size;
    uint32_t flags;
    oclattn_type x_type, w_type, y_type;      /* inputs, weights and biases, F(H); F32 by default */
    int64_t batch, q_len, kv_len;             /* kv_len is -1 (q_len) unless OCLATTN_MHA_CROSS */
    int64_t d_model, kv_width;                /* kv_width 0: d_model */
    int64_t n_heads, n_kv_heads;              /* n_kv_heads 0: n_heads */
    int64_t head_dim, v_dim;                  /* head_dim 0: d_model / n_heads; v_dim 0: head_dim */
    int64_t x_strides[2], kv_strides[2], y_strides[2]; /* b, row. AUTO: contiguous */
    const char *projection_variant, *attention_variant; /* NULL: the best that fits */
    oclattn_score_options score;              /* STARTS and RUNTIME_LENGTHS are refused here */
} oclattn_mha_desc;

/* w_* and b_* as above, contiguous; b_* only where the flag says so. */
typedef struct oclattn_mha_weights_args {
    size_t struct_size;
    oclattn_tensor w_q, w_k, w_v, w_head;
    oclattn_tensor b_q, b_k, b_v, b_head;
} oclattn_mha_weights_args;

typedef struct oclattn_mha_args {
    size_t struct_size;
    oclattn_tensor x, kv, y; /* 2 strides; kv only with OCLATTN_MHA_CROSS */
    const oclattn_weights *weights;
    oclattn_score_inputs score;
    cl_mem workspace;
} oclattn_mha_args;

OCLATTN_API void oclattn_mha_desc_init(oclattn_mha_desc *desc);
OCLATTN_API void oclattn_mha_weights_args_init(oclattn_mha_weights_args *args);
OCLATTN_API void oclattn_mha_args_init(oclattn_mha_args *args);
OCLATTN_API oclattn_status oclattn_mha_check(oclattn_context *context, const oclattn_mha_desc *desc,
                                             oclattn_error *error);
OCLATTN_API oclattn_status oclattn_mha_plan(oclattn_context *context, const oclattn_mha_desc *desc,
                                            oclattn_plan **plan, oclattn_error *error);
/* As oclattn_projection_weights, for the four projections of an F(H) plan. */
OCLATTN_API oclattn_status oclattn_mha_weights(const oclattn_plan *plan, cl_command_queue queue,
                                               const oclattn_mha_weights_args *args, oclattn_weights **weights,
                                               oclattn_error *error);
OCLATTN_API oclattn_status oclattn_mha_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                               const oclattn_mha_args *args, cl_uint wait_count,
                                               const cl_event *wait_list, cl_event *event, oclattn_error *error);

typedef struct oclattn_mha_host_args {
    size_t struct_size;
    const void *x, *kv;
    void *y;
    const void *w_q, *w_k, *w_v, *w_head;
    const void *b_q, *b_k, *b_v, *b_head;
    oclattn_host_score_inputs score;
} oclattn_mha_host_args;

OCLATTN_API void oclattn_mha_host_args_init(oclattn_mha_host_args *args);

/* Everything in one call, weights prepared anew each time: for trying things out. */
OCLATTN_API oclattn_status oclattn_mha_host(oclattn_context *context, const oclattn_mha_desc *desc,
                                            const oclattn_mha_host_args *args, oclattn_error *error);

#ifdef __cplusplus
}
#endif

#endif
