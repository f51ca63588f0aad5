/* Rules that tile sizes obey. */
#ifndef OCLATTN_PLAN_TILE_RULES_H
#define OCLATTN_PLAN_TILE_RULES_H

#include "../program/text.h"

/* Whether `whole` is a multiple of `part`; if not, `why` receives the sentence. */
bool tile_divides(int part, int whole, const char *part_name, const char *whole_name, text *why);

#endif
