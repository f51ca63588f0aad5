/* Tensors in device memory with guard bands: bytes of NaN before, between and after the elements, checked after a run.
 */
#ifndef OCLATTN_TESTS_GUARDED_H
#define OCLATTN_TESTS_GUARDED_H

#include "harness.h"
#include "random.h"

typedef enum element {
    ELEMENT_F32 = OCLATTN_F32,
    ELEMENT_F16 = OCLATTN_F16,
    ELEMENT_BF16 = OCLATTN_BF16,
    ELEMENT_U8,
    ELEMENT_I32
} element;

size_t element_bytes(element type);
double element_read(element type, const void *from);
void element_write(element type, void *to, double value);

/* Memory of one buffer. `image` is what was uploaded, `result` what was read back. */
typedef struct storage {
    element type;
    int64_t count;
    bool is_output;
    unsigned char *image, *result;
    unsigned char *written; /* outputs: 1 for elements that the run must write */
    cl_mem buffer;
} storage;

/* Four dimensions over a storage; fewer are padded with ones at the end. */
typedef struct view {
    storage *memory; /* NULL: this tensor is not there */
    int64_t shape[4], strides[4], offset;
} view;

/* All NaN: gaps of an input and of an output, and output elements before they are written, each with their own bits. */
storage *storage_new(element type, int64_t count, bool is_output);
void storage_free(storage *memory); /* NULL is fine */

/* A view with its own storage: `before` elements of guard band, what the strides reach, and `after` elements. */
view view_new(element type, const int64_t shape[4], const int64_t strides[4], bool is_output, int64_t before,
              int64_t after);

/* The strides of a contiguous tensor. */
void contiguous_strides(const int64_t shape[4], int64_t strides[4]);

int64_t view_count(const view *tensor);
int64_t view_address(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d);
double view_get(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d);    /* of the image */
double view_result(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d); /* of the result */
void view_set(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d, double value);
void view_fill(const view *tensor, double value);
void view_fill_from(const view *tensor, const double *values); /* in the order of the shape */
void view_fill_random(const view *tensor, random_source *source, double magnitude);

/* The elements of the result, in the order of the shape; the caller frees them. */
double *view_results(const view *tensor);

/* True where the bits of the results are the same. The shapes must be equal; strides and offsets may differ. */
bool view_same_bits(const view *a, const view *b);

void storage_upload(storage *memory);
void storage_download(storage *memory);

/* NULL, or a static text: an input that has changed, or an output's gap that was written. */
const char *storage_damage(const storage *memory);

/* True where the element still has the bits that output elements begin with. */
bool storage_is_untouched(const storage *memory, int64_t index);

/* The argument for the library. `strides` are passed when with_strides is set, and must outlive the call. */
oclattn_tensor view_tensor(const view *tensor, bool with_strides);

#endif
