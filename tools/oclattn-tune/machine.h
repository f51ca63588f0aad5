/* The device to be tuned, as the tool's own process knows it: it never calls OpenCL, its children do. */
#ifndef OCLATTN_TUNE_MACHINE_H
#define OCLATTN_TUNE_MACHINE_H

#include "io/failure.h"
#include "plan/tuning_file.h"

typedef struct tune_machine {
    oclattn_context played; /* with capabilities and folders, but no device */
    char *cache_dir;
    text file; /* the tuning file; empty: there is none */
} tune_machine;

/* spec: as oclattn_context_options.device; file NULL: the one that the library reads. machine_clear also after an
 * error. */
bool machine_read(tune_machine *m, const char *spec, const char *file, failure *f);
void machine_clear(tune_machine *m);

#endif
