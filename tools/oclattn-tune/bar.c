#include "bar.h"

#include <stdio.h>
#include <unistd.h>

#include "measure/clock.h"

enum { BAR_WIDTH = 24 };

bar bar_start(double budget_s) {
    return (bar){.start_s = now_s(), .budget_s = budget_s, .on_terminal = isatty(STDERR_FILENO) == 1};
}

void bar_show(const bar *b, const char *words) {
    const double spent = now_s() - b->start_s;
    const double share = b->budget_s > 0 && spent < b->budget_s ? spent / b->budget_s : 1;
    char blocks[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) {
        blocks[i] = i < (int)(share * BAR_WIDTH) ? '#' : '.';
    }
    blocks[BAR_WIDTH] = '\0';
    if (b->on_terminal) {
        fprintf(stderr, "\r\033[K[%s] %.0f of %.0f s  %s", blocks, spent, b->budget_s, words);
        fflush(stderr);
    }
}

void bar_hide(const bar *b) {
    if (b->on_terminal) {
        fprintf(stderr, "\r\033[K");
    }
}
