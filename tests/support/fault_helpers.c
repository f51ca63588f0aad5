#include "fault_helpers.h"

#include <math.h>
#include <stdlib.h>

#include "fault_sweep.h"

cl_command_queue fault_queue(void) {
    return device.out_of_order ? device.out_of_order : device.in_order;
}

void fault_wait(oclattn_status status, cl_event event) {
    assert_true((event != NULL) == (status == OCLATTN_OK));
    if (event) {
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
    }
    clFinish(fault_queue());
}

view fault_matrix(int64_t a, int64_t b, int64_t c, int64_t d, bool is_output, double value) {
    const int64_t shape[4] = {a, b, c, d};
    int64_t strides[4];
    contiguous_strides(shape, strides);
    view made = view_new(ELEMENT_F32, shape, strides, is_output, 3, 3);
    if (!is_output) {
        view_fill(&made, value);
    }
    return made;
}

void assert_all_elements(view *output, double expected) {
    double *found = NULL;
    storage_download(output->memory);
    found = view_results(output);
    for (int64_t n = 0; n < view_count(output); n++) {
        if (!(fabs(found[n] - expected) < 1e-5)) {
            fail_msg("reported as success: element %lld is %g, not %g", (long long)n, found[n], expected);
        }
    }
    free(found);
}

oclattn_context *fault_context(const char *cache_dir) {
    oclattn_context_options wanted;
    oclattn_context *context = NULL;
    oclattn_error error;
    oclattn_context_options_init(&wanted);
    wanted.cache_dir = cache_dir;
    assert_ok(oclattn_context_create_from_cl(&wanted, device.cl, device.id, &context, &error), &error);
    return context;
}

void fault_drop(oclattn_context *context, oclattn_plan *made, oclattn_status status) {
    assert_true((made != NULL) == (status == OCLATTN_OK));
    fault_arm();
    oclattn_plan_destroy(made);
    oclattn_context_destroy(context);
    fault_disarm();
}
