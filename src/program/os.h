/* The few things that C11 does not offer. */
#ifndef OCLATTN_PROGRAM_OS_H
#define OCLATTN_PROGRAM_OS_H

#include <stdbool.h>

long os_process_id(void);

/* Makes a folder and its parents, for the user alone. One that is there already is fine; errno says why it failed. */
bool os_make_folders(const char *path);

/* Whether files can be made in a folder; errno says why not. */
bool os_may_write_in(const char *folder);

/* False also for a pipe, whose opening would wait for ever. */
bool os_is_regular_file(const char *path);

#endif
