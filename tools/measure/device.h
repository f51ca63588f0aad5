/* What measurements share: the device, its queue, and OpenCL calls whose failures have words. */
#ifndef OCLATTN_MEASURE_DEVICE_H
#define OCLATTN_MEASURE_DEVICE_H

#include <stdbool.h>

#include <oclattn/oclattn.h>

#include "io/failure.h"

/* Owns nothing. */
typedef struct measure_device {
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue; /* in order */
    bool is_cpu, has_fp16, has_fp64;
    size_t work_group, items; /* of a launch that fills the device */
    uint64_t largest_buffer;  /* bytes */
    uint64_t cache_bytes;     /* of global memory's cache, as the device says; 0: not known */
} measure_device;

bool measure_device_init(measure_device *d, const oclattn_context *context, cl_command_queue queue, failure *f);

/* All return NULL on failure; the caller releases. */
cl_program measure_build(const measure_device *d, const char *source, const char *options, failure *f);
cl_kernel measure_kernel(cl_program program, const char *name, failure *f);
cl_mem measure_buffer(const measure_device *d, size_t bytes, failure *f);
/* Noise that no memory compresses; as floats, its numbers are all between 1 and 2. */
cl_mem measure_noise(const measure_device *d, size_t bytes, failure *f);

/* Items are rounded up to whole work-groups, no larger than the kernel allows. */
bool measure_launch(const measure_device *d, cl_kernel kernel, size_t items, cl_event *event, failure *f);

/* They take NULL. */
void measure_release_program(cl_program program);
void measure_release_kernel(cl_kernel kernel);
void measure_release_buffer(cl_mem buffer);

#endif
