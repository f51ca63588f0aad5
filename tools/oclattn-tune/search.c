#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 2, FARTHEST_STEP = 8, LONGEST_MENDING_STEP = 4, MOST_RUNGS = 128 };

typedef struct key {
    int values[MOST_GROUP_VALUES];
} key;

typedef struct search {
    tuning_group group;
    int lanes;
    tuning *best;
    search_ask ask;
    void *user;
    key *tried;
    size_t tried_count, tried_capacity;
    bool stopped, no_memory, improved;
} search;

/* ---- the values that a parameter may step to ------------------------------------------------------------------- */

/* Fine steps for small numbers, and a quarter of a power of two for larger ones. */
static int next_rung(int value) {
    int step = 1;
    while (value >= 8 * step) {
        step *= 2;
    }
    return (value / step + 1) * step;
}

static bool is_rung(const tuning_parameter *p, int value) {
    /* Sizes of work-groups go in powers of two. */
    const bool doubles = p->step == 1 && p->most > 256;
    return tuning_allows(p, value) && (!doubles || (value & (value - 1)) == 0);
}

/* The value that lies `steps` rungs above (or below, if negative). False: the range ends before. */
static bool step_from(const tuning_parameter *p, int value, int steps, int *found) {
    int rungs[MOST_RUNGS];
    int count = 0, at = -1;
    for (int rung = p->least; rung <= p->most && count < MOST_RUNGS; rung = next_rung(rung)) {
        if (rung >= value && at < 0) {
            at = count;
            rungs[count++] = value;
        }
        if (rung != value && is_rung(p, rung) && count < MOST_RUNGS) {
            rungs[count++] = rung;
        }
    }
    if (at < 0 || at + steps < 0 || at + steps >= count) {
        return false;
    }
    *found = rungs[at + steps];
    return true;
}

/* ---- candidates ------------------------------------------------------------------------------------------------- */

static bool obeys(const search *s, const tuning *candidate) {
    text why = {0};
    const bool good = tuning_check(candidate, s->group, s->lanes, &why);
    text_clear(&why);
    return good;
}

/* Moves one other parameter as little as makes the rules hold. */
static bool mend(const search *s, const tuning_parameter *fixed, tuning *candidate) {
    for (int distance = 1; distance <= LONGEST_MENDING_STEP; distance++) {
        for (size_t i = 0; i < tuning_parameter_count; i++) {
            const tuning_parameter *p = &tuning_parameters[i];
            for (int steps = distance; p->group == s->group && p != fixed && steps >= -distance;
                 steps -= 2 * distance) {
                tuning moved = *candidate;
                int value = 0;
                if (!step_from(p, tuning_value(candidate, p), steps, &value)) {
                    continue;
                }
                tuning_set_value(&moved, p, value);
                if (obeys(s, &moved)) {
                    *candidate = moved;
                    return true;
                }
            }
        }
    }
    return false;
}

/* As it is, or mended. False: neither obeys the rules. */
static bool make_candidate(const search *s, const tuning_parameter *p, int steps, bool mended, tuning *candidate) {
    int value = 0;
    if (!step_from(p, tuning_value(s->best, p), steps, &value)) {
        return false;
    }
    *candidate = *s->best;
    tuning_set_value(candidate, p, value);
    return mended ? mend(s, p, candidate) : obeys(s, candidate);
}

size_t search_values(tuning_group group, const tuning *tuned, int values[MOST_GROUP_VALUES]) {
    size_t count = 0;
    for (size_t i = 0; i < tuning_parameter_count && count < MOST_GROUP_VALUES; i++) {
        if (tuning_parameters[i].group == group) {
            values[count++] = tuning_value(tuned, &tuning_parameters[i]);
        }
    }
    return count;
}

static key key_of(const search *s, const tuning *candidate) {
    key made = {{0}};
    search_values(s->group, candidate, made.values);
    return made;
}

/* Remembers it. False: it was there, or memory is short. */
static bool is_new(search *s, const tuning *candidate) {
    const key wanted = key_of(s, candidate);
    for (size_t i = 0; i < s->tried_count; i++) {
        if (memcmp(&s->tried[i], &wanted, sizeof wanted) == 0) {
            return false;
        }
    }
    if (s->tried_count == s->tried_capacity) {
        const size_t capacity = 2 * s->tried_capacity + 64;
        key *tried = realloc(s->tried, capacity * sizeof *tried);
        if (!tried) {
            s->no_memory = s->stopped = true;
            return false;
        }
        s->tried = tried;
        s->tried_capacity = capacity;
    }
    s->tried[s->tried_count++] = wanted;
    return true;
}

/* True: it is the best one now. */
static bool try_candidate(search *s, const tuning *candidate) {
    if (s->stopped || !is_new(s, candidate)) {
        return false;
    }
    const search_answer answer = s->ask(candidate, s->user);
    s->stopped = answer == SEARCH_STOP;
    if (answer != SEARCH_BETTER) {
        return false;
    }
    *s->best = *candidate;
    s->improved = true;
    return true;
}

/* The nearest values that obey the rules by themselves, and still nearer ones that need mending. */
static bool try_direction(search *s, const tuning_parameter *p, int direction) {
    const int most_steps = tuning_is_choice(p) ? FARTHEST_STEP : MOST_STEPS;
    int found = 0;
    for (int distance = 1; distance <= FARTHEST_STEP && found < most_steps; distance++) {
        tuning candidate;
        const bool plain = make_candidate(s, p, direction * distance, false, &candidate);
        found += plain;
        const bool tried =
            plain || (distance <= MOST_STEPS && make_candidate(s, p, direction * distance, true, &candidate));
        if (tried && try_candidate(s, &candidate)) {
            return true;
        }
    }
    return false;
}

/* Up and down, and on where it got better. */
static void try_parameter(search *s, const tuning_parameter *p) {
    while (try_direction(s, p, 1)) {
    }
    while (try_direction(s, p, -1)) {
    }
}

search_end search_descend(tuning_group group, int lanes, tuning *best, search_ask ask, void *user) {
    search s = {.group = group, .lanes = lanes, .best = best, .ask = ask, .user = user};
    is_new(&s, best);
    do {
        s.improved = false;
        for (size_t i = 0; i < tuning_parameter_count && !s.stopped; i++) {
            if (tuning_parameters[i].group == group) {
                try_parameter(&s, &tuning_parameters[i]);
            }
        }
    } while (s.improved && !s.stopped);
    free(s.tried);
    return s.no_memory ? SEARCH_NO_MEMORY : s.stopped ? SEARCH_STOPPED : SEARCH_FINISHED;
}

void search_difference(tuning_group group, const tuning *from, const tuning *to, char *words, size_t size) {
    size_t length = 0;
    words[0] = '\0';
    for (size_t i = 0; i < tuning_parameter_count && length < size; i++) {
        const tuning_parameter *p = &tuning_parameters[i];
        const int before = tuning_value(from, p), after = tuning_value(to, p);
        if (p->group == group && before != after) {
            length += (size_t)snprintf(words + length, size - length, "%s%s %d -> %d", length > 0 ? ", " : "", p->name,
                                       before, after);
        }
    }
}
