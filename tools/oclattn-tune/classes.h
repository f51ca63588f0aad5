/* What is measured: a class of problems for each group of parameters. */
#ifndef OCLATTN_TUNE_CLASSES_H
#define OCLATTN_TUNE_CLASSES_H

#include "plan/tuning.h"

typedef enum tune_operation { TUNE_NOTHING, TUNE_ATTENTION, TUNE_PROJECTION } tune_operation;

typedef struct tune_problem {
    tune_operation operation;
    oclattn_type type; /* of q, k, v and o, or of x and y */
    int64_t batch;
    int64_t heads, kv_heads, q_len, kv_len, width; /* of attention */
    bool causal, masked;                           /* causal: aligned bottom right */
    int64_t rows, in_dim, out_dim;                 /* of a projection, with f32 weights and a bias */
} tune_problem;

enum { MOST_MEASURED = 2, MOST_CHECKED = 2 };

typedef struct tune_class {
    tuning_group group;
    const char *variant;  /* NULL: the one that the library takes */
    cl_device_type types; /* devices where it is measured unasked; 0: none */
    bool alone;           /* its values can be set once in a process: each candidate has one of its own */
    const char *what;
    tune_problem measured[MOST_MEASURED]; /* together they decide */
    tune_problem guarded;                 /* must not become slower */
    tune_problem checked[MOST_CHECKED];   /* small: compared with float64 */
} tune_class;

extern const tune_class tune_classes[];
extern const size_t tune_class_count;

/* The candidates of a class whose values are set once; false: there are no more. `values` are complete otherwise. */
bool class_candidate(const tune_class *c, size_t index, tuning *values);

/* Its group's name. */
const char *class_name(const tune_class *c);

/* The problem in a size that takes no time: for trying the tool out. */
tune_problem problem_in_small(const tune_problem *problem);

void problem_describe(const tune_problem *problem, char *words, size_t size);

/* Multiplications and additions. */
double problem_operations(const tune_problem *problem);

#endif
