#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "compile.h"
#include "program.h"
#include "source.h"

static char *copy_string(const char *string) {
    const size_t size = strlen(string) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, string, size) : NULL;
}

static void entry_free(struct built_program *entry) {
    text_clear(&entry->unsaved_key);
    free(entry->file);
    free(entry->options);
    free(entry);
}

static void keep_binary(oclattn_context *context, cl_program program, const text *key) {
    size_t size;
    unsigned char *binary = compile_read_binary(context, program, &size);
    if (binary) {
        cache_store(context, key, binary, size);
    }
    free(binary);
}

static void entry_release(oclattn_context *context, struct built_program *entry) {
    if (entry->unsaved_key.data) {
        keep_binary(context, entry->program, &entry->unsaved_key);
    }
    if (entry->program) {
        clReleaseProgram(entry->program);
    }
    mtx_destroy(&entry->lock);
}

void programs_free(oclattn_context *context, bool release_cl) {
    struct built_program *entry = context->programs;
    while (entry) {
        struct built_program *next = entry->next;
        if (release_cl) {
            entry_release(context, entry);
        }
        entry_free(entry);
        entry = next;
    }
}

static struct built_program *entry_new(const char *file, const char *options) {
    struct built_program *entry = calloc(1, sizeof *entry);
    if (!entry) {
        return NULL;
    }
    entry->file = copy_string(file);
    entry->options = copy_string(options);
    if (!entry->file || !entry->options || mtx_init(&entry->lock, mtx_plain) != thrd_success) {
        entry_free(entry);
        return NULL;
    }
    return entry;
}

struct built_program *program_entry(oclattn_context *context, const char *file, const char *options) {
    mtx_lock(&context->lock);
    struct built_program *entry = context->programs;
    while (entry && (strcmp(entry->file, file) != 0 || strcmp(entry->options, options) != 0)) {
        entry = entry->next;
    }
    if (!entry) {
        entry = entry_new(file, options);
        if (entry) {
            entry->next = context->programs;
            context->programs = entry;
        }
    }
    mtx_unlock(&context->lock);
    return entry;
}

/* The compiler's log, to be freed; NULL where there is none. */
static char *read_build_log(cl_program program, cl_device_id device) {
    size_t size = 0;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS || size == 0) {
        return NULL;
    }
    char *build_log = calloc(1, size + 1);
    if (build_log &&
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, build_log, NULL) != CL_SUCCESS) {
        free(build_log);
        return NULL;
    }
    return build_log;
}

static void log_each_line(const logger *log, oclattn_log_level level, const char *lines) {
    while (*lines) {
        const size_t length = strcspn(lines, "\r\n");
        if (length > 0) {
            log_line(log, level, "%.*s", (int)length, lines);
        }
        lines += length;
        lines += strspn(lines, "\r\n");
    }
}

/* program: what the compiler left, or NULL. */
static oclattn_status report_failure(const build_job *job, cl_program program, cl_int code, oclattn_error *error) {
    const oclattn_context *context = job->context;
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES || code == CL_MEM_OBJECT_ALLOCATION_FAILURE) {
        return error_from_cl(error, code, "building a program");
    }
    char *build_log = program ? read_build_log(program, context->device) : NULL;
    const char *reason = build_log && build_log[0] != '\0' ? build_log : cl_error_name(code);
    error_set(error, OCLATTN_BUILD_FAILED, "building %s (%s) for %s failed: %s", job->file, job->options,
              context->caps.name, reason);
    if (error) {
        error->cl_code = code;
    }
    const oclattn_log_level level = job->quiet ? OCLATTN_LOG_DEBUG : OCLATTN_LOG_WARNING;
    log_line(&context->log, level, "building %s (%s) for %s failed:", job->file, job->options, context->caps.name);
    log_each_line(&context->log, level, reason);
    free(build_log);
    return OCLATTN_BUILD_FAILED;
}

static oclattn_status build_from_source(build_job *job, cl_program *program, oclattn_error *error) {
    oclattn_context *context = job->context;
    cl_program made;
    const cl_int code = compile_source(context, &job->source, job->options, &made);
    if (code != CL_SUCCESS) {
        const oclattn_status status = report_failure(job, made, code, error);
        if (made) {
            clReleaseProgram(made);
        }
        return status;
    }
    log_line(&context->log, OCLATTN_LOG_DEBUG, "%s (%s): built from source", job->file, job->options);
    const bool keep = context->cache_dir && !atomic_load(&context->cache_is_read_only);
    job->keep_later = keep && cache_waits_for_binaries(context);
    if (keep && !job->keep_later) {
        keep_binary(context, made, &job->key);
    }
    *program = made;
    return OCLATTN_OK;
}

void build_job_clear(build_job *job) {
    text_clear(&job->source);
    text_clear(&job->key);
}

void build_keep_later(struct built_program *entry, build_job *job) {
    if (job->keep_later) {
        entry->unsaved_key = job->key;
        job->key = (text){0};
    }
}

static cl_program take_from_cache(const build_job *job) {
    size_t size;
    unsigned char *binary = cache_load(job->context, &job->key, &size);
    if (!binary) {
        return NULL;
    }
    cl_program program = compile_binary(job->context, binary, size, job->options);
    free(binary);
    log_line(&job->context->log, OCLATTN_LOG_DEBUG, "%s (%s): %s", job->file, job->options,
             program ? "taken from the cache on disk" : "the driver refused the cached binary");
    return program;
}

oclattn_status build_run(build_job *job, cl_program *program, oclattn_error *error) {
    if (job->context->cache_dir) {
        cache_describe(&job->key, job->context, &job->source, job->options);
        if (job->key.failed) {
            return error_no_memory(error);
        }
        *program = take_from_cache(job);
        if (*program) {
            return OCLATTN_OK;
        }
    }
    return build_from_source(job, program, error);
}

static oclattn_status build_entry(oclattn_context *context, struct built_program *entry, oclattn_error *error) {
    text options = {0};
    const bool names_version = strncmp(entry->options, VERSION_OPTION, strlen(VERSION_OPTION)) == 0;
    const char *common = names_version ? OTHER_OPTIONS : COMMON_OPTIONS;
    text_format(&options, "%s%s%s", common, entry->options[0] != '\0' ? " " : "", entry->options);
    if (options.failed) {
        text_clear(&options);
        return error_no_memory(error);
    }
    build_job job = {.context = context, .file = entry->file, .options = options.data};
    oclattn_status status = source_expand(job.file, &job.source, error);
    if (status == OCLATTN_OK) {
        status = build_run(&job, &entry->program, error);
        build_keep_later(entry, &job);
    }
    build_job_clear(&job);
    text_clear(&options);
    return status;
}

oclattn_status program_get(oclattn_context *context, const char *file, const char *options, cl_program *program,
                           oclattn_error *error) {
    RETURN_IF_ERROR(context_check_process(context, error));
    struct built_program *entry = program_entry(context, file, options ? options : "");
    if (!entry) {
        return error_no_memory(error);
    }
    mtx_lock(&entry->lock);
    const oclattn_status status = entry->program ? OCLATTN_OK : build_entry(context, entry, error);
    *program = entry->program;
    mtx_unlock(&entry->lock);
    return status;
}

oclattn_status program_kernel(oclattn_context *context, const char *file, const char *options, const char *kernel_name,
                              cl_kernel *kernel, oclattn_error *error) {
    cl_program program = NULL;
    RETURN_IF_ERROR(program_get(context, file, options, &program, error));
    cl_int code;
    *kernel = clCreateKernel(program, kernel_name, &code);
    if (*kernel) {
        return OCLATTN_OK;
    }
    char what[256];
    snprintf(what, sizeof what, "clCreateKernel of %s in %s", kernel_name, file);
    return error_from_cl(error, code, what);
}
