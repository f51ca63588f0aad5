/* A problem with its plan and its data on a device, ready to run. */
#ifndef OCLATTN_BENCH_PREPARED_H
#define OCLATTN_BENCH_PREPARED_H

#include "device.h"
#include "problem.h"

enum { MOST_PREPARED_BUFFERS = 20 };

typedef struct prepared {
    const bench_problem *problem;
    const bench_device *device;
    oclattn_plan *plan;
    double plan_s; /* that planning took */
    oclattn_weights *weights;
    cl_mem buffers[MOST_PREPARED_BUFFERS]; /* released with it */
    size_t buffer_count;
    oclattn_tensor output;
    int64_t output_count; /* elements */
    /* Those of the problem's kind. */
    oclattn_attention_args attention;
    oclattn_mha_args mha;
    oclattn_mha_weights_args mha_weights;
    oclattn_projection_args projection;
    oclattn_tensor w, b; /* of a projection */
    /* Decoding finds another copy of K and V each time: elements from one to the next. */
    int64_t copies, turn, k_step, v_step;
} prepared;

/* prepared_release may be called after a failure too. */
bool prepare(prepared *r, const bench_problem *problem, const bench_device *device, failure *f);
void prepared_release(prepared *r);

/* measure_fn; `data` is a prepared. */
bool prepared_run(void *data, cl_command_queue queue, cl_event *event, failure *f);

/* Variants of the plan and of those inside it, each once, separated by blanks. */
void prepared_variants(const prepared *r, char *text, size_t size);

/* ---- for its parts ---------------------------------------------------------------------------------------------- */

bool prepare_attention(prepared *r, failure *f);
bool prepare_layer(prepared *r, failure *f);
bool prepare_projection(prepared *r, failure *f);

/* Plans, and takes the time. */
bool prepared_plan(prepared *r, bool (*plan)(prepared *r, failure *f), failure *f);
/* A buffer of normally distributed numbers times `scale`, another sequence for each. */
bool prepared_input(prepared *r, oclattn_type type, int64_t count, float scale, oclattn_tensor *tensor, failure *f);
bool prepared_output(prepared *r, int64_t count, oclattn_tensor *tensor, failure *f);
bool prepared_buffer(prepared *r, size_t bytes, cl_mem *buffer, failure *f);
/* The plan's workspace; NULL where it needs none. */
bool prepared_workspace(prepared *r, cl_mem *workspace, failure *f);
/* a * b * c, or a failure that says that it is too much. */
bool count_of(int64_t a, int64_t b, int64_t c, int64_t *count, failure *f);

#endif
