/* How the fake driver answers: honestly, with the lies of FAKE_LIES, or with any of them, as FAKE_SEED has it. */
#ifndef OCLATTN_TESTS_FAKE_ANSWERS_H
#define OCLATTN_TESTS_FAKE_ANSWERS_H

#include <CL/cl.h>

/* Where the answer of one query goes: the arguments of clGet...Info. */
typedef struct fake_query {
    cl_uint param;
    size_t size;
    void *value;
    size_t *returned;
} fake_query;

/* Breaks down as the variable of the environment has it, or returns. */
void fake_breakdown(const char *variable);

/* Whether FAKE_LIES holds the word. */
int fake_lies(const char *word);

/* A number from 0 to `below` - 1 that follows from FAKE_SEED, and the two others; 0 without a seed. */
unsigned fake_chance(cl_uint a, cl_uint b, unsigned below);

cl_int fake_answer(const fake_query *q, const void *data, size_t length);
cl_int fake_answer_text(const fake_query *q, const char *text);
cl_int fake_answer_number(const fake_query *q, cl_ulong number, size_t width);

#endif
