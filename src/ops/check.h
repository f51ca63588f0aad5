/* Checks that several operations share. */
#ifndef OCLATTN_OPS_CHECK_H
#define OCLATTN_OPS_CHECK_H

#include "../device/error.h"
#include "../device/device.h"
#include "../plan/tensor.h"

bool type_is_known(oclattn_type type);
const char *type_name(oclattn_type type);

/* `name` is what the descriptor calls it. */
oclattn_status check_type(const char *name, oclattn_type type, oclattn_error *error);
oclattn_status check_size(const char *name, int64_t value, int64_t least, int64_t most, oclattn_error *error);
oclattn_status check_flags(const char *name, uint32_t flags, uint32_t known, oclattn_error *error);
oclattn_status check_reserved(const int64_t *reserved, size_t count, oclattn_error *error);

/* Sizes above this are refused: no product of a size, a count and 16 overflows. */
#define LARGEST_SIZE ((int64_t)1 << 40)

/* A buffer larger than what the device can allocate can never be passed: OCLATTN_OUT_OF_MEMORY. */
oclattn_status check_allocation(const device_caps *caps, const char *name, uint64_t bytes, oclattn_error *error);
oclattn_status check_tensor_allocation(const device_caps *caps, const tensor_spec *spec, oclattn_error *error);

#endif
