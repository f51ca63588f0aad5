/* The programs of a context. */
#ifndef OCLATTN_PROGRAM_BUILD_H
#define OCLATTN_PROGRAM_BUILD_H

#include "context.h"
#include "text.h"

struct built_program {
    struct built_program *next;
    char *file, *options;
    mtx_t lock;         /* held while building, so that threads that want the same program build it once */
    cl_program program; /* NULL until it is built; several may share one */
    text unsaved_key;   /* of the binary that is to be kept when the context goes; empty: none */
};

/* One build: what goes in. */
typedef struct build_job {
    oclattn_context *context;
    const char *file, *options; /* options: complete */
    bool quiet;                 /* a failure is no matter for warnings */
    text source, key;
    bool keep_later; /* set by build_run: the binary is not on disk yet */
} build_job;

/* The version of OpenCL C, unless a program's options begin with another one. */
#define VERSION_OPTION "-cl-std="

/* Some drivers write the number of warnings to stderr. */
#define OTHER_OPTIONS "-w"
#define COMMON_OPTIONS VERSION_OPTION "CL1.2 " OTHER_OPTIONS

/* The entry of a program, added where it is new. Entries stay until the context goes. NULL: out of memory. */
struct built_program *program_entry(oclattn_context *context, const char *file, const char *options);

/* Takes the program of job->source from the cache on disk, or builds it. Release with build_job_clear. */
oclattn_status build_run(build_job *job, cl_program *program, oclattn_error *error);

void build_job_clear(build_job *job);

/* Remembers that the binary of the entry's program is to be kept, where the job says so. */
void build_keep_later(struct built_program *entry, build_job *job);

/* Keeps what is to be kept and frees a context's programs. With release_cl false the OpenCL objects are left alone: in
 * a forked child they belong to the parent. */
void programs_free(oclattn_context *context, bool release_cl);

#endif
