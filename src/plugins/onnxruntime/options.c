#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* What the host puts before an option of ours: "ep.", the provider's name in lower case, ".". */
#define PREFIX "ep.oclattnexecutionprovider."

static oclattn_status read_entry(const ort_host *host, const ort_session_options *session, const char *name,
                                 char text[OPTION_SIZE], oclattn_error *error) {
    int has = 0;
    size_t size = OPTION_SIZE;
    text[0] = '\0';
    RETURN_IF_ERROR(host_check(host, host->api->HasSessionConfigEntry(session, name, &has), error));
    return has ? host_check(host, host->api->GetSessionConfigEntry(session, name, text, &size), error) : OCLATTN_OK;
}

static oclattn_status read_text(const ort_host *host, const ort_session_options *session, const char *key,
                                char text[OPTION_SIZE], oclattn_error *error) {
    char name[64];
    snprintf(name, sizeof(name), PREFIX "%s", key);
    return read_entry(host, session, name, text, error);
}

static oclattn_status read_level(const char *text, oclattn_log_level *level, oclattn_error *error) {
    static const char *const names[] = {"none", "warning", "info", "debug"};
    for (int i = 0; i < 4; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *level = (oclattn_log_level)i;
            return OCLATTN_OK;
        }
    }
    return text[0] == '\0' ? OCLATTN_OK
                           : refuse(error, OCLATTN_INVALID_ARGUMENT,
                                    "option log_level is \"%s\"; it must be none, warning, info or debug", text);
}

static oclattn_status read_size(const char *text, int64_t *size, oclattn_error *error) {
    char *end = NULL;
    if (text[0] == '\0') {
        return OCLATTN_OK;
    }
    errno = 0;
    *size = strtoll(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && *size >= 0) {
        return OCLATTN_OK;
    }
    return refuse(error, OCLATTN_INVALID_ARGUMENT, "option min_size is \"%s\"; it must be a number from 0 on", text);
}

static bool is_known(const char *key) {
    static const char *const known[] = {"device", "cache_folder", "log_level", "min_size"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        if (strcmp(key, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static oclattn_status check_names(const ort_host *host, const ort_pairs *pairs, oclattn_error *error) {
    const char *const *keys = NULL, *const *values = NULL;
    const size_t prefix = strlen(PREFIX);
    size_t count = 0;
    host->api->GetKeyValuePairs(pairs, &keys, &values, &count);
    for (size_t i = 0; i < count; ++i) {
        if (strncmp(keys[i], PREFIX, prefix) == 0 && !is_known(keys[i] + prefix)) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT,
                          "option %s is not known; device, cache_folder, log_level and min_size are", keys[i] + prefix);
        }
    }
    return OCLATTN_OK;
}

/* A misspelled option would be none. */
static oclattn_status refuse_unknown(const ort_host *host, const ort_session_options *session, oclattn_error *error) {
    ort_pairs *pairs = NULL;
    RETURN_IF_ERROR(host_check(host, host->api->GetSessionOptionsConfigEntries(session, &pairs), error));
    const oclattn_status status = check_names(host, pairs, error);
    host->api->ReleaseKeyValuePairs(pairs);
    return status;
}

oclattn_status options_read(const ort_host *host, const ort_session_options *session, session_settings *read,
                            oclattn_error *error) {
    char text[OPTION_SIZE];
    *read = (session_settings){.log_level = OCLATTN_LOG_INFO};
    RETURN_IF_ERROR(refuse_unknown(host, session, error));
    RETURN_IF_ERROR(read_entry(host, session, "session.intra_op.allow_spinning", text, error));
    read->host_spins = strcmp(text, "0") != 0;
    RETURN_IF_ERROR(read_text(host, session, "device", read->device, error));
    RETURN_IF_ERROR(read_text(host, session, "cache_folder", read->cache_folder, error));
    RETURN_IF_ERROR(read_text(host, session, "log_level", text, error));
    RETURN_IF_ERROR(read_level(text, &read->log_level, error));
    RETURN_IF_ERROR(read_text(host, session, "min_size", text, error));
    return read_size(text, &read->min_size, error);
}
