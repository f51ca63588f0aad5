#include "run.h"

/* A piece of the host's memory on the device. Operands in the same piece share its buffer. */
typedef struct memory_piece {
    void *memory;
    size_t bytes;
    cl_mem buffer;
    bool written;
} memory_piece;

typedef struct device_run {
    const attention_call *call;
    cl_context cl;
    bool shares_memory;
    size_t count;
    memory_piece pieces[OPERANDS];
} device_run;

static_assert((int)MOST_BUFFERS >= (int)OPERANDS, "a lane has a buffer for each operand");

static bool is_output(int role) {
    return role == OPERAND_O || role == OPERAND_SCORES;
}

static oclattn_status make_in_place(device_run *run, memory_piece *piece, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    const cl_mem_flags flags = (piece->written ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY) | CL_MEM_USE_HOST_PTR;
    piece->buffer = clCreateBuffer(run->cl, flags, piece->bytes, piece->memory, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : refuse_cl(error, code, "clCreateBuffer for a tensor");
}

static oclattn_status make_copy(device_run *run, memory_piece *piece, oclattn_error *error) {
    work_lane *lane = run->call->lane;
    RETURN_IF_ERROR(lane_copy(lane, run->cl, (size_t)(piece - run->pieces), piece->bytes, &piece->buffer, error));
    if (piece->written) {
        return OCLATTN_OK;
    }
    const cl_int code =
        clEnqueueWriteBuffer(lane->queue, piece->buffer, CL_FALSE, 0, piece->bytes, piece->memory, 0, NULL, NULL);
    return code == CL_SUCCESS ? OCLATTN_OK : refuse_cl(error, code, "clEnqueueWriteBuffer");
}

static oclattn_status find_piece(device_run *run, int role, memory_piece **found, oclattn_error *error) {
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
    return run->shares_memory ? make_in_place(run, added, error) : make_copy(run, added, error);
}

static oclattn_status bind(device_run *run, int role, oclattn_tensor *tensor, bool strided, oclattn_error *error) {
    const operand_place *operand = &run->call->operands[role];
    memory_piece *piece = NULL;
    if (operand->memory == NULL || operand->bytes == 0) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(find_piece(run, role, &piece, error));
    *tensor = (oclattn_tensor){
        .buffer = piece->buffer, .offset = operand->offset, .strides = strided ? operand->strides : NULL};
    return OCLATTN_OK;
}

static oclattn_status bind_all(device_run *run, oclattn_attention_args *args, oclattn_error *error) {
    RETURN_IF_ERROR(bind(run, OPERAND_Q, &args->q, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_K, &args->k, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_V, &args->v, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_O, &args->o, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_SCORES, &args->scores, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_MASK, &args->score.mask, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_BIAS, &args->score.bias, true, error));
    RETURN_IF_ERROR(bind(run, OPERAND_SINKS, &args->score.sinks, false, error));
    RETURN_IF_ERROR(bind(run, OPERAND_KV_LENS, &args->score.kv_lens, false, error));
    return bind(run, OPERAND_OFFSETS, &args->score.offsets, false, error);
}

static oclattn_status enqueue(device_run *run, const oclattn_plan *plan, oclattn_error *error) {
    oclattn_attention_args args;
    work_lane *lane = run->call->lane;
    oclattn_attention_args_init(&args);
    RETURN_IF_ERROR(bind_all(run, &args, error));
    RETURN_IF_ERROR(lane_workspace(lane, run->cl, oclattn_plan_workspace_bytes(plan), error));
    args.q_len = run->call->problem.desc.q_len;
    args.kv_len = run->call->problem.desc.kv_len;
    args.workspace = oclattn_plan_workspace_bytes(plan) > 0 ? lane->workspace : NULL;
    return oclattn_attention_enqueue(plan, lane->queue, &args, 0, NULL, NULL, error);
}

/* A map brings shared memory up to date, a read fills memory of its own. Both wait. */
static cl_int bring_back(const device_run *run, const memory_piece *piece) {
    cl_command_queue queue = run->call->lane->queue;
    if (!run->shares_memory) {
        return clEnqueueReadBuffer(queue, piece->buffer, CL_TRUE, 0, piece->bytes, piece->memory, 0, NULL, NULL);
    }
    cl_int code = CL_SUCCESS;
    void *mapped =
        clEnqueueMapBuffer(queue, piece->buffer, CL_TRUE, CL_MAP_READ, 0, piece->bytes, 0, NULL, NULL, &code);
    return code == CL_SUCCESS ? clEnqueueUnmapMemObject(queue, piece->buffer, mapped, 0, NULL, NULL) : code;
}

static oclattn_status finish(const device_run *run, oclattn_error *error) {
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
    for (size_t i = 0; run->shares_memory && i < run->count; ++i) {
        if (run->pieces[i].buffer != NULL) {
            clReleaseMemObject(run->pieces[i].buffer);
        }
    }
}

oclattn_status run_attention(const attention_call *call, const oclattn_plan *plan, cl_context cl, bool shares_memory,
                             oclattn_error *error) {
    device_run run = {.call = call, .cl = cl, .shares_memory = shares_memory};
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
