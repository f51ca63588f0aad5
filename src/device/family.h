/* Kinds of GPUs whose registers, local memory and sub-groups are alike: the rows of the tuning table. */
#ifndef OCLATTN_DEVICE_FAMILY_H
#define OCLATTN_DEVICE_FAMILY_H

typedef enum device_family {
    FAMILY_OTHER, /* every CPU, and GPUs that nothing gives away */
    FAMILY_NVIDIA,
    FAMILY_AMD_WAVE32, /* RDNA */
    FAMILY_AMD_WAVE64, /* GCN, CDNA, and those of AMD whose driver does not say */
    FAMILY_INTEL,
    FAMILY_ADRENO,
    FAMILY_MALI
} device_family;

struct device_caps;

/* From what the device says of itself: its type, its vendor's PCI number, a vendor's extension, and for AMD the width
 * of a wavefront (0: not known). Never from its name: the next model has another one. */
device_family device_family_find(const struct device_caps *caps, const char *extensions, unsigned wavefront_width);

#endif
