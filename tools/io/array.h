/* Arrays in host memory, as files hold them: a type, a shape, and contiguous values, the last dimension fastest. */
#ifndef OCLATTN_TOOLS_IO_ARRAY_H
#define OCLATTN_TOOLS_IO_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

typedef enum array_type {
    ARRAY_BOOL,
    ARRAY_U8,
    ARRAY_I32,
    ARRAY_I64,
    ARRAY_F16,
    ARRAY_BF16,
    ARRAY_F32,
    ARRAY_F64
} array_type;

#define ARRAY_MAX_RANK 8

typedef struct host_array {
    array_type type;
    int rank; /* 0 to ARRAY_MAX_RANK */
    int64_t shape[ARRAY_MAX_RANK];
    size_t count; /* elements; 1 for rank 0 */
    void *data;   /* owned; NULL: the array is not there */
} host_array;

size_t array_type_bytes(array_type type);
const char *array_type_name(array_type type);
bool array_type_is_float(array_type type);

/* Multiplies a shape with no dimension below 0. False: the elements, or their bytes, or those of the dimensions that
 * are not 0, do not fit into an int64_t. */
bool shape_count(const int64_t *shape, int rank, size_t element_bytes, size_t *count);

/* Allocates zeroed memory for a shape. `what` names it in the message. */
bool array_create(host_array *array, array_type type, int rank, const int64_t *shape, const char *what, failure *f);
void array_free(host_array *array);

/* "[1, 12, 51, 32]". Returns text. */
#define SHAPE_TEXT_SIZE 200
const char *shape_text(const int64_t *shape, int rank, char text[SHAPE_TEXT_SIZE]);
const char *array_shape_text(const host_array *array, char text[SHAPE_TEXT_SIZE]);

/* Element `index` as a number: exact for every type but int64 beyond 2^53. */
double array_value(const host_array *array, size_t index);
/* Stores a number, rounded to nearest even if the type is a float; other types are not written to. */
void array_set_float(host_array *array, size_t index, double value);

/* The same values in another float type, rounded once, to nearest even. `to` holds nothing yet, and is not `from`. */
bool array_convert(const host_array *from, array_type type, host_array *to, const char *what, failure *f);

double f16_to_double(uint16_t bits);
double bf16_to_double(uint16_t bits);
uint16_t f16_from_double(double value);
uint16_t bf16_from_double(double value);

#endif
