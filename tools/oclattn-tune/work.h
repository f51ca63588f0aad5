/* A problem's data on the device, and plans that compute it. */
#ifndef OCLATTN_TUNE_WORK_H
#define OCLATTN_TUNE_WORK_H

#include "classes.h"
#include "io/failure.h"

typedef struct tune_device {
    oclattn_context *context;
    cl_command_queue queue; /* in order */
} tune_device;

/* Attention: q, k, v, o, mask. Projections: x, w, b, y. */
enum { WORK_Q, WORK_K, WORK_V, WORK_O, WORK_MASK, WORK_TENSORS };
enum { WORK_X = WORK_Q, WORK_W = WORK_K, WORK_B = WORK_V, WORK_Y = WORK_O };

typedef struct tune_work {
    const tune_device *device;
    tune_problem problem;
    cl_mem buffers[WORK_TENSORS];
    double *real[WORK_TENSORS]; /* of inputs that were kept, as rounded to their type; NULL: not kept */
    uint8_t *mask;
    size_t outputs; /* elements of o or y */
} tune_work;

/* Random data, from -1 to 1. keep: for a comparison with the reference. work_clear also after an error. */
bool work_make(tune_work *w, const tune_device *device, const tune_problem *problem, bool keep, failure *f);
void work_clear(tune_work *w);

/* Makes outputs NaN, so that what a kernel leaves out shows. */
bool work_spoil(const tune_work *w, failure *f);
/* All outputs; free them. NULL: `f` says why. */
double *work_read(const tune_work *w, failure *f);

typedef struct tune_run {
    const tune_work *work;
    oclattn_plan *plan;
    oclattn_weights *weights;
    cl_mem workspace;
} tune_run;

/* Plans it with the tuning file that the environment names now. False with EXIT_BAD_INPUT: the library refuses, or the
 * device's compiler. run_clear also after an error. */
bool run_make(tune_run *run, const tune_work *work, const char *variant, failure *f);
void run_clear(tune_run *run);

/* A measure_fn. */
bool run_enqueue(void *run, cl_command_queue queue, cl_event *event, failure *f);
/* Runs it once, and waits. */
bool run_once(tune_run *run, failure *f);

#endif
