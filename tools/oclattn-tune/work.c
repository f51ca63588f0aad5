#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"

/* ---- data ------------------------------------------------------------------------------------------------------- */

typedef struct work_tensor {
    oclattn_type type;
    int64_t count; /* 0: not used */
    bool is_input;
} work_tensor;

static void list_attention(const tune_problem *p, work_tensor tensors[WORK_TENSORS]) {
    tensors[WORK_Q] = (work_tensor){p->type, p->batch * p->heads * p->q_len * p->width, true};
    tensors[WORK_K] = (work_tensor){p->type, p->batch * p->kv_heads * p->kv_len * p->width, true};
    tensors[WORK_V] = tensors[WORK_K];
    tensors[WORK_O] = (work_tensor){p->type, p->batch * p->heads * p->q_len * p->width, false};
}

static void list_projection(const tune_problem *p, work_tensor tensors[WORK_TENSORS]) {
    tensors[WORK_X] = (work_tensor){p->type, p->batch * p->rows * p->in_dim, true};
    tensors[WORK_W] = (work_tensor){OCLATTN_F32, p->in_dim * p->out_dim, true};
    tensors[WORK_B] = (work_tensor){OCLATTN_F32, p->out_dim, true};
    tensors[WORK_Y] = (work_tensor){p->type, p->batch * p->rows * p->out_dim, false};
}

static void list_tensors(const tune_problem *p, work_tensor tensors[WORK_TENSORS]) {
    memset(tensors, 0, WORK_TENSORS * sizeof *tensors);
    if (p->operation == TUNE_ATTENTION) {
        list_attention(p, tensors);
    } else {
        list_projection(p, tensors);
    }
}

/* xorshift64*; Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016. */
static double random_number(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * UINT64_C(0x2545F4914F6CDD1D)) >> 11) * 0x1p-52 - 1.0;
}

static double round_into(void *raw, oclattn_type type, size_t i, double value) {
    if (type == OCLATTN_F32) {
        ((float *)raw)[i] = (float)value;
        return (double)(float)value;
    }
    ((uint16_t *)raw)[i] = reference_to_f16(value);
    return reference_from_f16(((uint16_t *)raw)[i]);
}

static bool make_buffer(const tune_device *device, size_t bytes, const void *data, cl_mem *buffer, failure *f) {
    cl_int code = CL_SUCCESS;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);
    *buffer = clCreateBuffer(oclattn_context_cl(device->context), flags, bytes, (void *)data, &code);
    return *buffer ? true
                   : fail_with(f, EXIT_RUNTIME, "no device memory of %zu bytes (OpenCL error %d)", bytes, (int)code);
}

static bool make_input(tune_work *w, int which, const work_tensor *tensor, bool keep, failure *f) {
    const size_t count = (size_t)tensor->count, bytes = count * oclattn_type_bytes(tensor->type);
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)which;
    void *raw = malloc(bytes);
    w->real[which] = keep ? malloc(count * sizeof **w->real) : NULL;
    if (!raw || (keep && !w->real[which])) {
        free(raw);
        return fail_memory(f, "the data");
    }
    for (size_t i = 0; i < count; i++) {
        const double value = round_into(raw, tensor->type, i, random_number(&state));
        if (keep) {
            w->real[which][i] = value;
        }
    }
    const bool made = make_buffer(w->device, bytes, raw, &w->buffers[which], f);
    free(raw);
    return made;
}

/* [q_len, kv_len] for all heads. The first row sees no key. */
static bool make_mask(tune_work *w, failure *f) {
    const size_t count = (size_t)(w->problem.q_len * w->problem.kv_len);
    uint64_t state = UINT64_C(0xD1B54A32D192ED03);
    w->mask = malloc(count);
    if (!w->mask) {
        return fail_memory(f, "the mask");
    }
    for (size_t i = 0; i < count; i++) {
        w->mask[i] = i >= (size_t)w->problem.kv_len && random_number(&state) > -0.4;
    }
    return make_buffer(w->device, count, w->mask, &w->buffers[WORK_MASK], f);
}

bool work_make(tune_work *w, const tune_device *device, const tune_problem *problem, bool keep, failure *f) {
    work_tensor tensors[WORK_TENSORS];
    *w = (tune_work){.device = device, .problem = *problem};
    list_tensors(problem, tensors);
    w->outputs = (size_t)tensors[WORK_O].count;
    for (int i = 0; i < WORK_TENSORS; i++) {
        const size_t bytes = (size_t)tensors[i].count * oclattn_type_bytes(tensors[i].type);
        if (tensors[i].count > 0 && !(tensors[i].is_input ? make_input(w, i, &tensors[i], keep, f)
                                                          : make_buffer(device, bytes, NULL, &w->buffers[i], f))) {
            return false;
        }
    }
    return !problem->masked || make_mask(w, f);
}

void work_clear(tune_work *w) {
    for (int i = 0; i < WORK_TENSORS; i++) {
        if (w->buffers[i]) {
            clReleaseMemObject(w->buffers[i]);
        }
        free(w->real[i]);
    }
    free(w->mask);
    *w = (tune_work){0};
}

bool work_spoil(const tune_work *w, failure *f) {
    const uint16_t nan = 0xFFFF;
    const size_t bytes = w->outputs * oclattn_type_bytes(w->problem.type);
    const cl_int code =
        clEnqueueFillBuffer(w->device->queue, w->buffers[WORK_O], &nan, sizeof nan, 0, bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? true
                              : fail_with(f, EXIT_RUNTIME, "clEnqueueFillBuffer failed (OpenCL error %d)", (int)code);
}

double *work_read(const tune_work *w, failure *f) {
    const size_t bytes = w->outputs * oclattn_type_bytes(w->problem.type);
    void *raw = malloc(bytes);
    double *values = malloc(w->outputs * sizeof *values);
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    if (raw && values) {
        code = clEnqueueReadBuffer(w->device->queue, w->buffers[WORK_O], CL_TRUE, 0, bytes, raw, 0, NULL, NULL);
    }
    for (size_t i = 0; code == CL_SUCCESS && i < w->outputs; i++) {
        values[i] = w->problem.type == OCLATTN_F32 ? (double)((const float *)raw)[i]
                                                   : reference_from_f16(((const uint16_t *)raw)[i]);
    }
    free(raw);
    if (code != CL_SUCCESS) {
        fail_with(f, EXIT_RUNTIME, "reading a result failed (OpenCL error %d)", (int)code);
        free(values);
        return NULL;
    }
    return values;
}

/* ---- plans ------------------------------------------------------------------------------------------------------ */

static bool fail_library(failure *f, exit_code code, oclattn_status status, const oclattn_error *error) {
    return fail_with(f, code, "%s: %.*s", oclattn_status_string(status), (int)strcspn(error->message, "\n"),
                     error->message);
}

static oclattn_status plan_attention(tune_run *run, const char *variant, oclattn_error *error) {
    const tune_problem *p = &run->work->problem;
    oclattn_attention_desc desc;
    oclattn_attention_desc_init(&desc);
    desc.batch = p->batch;
    desc.q_heads = p->heads;
    desc.kv_heads = p->kv_heads;
    desc.q_len = p->q_len;
    desc.kv_len = p->kv_len;
    desc.head_dim = desc.v_dim = p->width;
    desc.q_type = desc.k_type = desc.v_type = desc.o_type = p->type;
    desc.variant = variant;
    desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    if (p->causal) {
        desc.score.flags |= OCLATTN_CAUSAL;
    }
    if (p->masked) {
        const int64_t strides[4] = {0, 0, p->kv_len, 1};
        desc.score.flags |= OCLATTN_MASK;
        memcpy(desc.score.mask_strides, strides, sizeof strides);
    }
    return oclattn_attention_plan(run->work->device->context, &desc, &run->plan, error);
}

static oclattn_status plan_projection(tune_run *run, const char *variant, oclattn_error *error) {
    const tune_problem *p = &run->work->problem;
    const tune_work *work = run->work;
    const oclattn_tensor w = {.buffer = work->buffers[WORK_W]}, b = {.buffer = work->buffers[WORK_B]};
    oclattn_projection_desc desc;
    oclattn_projection_desc_init(&desc);
    desc.flags |= OCLATTN_PROJECTION_BIAS;
    desc.x_type = desc.y_type = p->type;
    desc.batch = p->batch;
    desc.rows = p->rows;
    desc.in_dim = p->in_dim;
    desc.out_dim = p->out_dim;
    desc.variant = variant;
    const oclattn_status status = oclattn_projection_plan(work->device->context, &desc, &run->plan, error);
    return status != OCLATTN_OK
               ? status
               : oclattn_projection_weights(run->plan, work->device->queue, &w, &b, &run->weights, error);
}

bool run_make(tune_run *run, const tune_work *work, const char *variant, failure *f) {
    oclattn_error error = {0};
    *run = (tune_run){.work = work};
    const bool projects = work->problem.operation == TUNE_PROJECTION;
    const oclattn_status status =
        projects ? plan_projection(run, variant, &error) : plan_attention(run, variant, &error);
    if (status != OCLATTN_OK) {
        return fail_library(f, EXIT_BAD_INPUT, status, &error);
    }
    const size_t bytes = oclattn_plan_workspace_bytes(run->plan);
    return bytes == 0 || make_buffer(work->device, bytes, NULL, &run->workspace, f);
}

void run_clear(tune_run *run) {
    oclattn_weights_destroy(run->weights);
    oclattn_plan_destroy(run->plan);
    if (run->workspace) {
        clReleaseMemObject(run->workspace);
    }
    *run = (tune_run){0};
}

static oclattn_status enqueue_attention(const tune_run *run, cl_command_queue queue, cl_event *event,
                                        oclattn_error *error) {
    const tune_work *w = run->work;
    oclattn_attention_args args;
    oclattn_attention_args_init(&args);
    args.q.buffer = w->buffers[WORK_Q];
    args.k.buffer = w->buffers[WORK_K];
    args.v.buffer = w->buffers[WORK_V];
    args.o.buffer = w->buffers[WORK_O];
    args.score.mask.buffer = w->buffers[WORK_MASK];
    args.workspace = run->workspace;
    return oclattn_attention_enqueue(run->plan, queue, &args, 0, NULL, event, error);
}

static oclattn_status enqueue_projection(const tune_run *run, cl_command_queue queue, cl_event *event,
                                         oclattn_error *error) {
    oclattn_projection_args args;
    oclattn_projection_args_init(&args);
    args.x.buffer = run->work->buffers[WORK_X];
    args.y.buffer = run->work->buffers[WORK_Y];
    args.weights = run->weights;
    args.workspace = run->workspace;
    return oclattn_projection_enqueue(run->plan, queue, &args, 0, NULL, event, error);
}

bool run_enqueue(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    const tune_run *run = data;
    oclattn_error error = {0};
    const oclattn_status status = run->work->problem.operation == TUNE_PROJECTION
                                      ? enqueue_projection(run, queue, event, &error)
                                      : enqueue_attention(run, queue, event, &error);
    return status == OCLATTN_OK || fail_library(f, EXIT_RUNTIME, status, &error);
}

bool run_once(tune_run *run, failure *f) {
    cl_event event = NULL;
    if (!run_enqueue(run, run->work->device->queue, &event, f)) {
        return false;
    }
    const cl_int code = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return code == CL_SUCCESS ||
           fail_with(f, EXIT_RUNTIME, "the device failed while running (OpenCL error %d)", (int)code);
}
