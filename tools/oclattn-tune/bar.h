/* How far the work is, on a line of stderr: on a terminal only. */
#ifndef OCLATTN_TUNE_BAR_H
#define OCLATTN_TUNE_BAR_H

#include <stdbool.h>

typedef struct bar {
    double start_s, budget_s;
    bool on_terminal;
} bar;

bar bar_start(double budget_s);
/* `words` tell what is done now. */
void bar_show(const bar *b, const char *words);
/* Before anything else is printed. */
void bar_hide(const bar *b);

#endif
