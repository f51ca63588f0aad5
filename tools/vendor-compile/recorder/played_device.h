/* GPUs that are not there: what their drivers say of them. */
#ifndef OCLATTN_VENDOR_COMPILE_PLAYED_DEVICE_H
#define OCLATTN_VENDOR_COMPILE_PLAYED_DEVICE_H

#include <stddef.h>

#include <oclattn/oclattn.h>

enum { PLAYED_SUB_GROUP_SIZES = 4 };

typedef struct played_device {
    const char *architecture; /* as the vendor's compiler calls it; NULL ends the table */
    const char *name, *vendor, *platform, *device_version, *c_version, *extensions;
    cl_uint vendor_id, compute_units, native_half_width;
    cl_ulong local_memory_bytes;
    size_t max_work_group_size, max_work_item_sizes[3], max_parameter_bytes;
    size_t sub_group_sizes[PLAYED_SUB_GROUP_SIZES]; /* the one that kernels get first; 0: no more */
} played_device;

extern const played_device played_devices[];

/* NULL: there is none. */
const played_device *played_device_find(const char *architecture);

#endif
