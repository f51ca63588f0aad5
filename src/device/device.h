/* Platforms, devices, what each can do, and the choice of one. */
#ifndef OCLATTN_DEVICE_DEVICE_H
#define OCLATTN_DEVICE_DEVICE_H

#include <stdbool.h>

#include "error.h"
#include "family.h"
#include "log.h"

/* What a device says of itself, read once. A query that fails leaves 0, false or "" (drivers disagree about which newer
 * queries they answer, so no query is taken for granted). Strings are cut to fit, end in 0 and hold valid UTF-8. */
typedef struct device_caps {
    char name[128], vendor[128], driver_version[128], device_version[128], c_version[128];
    char platform_name[128], platform_vendor[128], platform_version[128];
    cl_device_type type;
    cl_uint vendor_id, compute_units, clock_mhz, address_bits;
    cl_uint version_major, version_minor; /* of the device: 1.2 where device_version cannot be read */
    cl_ulong global_memory_bytes, max_allocation_bytes, local_memory_bytes;
    bool local_memory_is_dedicated;
    size_t max_work_group_size, max_work_item_sizes[3], max_parameter_bytes;
    cl_uint memory_base_align_bits;
    bool host_unified_memory, little_endian, available, compiler_available;
    bool has_fp16, has_fp64, has_subgroups; /* subgroups: cl_khr_subgroups, cl_intel_subgroups, or core and not 0 */
    bool has_intel_subgroups;               /* cl_intel_subgroups: they need no newer OpenCL C than 1.2 */
    bool has_required_subgroup_size;        /* cl_intel_required_subgroup_size */
    cl_uint smallest_sub_group;             /* of the sizes that may be required; 0: not known */
    device_family family;
    cl_uint native_float_width;
} device_caps;

typedef struct device_record {
    cl_platform_id platform;
    cl_device_id id;
    int platform_index, device_index; /* "P:D", as the ICD loader orders them */
    int alias_of;                     /* -1, or the index in the list of the same device */
    device_caps caps;
} device_record;

typedef struct device_list {
    device_record *items;
    size_t count;
    size_t platform_count; /* all, also those without devices */
} device_list;

/* Lists every device. Broken and empty platforms are skipped with a log line; so no device at all is success with a
 * count of 0. Release with device_list_clear, also after an error. */
oclattn_status device_list_read(device_list *list, const logger *log, oclattn_error *error);
void device_list_clear(device_list *list);

/* Reads the capabilities of one device; platform strings come from its CL_DEVICE_PLATFORM. */
void device_caps_read(device_caps *caps, cl_device_id id);

/* Sets what follows from the extensions and, on AMD's devices, from the width of a wavefront (0: not known): fp16,
 * fp64, vendors' sub-groups and the family. has_subgroups is set where an extension says so. */
void device_caps_parse_extensions(device_caps *caps, const char *extensions, unsigned wavefront_width);

/* Sets version_major and version_minor from device_version. */
void device_caps_parse_version(device_caps *caps);

/* Why the choice passes over a device, such as "not available"; NULL: it does not. */
const char *device_unusable_because(const device_caps *caps);

/* Finds the device that `spec` asks for (see oclattn_context_options.device). NULL: OCLATTN_DEVICE of the environment,
 * and without it the best there is. Aliases, unavailable devices, those without a compiler and those older than OpenCL
 * 1.2 are passed over. Failing, it says what to install, or lists the devices that exist. */
oclattn_status device_choose(const device_list *list, const char *spec, const logger *log, size_t *index,
                             oclattn_error *error);

#endif
