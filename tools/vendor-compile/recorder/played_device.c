#include "played_device.h"

#include <string.h>

/* Sources: clinfo of an RTX 3050, an RX 7900 XTX, a gfx90c and an Iris Xe (tests/data/captures); for the others of a
 * vendor the same driver's answers, with the sizes that its programming guide gives for the architecture. NVIDIA's
 * driver has neither cl_khr_fp16 nor cl_khr_subgroups. */
#define NVIDIA_EXTENSIONS                                                                                              \
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics "           \
    "cl_khr_local_int32_extended_atomics cl_khr_fp64 cl_khr_3d_image_writes cl_khr_byte_addressable_store "            \
    "cl_khr_icd cl_nv_compiler_options cl_nv_device_attribute_query cl_nv_pragma_unroll cl_nv_copy_opts "              \
    "cl_nv_create_buffer cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_device_uuid "                  \
    "cl_khr_pci_bus_info cl_khr_external_semaphore cl_khr_external_memory"

#define AMD_EXTENSIONS                                                                                                 \
    "cl_khr_fp64 cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "                               \
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics cl_khr_int64_base_atomics "                   \
    "cl_khr_int64_extended_atomics cl_khr_3d_image_writes cl_khr_byte_addressable_store cl_khr_fp16 "                  \
    "cl_amd_device_attribute_query cl_amd_media_ops cl_amd_media_ops2 cl_khr_image2d_from_buffer cl_khr_subgroups "    \
    "cl_khr_depth_images cl_amd_copy_buffer_p2p cl_amd_assembly_program"

#define INTEL_EXTENSIONS                                                                                               \
    "cl_khr_byte_addressable_store cl_khr_device_uuid cl_khr_fp16 cl_khr_global_int32_base_atomics "                   \
    "cl_khr_global_int32_extended_atomics cl_khr_icd cl_khr_local_int32_base_atomics "                                 \
    "cl_khr_local_int32_extended_atomics cl_intel_subgroups cl_intel_required_subgroup_size "                          \
    "cl_intel_subgroups_short cl_khr_il_program cl_khr_subgroup_extended_types cl_khr_subgroup_shuffle "               \
    "cl_khr_subgroup_shuffle_relative cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_3d_image_writes"

#define NVIDIA(arch, model, units)                                                                                     \
    {                                                                                                                  \
        .architecture = arch, .name = model, .vendor = "NVIDIA Corporation", .platform = "NVIDIA CUDA",                \
        .device_version = "OpenCL 3.0 CUDA", .c_version = "OpenCL C 1.2", .extensions = NVIDIA_EXTENSIONS,             \
        .vendor_id = 0x10de, .compute_units = units, .local_memory_bytes = 48 << 10, .max_work_group_size = 1024,      \
        .max_work_item_sizes = {1024, 1024, 64}, .max_parameter_bytes = 4352, .sub_group_sizes = {                     \
            32                                                                                                         \
        }                                                                                                              \
    }

#define AMD(arch, units, wave)                                                                                         \
    {                                                                                                                  \
        .architecture = arch, .name = arch, .vendor = "Advanced Micro Devices, Inc.",                                  \
        .platform = "AMD Accelerated Parallel Processing", .device_version = "OpenCL 2.0",                             \
        .c_version = "OpenCL C 2.0", .extensions = AMD_EXTENSIONS, .vendor_id = 0x1002, .compute_units = units,        \
        .native_half_width = 1, .local_memory_bytes = 64 << 10, .max_work_group_size = 256,                            \
        .max_work_item_sizes = {1024, 1024, 1024}, .max_parameter_bytes = 1024, .sub_group_sizes = {                   \
            wave                                                                                                       \
        }                                                                                                              \
    }

#define INTEL(arch, model, units, ...)                                                                                 \
    {                                                                                                                  \
        .architecture = arch, .name = model, .vendor = "Intel(R) Corporation", .platform = "Intel(R) OpenCL Graphics", \
        .device_version = "OpenCL 3.0 NEO", .c_version = "OpenCL C 1.2", .extensions = INTEL_EXTENSIONS,               \
        .vendor_id = 0x8086, .compute_units = units, .native_half_width = 8, .local_memory_bytes = 64 << 10,           \
        .max_parameter_bytes = 2048, __VA_ARGS__                                                                       \
    }

const played_device played_devices[] = {
    NVIDIA("sm_75", "Tesla T4", 40),
    NVIDIA("sm_80", "NVIDIA A100-SXM4-40GB", 108),
    NVIDIA("sm_86", "NVIDIA GeForce RTX 3090", 82),
    NVIDIA("sm_89", "NVIDIA GeForce RTX 4090", 128),
    NVIDIA("sm_90", "NVIDIA H100 80GB HBM3", 132),
    NVIDIA("sm_100", "NVIDIA B200", 148),
    NVIDIA("sm_120", "NVIDIA GeForce RTX 5090", 170),
    AMD("gfx906", 60, 64),
    AMD("gfx90a", 104, 64),
    AMD("gfx942", 304, 64),
    AMD("gfx1030", 40, 32),
    AMD("gfx1100", 48, 32),
    AMD("gfx1201", 32, 32),
    INTEL("tgllp", "Intel(R) Iris(R) Xe Graphics", 96, .max_work_group_size = 512,
          .max_work_item_sizes = {512, 512, 512}, .sub_group_sizes = {16, 8, 32}),
    INTEL("dg2", "Intel(R) Arc(TM) A770 Graphics", 512, .max_work_group_size = 1024,
          .max_work_item_sizes = {1024, 1024, 1024}, .sub_group_sizes = {16, 8, 32}),
    INTEL("pvc", "Intel(R) Data Center GPU Max 1550", 1024, .max_work_group_size = 1024,
          .max_work_item_sizes = {1024, 1024, 1024}, .sub_group_sizes = {32, 16}),
    {.architecture = NULL},
};

const played_device *played_device_find(const char *architecture) {
    const played_device *device = played_devices;
    while (device->architecture != NULL && strcmp(device->architecture, architecture) != 0) {
        ++device;
    }
    return device->architecture != NULL ? device : NULL;
}
