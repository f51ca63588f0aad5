#include <math.h>

#include <oclattn/oclattn.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *oclattn_version(void) {
    return VERSION_TEXT(OCLATTN_VERSION_MAJOR, OCLATTN_VERSION_MINOR, OCLATTN_VERSION_PATCH);
}

const char *oclattn_status_string(oclattn_status status) {
    switch (status) {
    case OCLATTN_OK:
        return "ok";
    case OCLATTN_INVALID_ARGUMENT:
        return "invalid argument";
    case OCLATTN_UNSUPPORTED:
        return "unsupported";
    case OCLATTN_NO_DEVICE:
        return "no device";
    case OCLATTN_OUT_OF_MEMORY:
        return "out of memory";
    case OCLATTN_BUILD_FAILED:
        return "build failed";
    case OCLATTN_OPENCL_ERROR:
        return "OpenCL error";
    }
    return "unknown status";
}

size_t oclattn_type_bytes(oclattn_type type) {
    switch (type) {
    case OCLATTN_F32:
        return 4;
    case OCLATTN_F16:
    case OCLATTN_BF16:
        return 2;
    }
    return 0;
}

static int64_t power_of_two_up_to(int64_t limit) {
    int64_t power = 1;
    while (power <= limit / 2) {
        power *= 2;
    }
    return power;
}

/* For n = 2^k heads the slopes are 2^(-8/n), 2^(-16/n), ...; the heads beyond take every other slope of 2n heads. */
void oclattn_alibi_slopes(int64_t heads, float *slopes) {
    if (heads <= 0 || slopes == NULL) {
        return;
    }
    const int64_t power = power_of_two_up_to(heads);
    const double step = -8.0 / (double)power;
    for (int64_t head = 0; head < heads; head++) {
        const double exponent = head < power ? step * (double)(head + 1)
                                             : step / 2 * (double)(2 * (head - power) + 1);
        slopes[head] = (float)exp2(exponent);
    }
}
