#include "blas_parameters.h"

#include <clblast_c.h>
#include <string.h>

#include "../plan/clblast_tiles.h"
#include "blas.h"

enum { MOST_DEVICES = 64 };

/* What is in force on a device. */
typedef struct device_parameters {
    cl_device_id device;
    clblast_tiles tiles;
    oclattn_status status; /* of setting them */
} device_parameters;

/* CLBlast's tables are global, and so is what is known of them. */
static once_flag begun = ONCE_FLAG_INIT;
static mtx_t lock;
static bool has_lock;
static device_parameters known[MOST_DEVICES];
static size_t known_count;

static void begin(void) {
    has_lock = mtx_init(&lock, mtx_plain) == thrd_success;
}

/* Which parameters are preferred has no part in it. */
static bool are_same(const clblast_tiles *a, const clblast_tiles *b) {
    clblast_tiles unpreferred = *a;
    unpreferred.preferred = b->preferred;
    return a->overrides == b->overrides && (a->overrides == 0 || memcmp(&unpreferred, b, sizeof(*b)) == 0);
}

static device_parameters *find_device(cl_device_id device) {
    for (size_t i = 0; i < known_count; ++i) {
        if (known[i].device == device) {
            return &known[i];
        }
    }
    return NULL;
}

static oclattn_status override_all(const oclattn_context *context, const clblast_tiles *tiles, oclattn_error *error) {
    clblast_kernel kernels[CLBLAST_KERNELS];
    RETURN_IF_ERROR(blas_load_parameters(context, error));
    clblast_tiles_list(tiles, kernels);
    for (int i = 0; i < CLBLAST_KERNELS; ++i) {
        clblast_kernel *kernel = &kernels[i];
        const CLBlastStatusCode code =
            CLBlastOverrideParameters(context->device, kernel->name, CLBlastPrecisionSingle, kernel->count,
                                      (const char **)kernel->names, kernel->values);
        if (code != CLBlastSuccess) {
            return error_set(error, OCLATTN_UNSUPPORTED, "CLBlast does not take parameters for %s (status %d)",
                             kernel->name, (int)code);
        }
    }
    return OCLATTN_OK;
}

static oclattn_status set_once(const oclattn_context *context, const clblast_tiles *tiles, oclattn_error *error) {
    device_parameters *there = find_device(context->device);
    if (there != NULL && are_same(&there->tiles, tiles)) {
        return there->status == OCLATTN_OK
                   ? OCLATTN_OK
                   : error_set(error, there->status, "CLBlast did not take its parameters before");
    }
    if (there != NULL) {
        return error_set(error, OCLATTN_UNSUPPORTED,
                         "this process has set other parameters for CLBlast on this device, and they can be set once");
    }
    if (known_count == MOST_DEVICES) {
        return error_set(error, OCLATTN_UNSUPPORTED, "CLBlast is used on more than %d devices", MOST_DEVICES);
    }
    const oclattn_status status = tiles->overrides != 0 ? override_all(context, tiles, error) : OCLATTN_OK;
    known[known_count++] = (device_parameters){.device = context->device, .tiles = *tiles, .status = status};
    return status;
}

oclattn_status blas_use_parameters(const oclattn_context *context, const clblast_tiles *tiles, oclattn_error *error) {
    call_once(&begun, begin);
    if (!has_lock) {
        return error_no_memory(error);
    }
    mtx_lock(&lock);
    const oclattn_status status = set_once(context, tiles, error);
    mtx_unlock(&lock);
    return status;
}
