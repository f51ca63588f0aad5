/* A folder of a test's own, under TMPDIR or /tmp. A failure here fails the running test. */
#ifndef TEST_SUPPORT_TEMP_FOLDER_H
#define TEST_SUPPORT_TEMP_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define TEMP_PATH_SIZE 512

void temp_folder_make(char path[TEMP_PATH_SIZE]);
void temp_folder_remove(const char *path); /* with all that is in it */

/* "folder/name". */
void temp_path(char path[TEMP_PATH_SIZE], const char *folder, const char *name);

void file_write(const char *path, const void *bytes, size_t size);
unsigned char *file_read(const char *path, size_t *size); /* free it */

/* How many files a folder holds; 0 where there is none. The path of the last one in *only, unless NULL. */
size_t folder_count(const char *folder, char only[TEMP_PATH_SIZE]);

#endif
