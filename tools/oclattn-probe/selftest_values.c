#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "selftest_values.h"

void values_free(values *v) {
    free(v->raw);
    free(v->real);
    *v = (values){0};
}

bool values_make(values *v, oclattn_type type, int64_t count) {
    const size_t bytes = (size_t)count * oclattn_type_bytes(type);
    *v = (values){.type = type, .count = (size_t)count, .raw = malloc(bytes + 1)};
    v->real = calloc((size_t)count + 1, sizeof *v->real);
    if (!v->raw || !v->real) {
        values_free(v);
        return false;
    }
    memset(v->raw, 0xFF, bytes);
    return true;
}

void values_set(values *v, size_t i, double value) {
    if (v->type == OCLATTN_F32) {
        ((float *)v->raw)[i] = (float)value;
    } else {
        ((uint16_t *)v->raw)[i] = v->type == OCLATTN_F16 ? reference_to_f16(value) : reference_to_bf16((float)value);
    }
}

double values_get(const values *v, size_t i) {
    if (v->type == OCLATTN_F32) {
        return (double)((const float *)v->raw)[i];
    }
    const uint16_t bits = ((const uint16_t *)v->raw)[i];
    return v->type == OCLATTN_F16 ? reference_from_f16(bits) : reference_from_bf16(bits);
}

/* xorshift64*; Marsaglia, "Xorshift RNGs", 2003, and Vigna, 2016. From -1 to 1. */
double random_number(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * UINT64_C(0x2545F4914F6CDD1D)) >> 11) * 0x1p-52 - 1.0;
}

bool values_random(values *v, oclattn_type type, int64_t count, uint64_t *state) {
    if (!values_make(v, type, count)) {
        return false;
    }
    for (size_t i = 0; i < v->count; i++) {
        values_set(v, i, random_number(state));
        v->real[i] = values_get(v, i);
    }
    return true;
}

bool values_is_untouched(const values *v, size_t i) {
    const unsigned char *bytes = v->raw;
    const size_t size = oclattn_type_bytes(v->type);
    for (size_t k = 0; k < size; k++) {
        if (bytes[i * size + k] != 0xFF) {
            return false;
        }
    }
    return true;
}

void values_copy(values *to, size_t to_index, const values *from, size_t from_index, size_t count) {
    const size_t size = oclattn_type_bytes(to->type);
    memcpy((char *)to->raw + to_index * size, (const char *)from->raw + from_index * size, count * size);
    memcpy(to->real + to_index, from->real + from_index, count * sizeof *to->real);
}

double values_largest(const values *v) {
    double most = 0;
    for (size_t i = 0; i < v->count; i++) {
        most = fmax(most, fabs(v->real[i]));
    }
    return most;
}

void fail_test(outcome *result, const char *reason) {
    result->verdict = VERDICT_FAIL;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

void take_status(outcome *result, oclattn_status status, const oclattn_error *error) {
    char reason[480];
    snprintf(reason, sizeof reason, "%.*s", (int)strcspn(error->message, "\n"), error->message);
    const bool refused = status == OCLATTN_UNSUPPORTED || status == OCLATTN_OUT_OF_MEMORY;
    result->verdict = refused ? VERDICT_SKIP : VERDICT_FAIL;
    snprintf(result->reason, sizeof result->reason, "%s: %.440s", oclattn_status_string(status), reason);
}

void compare_one(outcome *result, const char *what, size_t i, double found, double expected, double tolerance) {
    const double error = fabs(found - expected);
    if (found == expected || (isnan(found) && isnan(expected))) {
        result->worst = fmax(result->worst, 0);
        return;
    }
    if (error <= tolerance) {
        result->worst = fmax(result->worst, error / tolerance);
        return;
    }
    if (result->verdict != VERDICT_FAIL) {
        result->verdict = VERDICT_FAIL;
        snprintf(result->reason, sizeof result->reason, "%s[%zu] is %.9g, expected %.9g, and %.3g is allowed", what, i,
                 found, expected, tolerance);
    }
    result->worst = isfinite(error) && tolerance > 0 ? fmax(result->worst, error / tolerance) : 1e300;
}

bool upload(session *s, const values *v, oclattn_tensor *tensor) {
    tensor->buffer = session_buffer(s, v->count * oclattn_type_bytes(v->type), v->raw);
    return tensor->buffer != NULL;
}

bool download(session *s, values *v, cl_mem buffer) {
    const cl_int code = clEnqueueReadBuffer(s->queue, buffer, CL_TRUE, 0, v->count * oclattn_type_bytes(v->type),
                                            v->raw, 0, NULL, NULL);
    return code == CL_SUCCESS || session_failed(s, "clEnqueueReadBuffer", code);
}

const char *type_word(oclattn_type type) {
    return type == OCLATTN_F16 ? "f16" : type == OCLATTN_BF16 ? "bf16" : "f32";
}
