/* Text in at most 100 columns. */
#ifndef OCLATTN_PROBE_WRAP_H
#define OCLATTN_PROBE_WRAP_H

#include <stdio.h>

/* Text after `indent` blanks, its first line after `label` (on a line of its own if it is too long), broken between
 * words; a word that is too long is broken anywhere. Control characters and invalid UTF-8, which users' words may hold,
 * do not get through. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void wrap_to(FILE *to, const char *label, int indent, const char *format, ...);

#define show_wrapped(...) wrap_to(stdout, __VA_ARGS__)

/* Copies a text; one that does not fit is cut between characters and ends in "...". size: at least 4. */
void text_cut(char *to, size_t size, const char *text);

#endif
