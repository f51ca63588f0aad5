/* What the library would do with the devices of a document: which one it would choose, and which variants run there.
 * The library's own code decides, on capabilities made from the facts; so it answers for captures as well. */
#ifndef OCLATTN_PROBE_MACHINE_H
#define OCLATTN_PROBE_MACHINE_H

#include <jansson.h>

#include "device/device.h"
#include "io/failure.h"
#include "program/context.h"

typedef struct machine {
    device_list list;
    json_t **devices;   /* of the document, in the order of the list */
    json_t **platforms; /* of each device */
    size_t chosen;      /* in the list */
} machine;

/* Marks "alias_of" and "unusable_because" in the document's devices. */
bool machine_make(machine *m, json_t *document, failure *f);
void machine_clear(machine *m);

/* Chooses by `spec` (NULL: as the library does without one) and adds "choice" to the document, with what the library
 * would run. False: no device fits, or `f` tells another trouble. `cache_dir`: where the quarantine is looked up; NULL:
 * none. */
bool machine_choose(machine *m, json_t *document, const char *spec, const char *cache_dir, failure *f);

/* The plan that the library would make for attention of these sizes on the chosen device: {"shape", "variant",
 * "refusals", "plan"}, variant null where none fits. shape: B, Hq, Hkv, Sq, Skv, D, Dv. */
json_t *machine_explain(const machine *m, const int64_t shape[7], const char *wanted, const char *cache_dir);

#endif
