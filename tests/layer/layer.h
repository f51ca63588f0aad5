/* An OpenCL layer for tests: it counts objects, makes a device look like another one, and makes calls fail.
 *
 *     OPENCL_LAYERS=.../liboclattn_test_layer.so  program
 *
 * profiles/NAME.env hold the variables of whole devices, and run_as.sh runs a program as one of them.
 *
 * The ICD loader puts it between the program and the drivers. Without the variables below it only counts. They are read
 * at every call, so a test can also set them with setenv while it runs. BYTES and N are decimal or 0x hexadecimal, CODE
 * is decimal.
 *
 * Counting
 *   OCLATTN_LAYER_REPORT=FILE         at exit, and at every release after that, FILE is written anew: a line
 *                                     "kernels created N retained N released N" per kind of object, and at last
 *                                     "balanced" or "unbalanced: KINDS". "%p" in the name becomes the process id.
 *                                     run_counted.sh runs a program so and fails where something is left over.
 *   Kinds: devices (retained ones, and parts), contexts, queues, buffers (also images and pipes), samplers, programs,
 *   kernels, events (handed out by any enqueue, or made by the user), mappings (map and unmap), shared (SVM).
 *
 * Devices that look different. OCLATTN_LAYER_ON=TEXT restricts what follows to platforms whose real name holds TEXT.
 *   OCLATTN_LAYER_MAX_WORK_GROUP=N    CL_DEVICE_MAX_WORK_GROUP_SIZE and the limit of every kernel; larger launches fail
 *   OCLATTN_LAYER_KERNEL_WORK_GROUP=N the limit of every kernel alone; "PART=N,PART=N,N": of those whose name holds
 * PART OCLATTN_LAYER_PREFERRED_MULTIPLE=N  the preferred multiple of every kernel OCLATTN_LAYER_MAX_WORK_ITEMS=A,B,C
 * CL_DEVICE_MAX_WORK_ITEM_SIZES; larger launches fail OCLATTN_LAYER_LOCAL_MEMORY=BYTES  CL_DEVICE_LOCAL_MEM_SIZE;
 * kernels that use more fail OCLATTN_LAYER_LOCAL_MEMORY_TYPE=N 1: memory of its own, 2: a part of global memory
 *   OCLATTN_LAYER_MAX_ALLOCATION=BYTES  CL_DEVICE_MAX_MEM_ALLOC_SIZE; larger buffers fail
 *   OCLATTN_LAYER_GLOBAL_MEMORY=BYTES CL_DEVICE_GLOBAL_MEM_SIZE; larger buffers fail
 *   OCLATTN_LAYER_ADDRESS_ALIGN=BITS  CL_DEVICE_MEM_BASE_ADDR_ALIGN; sub-buffers that begin elsewhere fail
 *   OCLATTN_LAYER_IN_ORDER=1          no queue takes commands out of order
 *   OCLATTN_LAYER_HIDE_EXTENSIONS=A,B what is left out of CL_DEVICE_EXTENSIONS. Kernels do not see the macros of hidden
 *                                     extensions. cl_khr_subgroups also hides core ones
 *   OCLATTN_LAYER_KEEP_EXTENSIONS=A,B all others are left out ("" leaves none)
 *   OCLATTN_LAYER_MAX_SUB_GROUPS=N    CL_DEVICE_MAX_NUM_SUB_GROUPS
 *   OCLATTN_LAYER_SUB_GROUP_SIZE, _SUB_GROUP_COUNT=N  what kernels say of themselves, whatever is true
 *   OCLATTN_LAYER_SUB_GROUP_QUERIES_FAIL=1  they say nothing: CL_INVALID_OPERATION
 *   OCLATTN_LAYER_DEVICE_TYPE=N       2: CPU, 4: GPU, 8: accelerator
 *   OCLATTN_LAYER_UNIFIED_MEMORY, _AVAILABLE, _COMPILER_AVAILABLE, _COMPUTE_UNITS, _FLOAT_WIDTH, _PARAMETER_BYTES,
 *   _VENDOR_ID=N
 *   OCLATTN_LAYER_DEVICE_NAME, _VENDOR, _DRIVER_VERSION, _DEVICE_VERSION, _C_VERSION, _PLATFORM_NAME,
 *   _PLATFORM_VERSION=TEXT            a DEVICE_VERSION of "OpenCL 1..." also refuses every query and every entry point
 *                                     that came after 1.2; a C_VERSION of "OpenCL C 1.2" refuses builds of a newer one
 *   OCLATTN_LAYER_UNTERMINATED=1      these texts lack their final 0
 *   OCLATTN_LAYER_FAIL_QUERIES=LIST   device queries, hexadecimal, "105B,1060-1065", that fail with CL_INVALID_VALUE
 *   OCLATTN_LAYER_EMPTY_QUERIES=LIST  device queries that succeed and return nothing
 *   OCLATTN_LAYER_EVENT_TIMES=WHAT    every time of an event is "zero" or "huge", or asking for it has to "fail"
 *   OCLATTN_LAYER_DELAY=MS,MS...      every command begins at least so many milliseconds after it was enqueued, its
 *                                     event is complete accordingly later, and so are callbacks called. The numbers are
 *                                     taken in turn: with "20,0", commands that do not wait overtake each other. With
 *                                     "hold" they wait until the variable says "release".
 *   Always: a launch whose global size is no multiple of its local size fails, as in OpenCL 1.2.
 *
 * Platforms
 *   OCLATTN_LAYER_NO_PLATFORMS=1      clGetPlatformIDs finds none (-1001)
 *   OCLATTN_LAYER_TWICE=1             every platform is listed twice
 *   OCLATTN_LAYER_NO_DEVICES=TEXT     platforms whose real name holds TEXT have no devices
 *   OCLATTN_LAYER_BROKEN=TEXT         clGetDeviceIDs fails there with CL_OUT_OF_HOST_MEMORY
 *
 * Failing calls
 *   OCLATTN_LAYER_FAIL=NAME:N:CODE    the Nth call of NAME from now on fails with CODE, "NAME:N+:CODE" that one and all
 *                                     after it. NAME "any": every call that creates, enqueues, builds, sets an
 *                                     argument, flushes or waits. Another value starts the count anew. Releases and
 *                                     unmaps that fail have let go all the same.
 *   OCLATTN_LAYER_FAIL_PAUSE=1        meanwhile no call fails, and none is counted for that
 *   OCLATTN_LAYER_CRASH=NAME          every call of NAME ends the process with SIGABRT
 *   OCLATTN_LAYER_BUILD_LOG=TEXT      what clGetProgramBuildInfo gives as the compiler's log
 */
#ifndef OCLATTN_TESTS_LAYER_H
#define OCLATTN_TESTS_LAYER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* A function of the layer in this process; NULL where the layer is not loaded. */
static inline void *layer_symbol(const char *name) {
    const char *path = getenv("OPENCL_LAYERS");
    void *layer = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *symbol = layer != NULL ? dlsym(layer, name) : NULL;
    if (layer != NULL) {
        dlclose(layer);
    }
    return symbol;
}

/* How many objects are alive in this process, all kinds together; -1 without the layer. */
static inline long layer_live_objects(void) {
    void *symbol = layer_symbol("oclattn_layer_live_objects");
    long (*live_objects)(void) = NULL;
    *(void **)&live_objects = symbol;
    return live_objects != NULL ? live_objects() : -1;
}

/* How often this process has called the entry point with this number, and its name; NULL behind the last one, or
 * without the layer. */
static inline const char *layer_call(size_t index, unsigned long *count) {
    void *symbol = layer_symbol("oclattn_layer_call");
    const char *(*call)(size_t, unsigned long *) = NULL;
    *(void **)&call = symbol;
    return call != NULL ? call(index, count) : NULL;
}

/* Writes the report as it stands. */
static inline void layer_print_report(FILE *file) {
    void *symbol = layer_symbol("oclattn_layer_print_report");
    void (*print_report)(FILE *) = NULL;
    *(void **)&print_report = symbol;
    if (print_report != NULL) {
        print_report(file);
    }
}

#endif
