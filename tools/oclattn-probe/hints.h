/* The usual reasons why a GPU, or any device, is missing. */
#ifndef OCLATTN_PROBE_HINTS_H
#define OCLATTN_PROBE_HINTS_H

#include <stdbool.h>

#include <jansson.h>

/* What can be seen of the machine beside OpenCL. */
typedef struct machine_signs {
    char open_node[64];   /* a GPU's device file that may be used; "": none */
    char closed_node[64]; /* one that is there and may not be used */
    char group[64];       /* whose members may use it; "": nobody but its owner, or it has no name */
    bool in_container;
} machine_signs;

/* root: "" for this machine, or a folder that stands for "/". */
void hints_read_signs(const char *root, machine_signs *signs);

/* Sets the "hint" of the document's loader, where there is one to give. */
void hints_add(json_t *document, const machine_signs *signs, const char *vendors_folder);

#endif
