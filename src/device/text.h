/* Text that drivers hand out, made safe to print, and small comparisons of it. */
#ifndef OCLATTN_DEVICE_TEXT_H
#define OCLATTN_DEVICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies at most raw_length bytes of raw, which need not end in 0, into text of `size` bytes: cut between characters,
 * blanks at both ends removed, control characters replaced by a blank and invalid UTF-8 by '?'. */
void text_clean(char *text, size_t size, const char *raw, size_t raw_length);

/* Whether `words`, separated by blanks, holds `word` as a whole. */
bool text_has_word(const char *words, const char *word);

/* ASCII letters compare without case, whatever the locale. */
bool text_equal_ignoring_case(const char *a, const char *b);
bool text_contains_ignoring_case(const char *text, const char *part);

#endif
