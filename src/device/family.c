#include "family.h"

#include "device.h"
#include "text.h"

/* PCI vendor numbers, as CL_DEVICE_VENDOR_ID gives them; Arm's drivers give a number of the GPU there. */
enum { VENDOR_NVIDIA = 0x10de, VENDOR_AMD = 0x1002, VENDOR_INTEL = 0x8086, VENDOR_QUALCOMM = 0x5143 };

device_family device_family_find(const device_caps *caps, const char *extensions, unsigned wavefront_width) {
    if ((caps->type & CL_DEVICE_TYPE_GPU) == 0) {
        return FAMILY_OTHER;
    }
    if (caps->vendor_id == VENDOR_NVIDIA || text_has_word(extensions, "cl_nv_device_attribute_query")) {
        return FAMILY_NVIDIA;
    }
    if (caps->vendor_id == VENDOR_AMD || text_has_word(extensions, "cl_amd_device_attribute_query")) {
        return wavefront_width == 32 ? FAMILY_AMD_WAVE32 : FAMILY_AMD_WAVE64;
    }
    if (caps->vendor_id == VENDOR_INTEL) {
        return FAMILY_INTEL;
    }
    if (caps->vendor_id == VENDOR_QUALCOMM || text_has_word(extensions, "cl_qcom_ext_host_ptr")) {
        return FAMILY_ADRENO;
    }
    return text_has_word(extensions, "cl_arm_core_id") ? FAMILY_MALI : FAMILY_OTHER;
}
