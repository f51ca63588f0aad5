/* One question to a driver, and what it says. In a child process only. */
#ifndef OCLATTN_PROBE_ANSWER_H
#define OCLATTN_PROBE_ANSWER_H

#include <stddef.h>

#include <oclattn/oclattn.h>

#define REASON_SIZE 160

/* A platform or a device: exactly one of the two is set. */
typedef struct query_target {
    cl_platform_id platform;
    cl_device_id device;
} query_target;

typedef struct query_answer {
    char *bytes; /* NULL: none. Followed by a 0 that drivers may have forgotten. */
    size_t length;
    char reason[REASON_SIZE]; /* where there is none */
} query_answer;

query_answer answer_ask(query_target target, cl_uint param);
void answer_clear(query_answer *answer);

#endif
