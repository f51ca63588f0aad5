/* Commands on images. */
#include "enqueue.h"

ENQUEUES(clEnqueueReadImage,
         (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
          void *host),
         (image, blocking, origin, region, row, slice, host))
ENQUEUES(clEnqueueWriteImage,
         (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
          const void *host),
         (image, blocking, origin, region, row, slice, host))
ENQUEUES(clEnqueueCopyImage,
         (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region),
         (from, to, from_origin, to_origin, region))
ENQUEUES(clEnqueueFillImage, (cl_mem image, const void *color, const size_t *origin, const size_t *region),
         (image, color, origin, region))
ENQUEUES(clEnqueueCopyImageToBuffer,
         (cl_mem image, cl_mem buffer, const size_t *origin, const size_t *region, size_t offset),
         (image, buffer, origin, region, offset))
ENQUEUES(clEnqueueCopyBufferToImage,
         (cl_mem buffer, cl_mem image, size_t offset, const size_t *origin, const size_t *region),
         (buffer, image, offset, origin, region))

static void *CL_API_CALL layer_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                                 cl_map_flags flags, const size_t *origin, const size_t *region,
                                                 size_t *row, size_t *slice, cl_uint count, const cl_event *wait_list,
                                                 cl_event *event, cl_int *error_code) {
    late_start late;
    void *mapped = NULL;
    cl_int code = fault(CALL_clEnqueueMapImage);
    if (code == CL_SUCCESS) {
        code = late_begin(queue, &count, &wait_list, &late);
    }
    if (code == CL_SUCCESS) {
        mapped = target->clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, count, wait_list,
                                           event, &code);
        late_end(&late);
    }
    return count_mapping(mapped, code, event, error_code);
}

void install_images(cl_icd_dispatch *table) {
    REPLACE(clEnqueueReadImage);
    REPLACE(clEnqueueWriteImage);
    REPLACE(clEnqueueCopyImage);
    REPLACE(clEnqueueFillImage);
    REPLACE(clEnqueueCopyImageToBuffer);
    REPLACE(clEnqueueCopyBufferToImage);
    REPLACE(clEnqueueMapImage);
}
