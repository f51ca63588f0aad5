/* Inputs that other attention libraries have got wrong because of their size, or because of how they are run. */
#include <math.h>
#include <problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

/* ---- large sizes ------------------------------------------------------------------------------------------------ */

/* Logits 0 and, in batch entry or head n, v = n everywhere: the output is n. */
static void assert_counted(int64_t batch, int64_t heads, int64_t length) {
    const int64_t entries = batch * heads;
    problem p = problem_new(batch, heads, heads, length, length, 1, 1);
    double *expected = must_allocate((size_t)(entries * length) * sizeof *expected);
    for (int64_t n = 0; n < entries * length; n++) {
        expected[n] = (double)(n / length);
    }
    problem_allocate(&p, NULL);
    view_fill(&p.q, 0);
    view_fill(&p.k, 1);
    view_fill_from(&p.v, expected);
    assert_result(&p, expected);
    free(expected);
    problem_free(&p);
}

static void test_more_than_65535_entries(void **state) {
    (void)state;
    assert_counted(65537, 1, 1);
    assert_counted(1, 65536, 1);
    assert_counted(80000, 1, 16);
}

enum { WIDE_DIM = 8, WIDE_ROWS = 3 };
static const int64_t wide_stride = 1200000000;

/* Rows of f16 keys that lie 1.2e9 elements apart: the last one begins beyond 2^31 elements and 2^32 bytes. */
static problem wide_problem(void) {
    problem p = problem_new(1, 1, 1, 1, WIDE_ROWS, WIDE_DIM, WIDE_DIM);
    p.desc.k_type = OCLATTN_F16;
    p.desc.k_strides[0] = WIDE_ROWS * wide_stride;
    p.desc.k_strides[1] = WIDE_ROWS * wide_stride;
    p.desc.k_strides[2] = wide_stride;
    return p;
}

static void write_wide_keys(cl_mem keys) {
    for (int64_t j = 0; j < WIDE_ROWS; j++) {
        unsigned char row[2 * WIDE_DIM] = {0};
        element_write(ELEMENT_F16, row, j == 2 ? 10 : 0);
        assert_int_equal(clEnqueueWriteBuffer(device.in_order, keys, CL_TRUE, (size_t)(j * wide_stride) * 2, sizeof row,
                                              row, 0, NULL, NULL),
                         CL_SUCCESS);
    }
}

static void run_wide(problem *p, cl_mem keys) {
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_attention_args args;
    p->k.memory = storage_new(ELEMENT_F16, 1, false);
    problem_allocate(p, NULL);
    view_fill(&p->q, 0);
    view_set(&p->q, 0, 0, 0, 0, 10);
    for (int64_t n = 0; n < WIDE_ROWS * WIDE_DIM; n++) {
        view_set(&p->v, 0, 0, n / WIDE_DIM, n % WIDE_DIM, (double)n);
    }
    assert_ok(oclattn_attention_plan(device.context, &p->desc, &plan, &error), &error);
    problem_upload(p);
    problem_args(p, &args);
    args.k = (oclattn_tensor){.buffer = keys};
    args.workspace = workspace_new(plan);
    assert_ok(oclattn_attention_enqueue(plan, device.in_order, &args, 0, NULL, NULL, &error), &error);
    problem_download(p);
    assert_o(p, (double[]){16, 17, 18, 19, 20, 21, 22, 23});
    buffer_free(args.workspace);
    oclattn_plan_destroy(plan);
    problem_free(p);
}

static void test_offsets_beyond_32_bits(void **state) {
    (void)state;
    problem p = wide_problem();
    oclattn_error error;
    const uint64_t bytes = (uint64_t)(2 * wide_stride + WIDE_DIM) * 2;
    const oclattn_status status = oclattn_attention_check(device.context, &p.desc, &error);
    if (device.info.max_allocation_bytes < bytes) {
        assert_refused(status, OCLATTN_OUT_OF_MEMORY, &error, "k takes");
        return;
    }
    assert_ok(status, &error);
    cl_int code;
    const cl_mem keys = clCreateBuffer(device.cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!keys) {
        printf("SKIP: the device has no %llu bytes free (code %d)\n", (unsigned long long)bytes, (int)code);
        skip();
    }
    write_wide_keys(keys);
    run_wide(&p, keys);
    clReleaseMemObject(keys);
}

static void test_too_large_is_found_when_planning(void **state) {
    (void)state;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    const int64_t strides[] = {(int64_t)(device.info.max_allocation_bytes / 4), (int64_t)1 << 58};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        problem p = problem_of_one_row(2);
        p.desc.k_strides[0] = p.desc.k_strides[1] = 0;
        p.desc.k_strides[2] = strides[i];
        assert_refused(oclattn_attention_plan(device.context, &p.desc, &plan, &error), OCLATTN_OUT_OF_MEMORY, &error,
                       "k");
        assert_null(plan);
    }
    problem square = problem_new(1, 1, 1, (int64_t)1 << 29, (int64_t)1 << 29, 1, 1);
    square.desc.scores_kind = OCLATTN_PROBABILITIES;
    assert_refused(oclattn_attention_plan(device.context, &square.desc, &plan, &error), OCLATTN_OUT_OF_MEMORY, &error,
                   "");
    assert_counted(1, 1, 1);
}

/* ---- no work ---------------------------------------------------------------------------------------------------- */

/* Every tensor is NULL that has no elements. */
static void assert_nothing_to_do(int64_t batch, int64_t q_len, int64_t kv_len) {
    problem p = problem_new(batch, 2, 1, q_len, kv_len, 8, 8);
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_attention_args args;
    cl_event event = NULL;
    cl_int result = 1;
    p.desc.want_lse = 1;
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    oclattn_attention_args_init(&args);
    assert_ok(oclattn_attention_enqueue(plan, device.in_order, &args, 0, NULL, &event, &error), &error);
    assert_non_null(event);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof result, &result, NULL);
    assert_int_equal(result, CL_COMPLETE);
    clReleaseEvent(event);
    oclattn_plan_destroy(plan);
}

static void test_nothing_to_do(void **state) {
    (void)state;
    assert_nothing_to_do(0, 0, 0);
    assert_nothing_to_do(3, 0, 0);
    problem p = problem_new(0, 2, 1, 3, 4, 8, 8);
    problem_allocate(&p, NULL);
    assert_problem(&p);
    problem_free(&p);
    p = problem_new(2, 2, 1, 0, 4, 8, 8);
    problem_allocate(&p, NULL);
    assert_problem(&p);
    problem_free(&p);
}

static void test_no_keys(void **state) {
    (void)state;
    for (int with_sink = 0; with_sink <= 1; with_sink++) {
        problem p = problem_new(2, 2, 1, 3, 0, 8, 8);
        p.desc.want_lse = 1;
        p.desc.score.flags |= with_sink ? OCLATTN_SINKS : 0;
        problem_allocate(&p, NULL);
        view_fill(&p.q, (double)NAN);
        if (with_sink) {
            view_fill(&p.sinks, 0.25);
        }
        assert_problem(&p);
        assert_o_all(&p, 0);
        assert_true(view_result(&p.lse, 1, 1, 2, 0) == (with_sink ? 0.25 : (double)-INFINITY));
        problem_free(&p);
    }
}

/* The event of a call without work still comes after what the call waits for. */
static void test_event_of_nothing_waits(void **state) {
    (void)state;
    problem p = problem_new(0, 1, 1, 1, 1, 1, 1);
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_attention_args args;
    cl_event event = NULL;
    cl_int code;
    cl_int result = CL_COMPLETE;
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    const cl_event gate = clCreateUserEvent(device.cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    oclattn_attention_args_init(&args);
    assert_ok(oclattn_attention_enqueue(plan, queue, &args, 1, &gate, &event, &error), &error);
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof result, &result, NULL);
    assert_int_not_equal(result, CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    clReleaseEvent(gate);
    oclattn_plan_destroy(plan);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 16, CALLS_PER_THREAD = 200, THREAD_KEYS = 70, THREAD_DIM = 24 };

typedef struct worker {
    const oclattn_plan *plan;
    int number;
    bool right;
} worker;

/* No assertion here: cmocka's belong to the main thread. */
static bool run_call(const worker *self, cl_command_queue queue, const oclattn_attention_args *args) {
    float o[THREAD_DIM] = {0};
    oclattn_error error;
    if (oclattn_attention_enqueue(self->plan, queue, args, 0, NULL, NULL, &error) != OCLATTN_OK ||
        clEnqueueReadBuffer(queue, args->o.buffer, CL_TRUE, 0, sizeof o, o, 0, NULL, NULL) != CL_SUCCESS) {
        return false;
    }
    for (int d = 0; d < THREAD_DIM; d++) {
        if (fabsf(o[d] - (float)self->number) > 1e-6f * (float)(self->number + 1)) {
            return false;
        }
    }
    return true;
}

static cl_mem filled_buffer(float value) {
    float values[THREAD_KEYS * THREAD_DIM];
    for (int i = 0; i < THREAD_KEYS * THREAD_DIM; i++) {
        values[i] = value;
    }
    return clCreateBuffer(device.cl, CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
}

static int work(void *argument) {
    worker *self = argument;
    oclattn_attention_args args;
    const size_t workspace_bytes = oclattn_plan_workspace_bytes(self->plan);
    cl_command_queue queue = clCreateCommandQueue(device.cl, device.id, 0, NULL);
    oclattn_attention_args_init(&args);
    args.q.buffer = filled_buffer(0);
    args.k.buffer = filled_buffer(1);
    args.v.buffer = filled_buffer((float)self->number);
    args.o.buffer = filled_buffer(-1);
    args.workspace = workspace_bytes ? clCreateBuffer(device.cl, CL_MEM_READ_WRITE, workspace_bytes, NULL, NULL) : NULL;
    self->right = true;
    for (int i = 0; i < CALLS_PER_THREAD && self->right; i++) {
        self->right = run_call(self, queue, &args);
    }
    buffer_free(args.q.buffer);
    buffer_free(args.k.buffer);
    buffer_free(args.v.buffer);
    buffer_free(args.o.buffer);
    buffer_free(args.workspace);
    clReleaseCommandQueue(queue);
    return 0;
}

static void test_threads_share_a_plan(void **state) {
    (void)state;
    problem p = problem_new(1, 1, 1, 1, THREAD_KEYS, THREAD_DIM, THREAD_DIM);
    oclattn_error error;
    oclattn_plan *plan = NULL;
    worker workers[THREADS];
    thrd_t threads[THREADS];
    p.desc.kv_chunk = 32;
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){plan, i, false};
        assert_int_equal(thrd_create(&threads[i], work, &workers[i]), thrd_success);
    }
    for (int i = 0; i < THREADS; i++) {
        thrd_join(threads[i], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_true(workers[i].right);
    }
    oclattn_plan_destroy(plan);
}

/* ---- one buffer for all ----------------------------------------------------------------------------------------- */

enum { SHARED_KEYS = 3, SHARED_DIM = 5 };

/* q, k and v as three regions of `all`, which begin at these elements: sub-buffers if `cut` is set, else offsets. */
static bool run_in_one_buffer(const size_t starts[3], bool cut) {
    problem p = problem_new(1, 1, 1, SHARED_KEYS, SHARED_KEYS, SHARED_DIM, SHARED_DIM);
    const size_t size = SHARED_KEYS * SHARED_DIM;
    oclattn_tensor *tensors[3];
    oclattn_attention_args args;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    float *values = must_allocate((starts[2] + size) * sizeof *values);
    bool made = true;
    for (size_t i = 0; i < starts[2] + size; i++) {
        values[i] = i < starts[1] ? 0 : i < starts[2] ? 1 : (float)((i - starts[2]) / SHARED_DIM);
    }
    const cl_mem all = buffer_new((starts[2] + size) * sizeof *values, values);
    free(values);
    problem_allocate(&p, NULL);
    problem_upload(&p);
    problem_args(&p, &args);
    tensors[0] = &args.q;
    tensors[1] = &args.k;
    tensors[2] = &args.v;
    for (int i = 0; i < 3; i++) {
        const cl_buffer_region region = {starts[i] * 4, size * 4};
        *tensors[i] =
            cut ? (oclattn_tensor){.buffer = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL)}
                : (oclattn_tensor){.buffer = all, .offset = (int64_t)starts[i]};
        made = made && tensors[i]->buffer;
    }
    if (made) {
        assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
        args.workspace = workspace_new(plan);
        made = oclattn_attention_enqueue(plan, device.in_order, &args, 0, NULL, NULL, &error) == OCLATTN_OK;
        problem_download(&p);
        buffer_free(args.workspace);
        oclattn_plan_destroy(plan);
    }
    if (made) {
        assert_o_all(&p, 1);
    } else {
        assert_true(storage_is_untouched(p.o.memory, p.o.offset) || !plan);
    }
    for (int i = 0; cut && i < 3; i++) {
        buffer_free(tensors[i]->buffer);
    }
    clReleaseMemObject(all);
    problem_free(&p);
    return made;
}

static void test_sub_buffers(void **state) {
    (void)state;
    cl_uint align_bits = 0;
    clGetDeviceInfo(device.id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL);
    const size_t step = align_bits / 32;
    const size_t aligned[3] = {step, 2 * step, 3 * step};
    const size_t by_element[3] = {1, 18, 35};
    assert_true(run_in_one_buffer(aligned, true));
    assert_true(run_in_one_buffer(aligned, false));
    assert_true(run_in_one_buffer(by_element, false));
    run_in_one_buffer(by_element, true);
}

/* ---- long runs -------------------------------------------------------------------------------------------------- */

/* Pages in use, 0 where the system does not say. */
static long resident_pages(void) {
    long all = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) {
        return 0;
    }
    if (fscanf(file, "%ld %ld", &all, &resident) != 2) {
        resident = 0;
    }
    fclose(file);
    return resident;
}

static void decode(const oclattn_plan *plan, oclattn_attention_args *args, int64_t steps, int64_t capacity,
                   bool with_event) {
    for (int64_t step = 0; step < steps; step++) {
        oclattn_error error;
        cl_event event = NULL;
        args->kv_len = 1 + step % capacity;
        assert_ok(oclattn_attention_enqueue(plan, device.in_order, args, 0, NULL, with_event ? &event : NULL, &error),
                  &error);
        if (event) {
            assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
            clReleaseEvent(event);
        } else if (step % 100 == 99) {
            clFinish(device.in_order);
        }
    }
    clFinish(device.in_order);
}

static void test_decoding_does_not_grow(void **state) {
    (void)state;
    enum { CAPACITY = 200, GROWTH_MIB = 16 };
    const int64_t steps = options.is_long ? 20000 : 2000;
    problem p = problem_new(1, 2, 1, 1, CAPACITY, 32, 32);
    oclattn_attention_args args;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    random_source source = random_start(36, 0);
    p.desc.score.flags |= OCLATTN_RUNTIME_LENGTHS;
    p.desc.kv_chunk = 64;
    problem_allocate(&p, NULL);
    problem_fill(&p, &source, 0);
    problem_upload(&p);
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    problem_args(&p, &args);
    args.workspace = workspace_new(plan);
    decode(plan, &args, steps / 2, CAPACITY, false);
    decode(plan, &args, steps / 2, CAPACITY, true);
    const long before = resident_pages();
    decode(plan, &args, steps / 2, CAPACITY, false);
    decode(plan, &args, steps / 2, CAPACITY, true);
    assert_true((resident_pages() - before) * sysconf(_SC_PAGESIZE) < GROWTH_MIB * 1048576L);
    buffer_free(args.workspace);
    oclattn_plan_destroy(plan);
    problem_free(&p);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_than_65535_entries),
        cmocka_unit_test(test_offsets_beyond_32_bits),
        cmocka_unit_test(test_too_large_is_found_when_planning),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_no_keys),
        cmocka_unit_test(test_event_of_nothing_waits),
        cmocka_unit_test(test_threads_share_a_plan),
        cmocka_unit_test(test_sub_buffers),
        cmocka_unit_test(test_decoding_does_not_grow),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
