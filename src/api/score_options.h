/* Defaults of score options, which attention and F(H) share. */
#ifndef OCLATTN_API_SCORE_OPTIONS_H
#define OCLATTN_API_SCORE_OPTIONS_H

#include <oclattn/oclattn.h>

void score_options_init(oclattn_score_options *options);

#endif
