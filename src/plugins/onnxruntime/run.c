#include "run.h"

#include "wait.h"

/* A piece of the host's memory on the device. Operands in the same piece share its buffer. */
typedef struct memory_piece {
    void *memory;
    size_t bytes;
    size_t before; /* bytes of the buffer before the piece */
    cl_mem buffer;
    bool written;
} memory_piece;

typedef struct device_run {
    const attention_call *call;
    const memory_access *access;
    size_t count;
    memory_piece pieces[OPERANDS];
} device_run;

static_assert((int)MOST_BUFFERS >= (int)OPERANDS, "a lane has a buffer for each operand");

enum { LAST_STRIDED = OPERAND_BIAS };

static bool is_output(int role) {
    return role == OPERAND_O || role == OPERAND_SCORES;
}

/* A driver that wants memory to begin at a certain boundary would copy what does not: the buffer begins at the boundary
 * before the piece, and the device never touches the bytes between. */
static size_t bytes_before(const device_run *run, const void *memory, size_t element) {
    const size_t bytes = (uintptr_t)memory % run->access->alignment;
    return bytes % element == 0 ? bytes : 0;
}

static oclattn_status make_in_place(device_run *run, memory_piece *piece, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    const cl_mem_flags flags = (piece->written ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY) | CL_MEM_USE_HOST_PTR;
    piece->buffer = clCreateBuffer(run->access->cl, flags, piece->before + piece->bytes,
                                   (char *)piece->memory - piece->before, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : refuse_cl(error, code, "clCreateBuffer for a tensor");
}

static oclattn_status make_copy(device_run *run, memory_piece *piece, oclattn_error *error) {
    work_lane *lane = run->call->lane;
    RETURN_IF_ERROR(
        lane_copy(lane, run->access->cl, (size_t)(piece - run->pieces), piece->bytes, &piece->buffer, error));
    if (piece->written) {
        return OCLATTN_OK;
    }
    const cl_int code =
        clEnqueueWriteBuffer(lane->queue, piece->buffer, CL_FALSE, 0, piece->bytes, piece->memory, 0, NULL, NULL);
    return code == CL_SUCCESS ? OCLATTN_OK : refuse_cl(error, code, "clEnqueueWriteBuffer");
}

static oclattn_status find_piece(device_run *run, int role, size_t element, memory_piece **found,
                                 oclattn_error *error) {
    const operand_place *operand = &run->call->operands[role];
    for (size_t i = 0; i < run->count; ++i) {
        if (run->pieces[i].memory == operand->memory) {
            *found = &run->pieces[i];
            return OCLATTN_OK;
        }
    }
    memory_piece *added = &run->pieces[run->count++];
    *added = (memory_piece){.memory = operand->memory, .bytes = operand->bytes, .written = is_output(role)};
    *found = added;
    added->before = run->access->shared ? bytes_before(run, added->memory, element) : 0;
    return run->access->shared ? make_in_place(run, added, error) : make_copy(run, added, error);
}

static oclattn_status bind(device_run *run, int role, size_t element, oclattn_tensor *tensor, oclattn_error *error) {
    const operand_place *operand = &run->call->operands[role];
    memory_piece *piece = NULL;
    if (operand->memory == NULL || operand->bytes == 0) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(find_piece(run, role, element, &piece, error));
    *tensor = (oclattn_tensor){.buffer = piece->buffer,
                               .offset = operand->offset + (int64_t)(piece->before / element),
                               .strides = role <= LAST_STRIDED ? operand->strides : NULL};
    return OCLATTN_OK;
}

static oclattn_status bind_all(device_run *run, oclattn_attention_args *args, oclattn_error *error) {
    const oclattn_attention_desc *desc = &run->call->problem.desc;
    RETURN_IF_ERROR(bind(run, OPERAND_Q, oclattn_type_bytes(desc->q_type), &args->q, error));
    RETURN_IF_ERROR(bind(run, OPERAND_K, oclattn_type_bytes(desc->k_type), &args->k, error));
    RETURN_IF_ERROR(bind(run, OPERAND_V, oclattn_type_bytes(desc->v_type), &args->v, error));
    RETURN_IF_ERROR(bind(run, OPERAND_O, oclattn_type_bytes(desc->o_type), &args->o, error));
    RETURN_IF_ERROR(bind(run, OPERAND_SCORES, sizeof(float), &args->scores, error));
    RETURN_IF_ERROR(bind(run, OPERAND_MASK, 1, &args->score.mask, error));
    RETURN_IF_ERROR(bind(run, OPERAND_BIAS, oclattn_type_bytes(desc->score.bias_type), &args->score.bias, error));
    RETURN_IF_ERROR(bind(run, OPERAND_SINKS, sizeof(float), &args->score.sinks, error));
    RETURN_IF_ERROR(bind(run, OPERAND_KV_LENS, sizeof(int32_t), &args->score.kv_lens, error));
    return bind(run, OPERAND_OFFSETS, sizeof(int32_t), &args->score.offsets, error);
}

static oclattn_status enqueue(device_run *run, const oclattn_plan *plan, oclattn_error *error) {
    oclattn_attention_args args;
    work_lane *lane = run->call->lane;
    oclattn_attention_args_init(&args);
    RETURN_IF_ERROR(bind_all(run, &args, error));
    RETURN_IF_ERROR(lane_workspace(lane, run->access->cl, oclattn_plan_workspace_bytes(plan), error));
    args.q_len = run->call->problem.desc.q_len;
    args.kv_len = run->call->problem.desc.kv_len;
    args.workspace = oclattn_plan_workspace_bytes(plan) > 0 ? lane->workspace : NULL;
    return oclattn_attention_enqueue(plan, lane->queue, &args, 0, NULL, NULL, error);
}

/* A map brings shared memory up to date, a read fills memory of its own. Both wait. */
static cl_int bring_back(const device_run *run, const memory_piece *piece) {
    cl_command_queue queue = run->call->lane->queue;
    if (!run->access->shared) {
        return clEnqueueReadBuffer(queue, piece->buffer, CL_TRUE, 0, piece->bytes, piece->memory, 0, NULL, NULL);
    }
    cl_int code = CL_SUCCESS;
    void *mapped = clEnqueueMapBuffer(queue, piece->buffer, CL_TRUE, CL_MAP_READ, piece->before, piece->bytes, 0, NULL,
                                      NULL, &code);
    return code == CL_SUCCESS ? clEnqueueUnmapMemObject(queue, piece->buffer, mapped, 0, NULL, NULL) : code;
}

/* Below so many products, waking threads costs more than it saves. */
#define LONG_WORK ((int64_t)1 << 27)

static bool is_long(const oclattn_attention_desc *desc) {
    return desc->batch * desc->q_heads * desc->q_len * desc->kv_len * (desc->head_dim + desc->v_dim) >= LONG_WORK;
}

static oclattn_status finish(const device_run *run, oclattn_error *error) {
    if (run->access->host_threads > 0 && is_long(&run->call->problem.desc)) {
        wait_with_host(run->call, run->access->host_threads);
    }
    for (size_t i = 0; i < run->count; ++i) {
        const cl_int code = run->pieces[i].written ? bring_back(run, &run->pieces[i]) : CL_SUCCESS;
        if (code != CL_SUCCESS) {
            return refuse_cl(error, code, "reading a result back");
        }
    }
    const cl_int code = clFinish(run->call->lane->queue);
    return code == CL_SUCCESS ? OCLATTN_OK : refuse_cl(error, code, "clFinish");
}

/* Buffers over the host's memory end with the call, and nothing may use them after it. */
static void release(device_run *run) {
    for (size_t i = 0; run->access->shared && i < run->count; ++i) {
        if (run->pieces[i].buffer != NULL) {
            clReleaseMemObject(run->pieces[i].buffer);
        }
    }
}

oclattn_status run_attention(const attention_call *call, const oclattn_plan *plan, const memory_access *access,
                             oclattn_error *error) {
    device_run run = {.call = call, .access = access};
    oclattn_status status = enqueue(&run, plan, error);
    if (status == OCLATTN_OK) {
        status = finish(&run, error);
    }
    if (status != OCLATTN_OK) {
        clFinish(call->lane->queue);
    }
    release(&run);
    return status;
}
