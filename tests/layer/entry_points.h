/* The entry points that the layer stands before: WORK creates, builds, sets an argument, enqueues, flushes or waits,
 * OTHER asks, retains, releases or lists, NEWER is either and came after OpenCL 1.2. What is not here is passed on:
 * sharing with graphics, and device queues. */
#ifndef OCLATTN_TESTS_LAYER_ENTRY_POINTS_H
#define OCLATTN_TESTS_LAYER_ENTRY_POINTS_H

#define ENTRY_POINTS(WORK, OTHER, NEWER)                                                                               \
    OTHER(clGetPlatformIDs)                                                                                            \
    OTHER(clGetPlatformInfo) OTHER(clGetDeviceIDs) OTHER(clGetDeviceInfo) OTHER(clGetContextInfo) OTHER(               \
        clGetCommandQueueInfo) OTHER(clGetMemObjectInfo) OTHER(clGetImageInfo) OTHER(clGetSupportedImageFormats)       \
        OTHER(clGetSamplerInfo) OTHER(clGetProgramInfo) OTHER(clGetProgramBuildInfo) OTHER(clGetKernelInfo) OTHER(     \
            clGetKernelArgInfo) OTHER(clGetKernelWorkGroupInfo) OTHER(clGetEventInfo) OTHER(clGetEventProfilingInfo)   \
            OTHER(clRetainDevice) OTHER(clReleaseDevice) OTHER(clRetainContext) OTHER(clReleaseContext) OTHER(         \
                clRetainCommandQueue) OTHER(clReleaseCommandQueue) OTHER(clRetainMemObject) OTHER(clReleaseMemObject)  \
                OTHER(clRetainSampler) OTHER(clReleaseSampler) OTHER(clRetainProgram) OTHER(clReleaseProgram) OTHER(   \
                    clRetainKernel) OTHER(clReleaseKernel) OTHER(clRetainEvent) OTHER(clReleaseEvent)                  \
                    OTHER(clSetEventCallback) OTHER(clSetMemObjectDestructorCallback) OTHER(                           \
                        clSetUserEventStatus) OTHER(clUnloadPlatformCompiler) WORK(clCreateSubDevices)                 \
                        WORK(clCreateContext) WORK(clCreateContextFromType) WORK(clCreateCommandQueue) WORK(           \
                            clCreateBuffer) WORK(clCreateSubBuffer) WORK(clCreateImage) WORK(clCreateSampler)          \
                            WORK(clCreateProgramWithSource) WORK(clCreateProgramWithBinary) WORK(                      \
                                clCreateProgramWithBuiltInKernels) WORK(clBuildProgram) WORK(clCompileProgram)         \
                                WORK(clLinkProgram) WORK(clCreateKernel) WORK(clCreateKernelsInProgram) WORK(          \
                                    clCreateUserEvent) WORK(clSetKernelArg) WORK(clFlush) WORK(clFinish)               \
                                    WORK(clWaitForEvents) WORK(clEnqueueReadBuffer) WORK(clEnqueueWriteBuffer) WORK(   \
                                        clEnqueueReadBufferRect) WORK(clEnqueueWriteBufferRect)                        \
                                        WORK(clEnqueueCopyBuffer) WORK(clEnqueueCopyBufferRect) WORK(                  \
                                            clEnqueueFillBuffer) WORK(clEnqueueReadImage) WORK(clEnqueueWriteImage)    \
                                            WORK(clEnqueueCopyImage) WORK(clEnqueueFillImage) WORK(                    \
                                                clEnqueueCopyImageToBuffer) WORK(clEnqueueCopyBufferToImage)           \
                                                WORK(clEnqueueMapBuffer) WORK(clEnqueueMapImage) WORK(                 \
                                                    clEnqueueUnmapMemObject) WORK(clEnqueueMigrateMemObjects)          \
                                                    WORK(clEnqueueTask) WORK(clEnqueueNDRangeKernel)                   \
                                                        WORK(clEnqueueMarkerWithWaitList) WORK(                        \
                                                            clEnqueueBarrierWithWaitList) WORK(clEnqueueMarker)        \
                                                            WORK(clEnqueueBarrier) WORK(clEnqueueWaitForEvents) NEWER( \
                                                                clCreateCommandQueueWithProperties)                    \
                                                                NEWER(clCreateBufferWithProperties) NEWER(             \
                                                                    clCreateSamplerWithProperties) NEWER(clCreatePipe) \
                                                                    NEWER(clCreateProgramWithIL) NEWER(clCloneKernel)  \
                                                                        NEWER(clGetKernelSubGroupInfo)                 \
                                                                            NEWER(clSVMAlloc) NEWER(clSVMFree) NEWER(  \
                                                                                clSetKernelArgSVMPointer)              \
                                                                                NEWER(clSetKernelExecInfo) NEWER(      \
                                                                                    clEnqueueSVMFree)                  \
                                                                                    NEWER(clEnqueueSVMMemcpy) NEWER(   \
                                                                                        clEnqueueSVMMemFill)           \
                                                                                        NEWER(clEnqueueSVMMap)         \
                                                                                            NEWER(clEnqueueSVMUnmap)

#define ENTRY_POINT_NUMBER(name) CALL_##name,
typedef enum entry_point {
    ENTRY_POINTS(ENTRY_POINT_NUMBER, ENTRY_POINT_NUMBER, ENTRY_POINT_NUMBER) CALL_COUNT
} entry_point;

#endif
