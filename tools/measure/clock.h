#ifndef OCLATTN_MEASURE_CLOCK_H
#define OCLATTN_MEASURE_CLOCK_H

/* Seconds, of a clock that never goes back. */
double now_s(void);

#endif
