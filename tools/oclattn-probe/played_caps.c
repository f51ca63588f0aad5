#include "played_caps.h"

#include <string.h>

#include "device/text.h"

static void set_text(char *to, size_t size, const json_t *facts, const char *key) {
    const char *value = json_string_value(json_object_get(facts, key));
    text_clean(to, size, value, value ? strlen(value) : 0);
}

static uint64_t number(const json_t *facts, const char *key) {
    return (uint64_t)json_integer_value(json_object_get(facts, key));
}

static bool flag(const json_t *facts, const char *key) {
    return json_is_true(json_object_get(facts, key));
}

static cl_device_type type_of(const json_t *facts) {
    static const struct {
        const char *word;
        cl_device_type type;
    } types[] = {{"gpu", CL_DEVICE_TYPE_GPU},
                 {"cpu", CL_DEVICE_TYPE_CPU},
                 {"accelerator", CL_DEVICE_TYPE_ACCELERATOR},
                 {"custom", CL_DEVICE_TYPE_CUSTOM}};
    const char *word = json_string_value(json_object_get(facts, "type"));
    for (size_t i = 0; word && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(word, types[i].word) == 0) {
            return types[i].type;
        }
    }
    return 0;
}

static void set_texts(device_caps *caps, const json_t *facts, const json_t *platform) {
    set_text(caps->name, sizeof caps->name, facts, "name");
    set_text(caps->vendor, sizeof caps->vendor, facts, "vendor");
    set_text(caps->driver_version, sizeof caps->driver_version, facts, "driver_version");
    set_text(caps->device_version, sizeof caps->device_version, facts, "device_version");
    set_text(caps->c_version, sizeof caps->c_version, facts, "c_version");
    set_text(caps->platform_name, sizeof caps->platform_name, platform, "name");
    set_text(caps->platform_vendor, sizeof caps->platform_vendor, platform, "vendor");
    set_text(caps->platform_version, sizeof caps->platform_version, platform, "version");
}

static void set_item_sizes(device_caps *caps, const json_t *facts) {
    const json_t *sizes = json_object_get(facts, "max_work_item_sizes");
    for (size_t i = 0; json_array_size(sizes) >= 3 && i < 3; i++) {
        caps->max_work_item_sizes[i] = (size_t)json_integer_value(json_array_get(sizes, i));
    }
}

static cl_uint smallest_number(const json_t *facts, const char *key) {
    const json_t *numbers = json_object_get(facts, key);
    json_int_t smallest = 0;
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        const json_int_t one = json_integer_value(json_array_get(numbers, i));
        smallest = i == 0 || one < smallest ? one : smallest;
    }
    return (cl_uint)smallest;
}

void played_caps(device_caps *caps, const json_t *facts, const json_t *platform) {
    memset(caps, 0, sizeof *caps);
    set_texts(caps, facts, platform);
    set_item_sizes(caps, facts);
    device_caps_parse_version(caps);
    caps->type = type_of(facts);
    caps->vendor_id = (cl_uint)number(facts, "vendor_id");
    caps->compute_units = (cl_uint)number(facts, "compute_units");
    caps->clock_mhz = (cl_uint)number(facts, "clock_mhz");
    caps->address_bits = (cl_uint)number(facts, "address_bits");
    caps->global_memory_bytes = number(facts, "global_memory_bytes");
    caps->max_allocation_bytes = number(facts, "max_allocation_bytes");
    caps->local_memory_bytes = number(facts, "local_memory_bytes");
    caps->local_memory_is_dedicated = flag(facts, "local_memory_is_dedicated");
    caps->max_work_group_size = (size_t)number(facts, "max_work_group_size");
    caps->max_parameter_bytes = (size_t)number(facts, "max_parameter_bytes");
    caps->memory_base_align_bits = (cl_uint)number(facts, "memory_base_align_bits");
    caps->host_unified_memory = flag(facts, "host_unified_memory");
    caps->little_endian = flag(facts, "little_endian");
    caps->available = flag(facts, "available");
    caps->compiler_available = flag(facts, "compiler_available");
    const char *extensions = json_string_value(json_object_get(facts, "extensions"));
    device_caps_parse_extensions(caps, extensions ? extensions : "", (unsigned)number(facts, "amd_wavefront_width"));
    caps->smallest_sub_group = smallest_number(facts, "intel_sub_group_sizes");
    caps->has_fp16 = flag(facts, "has_fp16");
    caps->has_fp64 = flag(facts, "has_fp64");
    caps->has_subgroups = flag(facts, "has_subgroups");
    caps->native_float_width = (cl_uint)number(facts, "native_float_width");
}
