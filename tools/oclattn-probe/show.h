/* What goes to stdout, but JSON: at most 100 columns, except what scripts read. */
#ifndef OCLATTN_PROBE_SHOW_H
#define OCLATTN_PROBE_SHOW_H

#include "machine.h"

/* One screen. */
void show_overview(const machine *m, const json_t *document);
/* Platforms and devices, two lines each. */
void show_list(const machine *m, const json_t *document);
/* Every fact. */
void show_all(const machine *m, const json_t *document);
/* One "key value" a line. */
void show_raw(const machine *m, const json_t *document);
/* A plan of machine_explain. */
void show_plan(const json_t *plan);

#endif
