/* Between the files that play OpenCL. */
#ifndef OCLATTN_VENDOR_COMPILE_PLAYED_OPENCL_H
#define OCLATTN_VENDOR_COMPILE_PLAYED_OPENCL_H

#include <oclattn/oclattn.h>

struct _cl_platform_id {
    int unused;
};
struct _cl_device_id {
    int unused;
};
struct _cl_context {
    int unused;
};
struct _cl_command_queue {
    int unused;
};
struct _cl_mem {
    int unused;
};

extern struct _cl_device_id played_device_id;

/* Answers to a query, as clGet*Info gives them. */
cl_int answer(const void *value, size_t length, size_t size, void *to, size_t *returned);
cl_int answer_text(const char *value, size_t size, void *to, size_t *returned);
cl_int answer_uint(cl_uint value, size_t size, void *to, size_t *returned);
cl_int answer_ulong(cl_ulong value, size_t size, void *to, size_t *returned);
cl_int answer_size(size_t value, size_t size, void *to, size_t *returned);
cl_int answer_pointer(const void *value, size_t size, void *to, size_t *returned);

#endif
