/* Options of a session: device, cache_folder, log_level, min_size, and what it says of its threads. */
#ifndef OCLATTN_ORT_OPTIONS_H
#define OCLATTN_ORT_OPTIONS_H

#include "host.h"

enum { OPTION_SIZE = 1024 };

typedef struct session_settings {
    char device[OPTION_SIZE];       /* "": as OCLATTN_DEVICE says, or the best */
    char cache_folder[OPTION_SIZE]; /* "none": no cache; "": the usual folder */
    oclattn_log_level log_level;
    int64_t min_size; /* scores that a node must have, batch * heads * q_len * kv_len, to be claimed */
    bool host_spins;  /* the session's threads look for work in a busy loop before they sleep */
} session_settings;

oclattn_status options_read(const ort_host *host, const ort_session_options *session, session_settings *read,
                            oclattn_error *error);

#endif
