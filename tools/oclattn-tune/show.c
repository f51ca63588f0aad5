#include "show.h"

#include <stdio.h>
#include <string.h>

#include "plan/tuning_parameters.h"

/* What the library would take, with the file that this tool was told. */
static tuning values_in_force(const tune_machine *m, tuning_record records[TUNING_GROUPS]) {
    const char *path = m->file.length > 0 ? m->file.data : "";
    tuning_file_load(&m->played, path, records);
    return tuning_over(&m->played, path, records);
}

static void show_parameter(const tuning *tuned, const tuning_parameter *p) {
    char allowed[64];
    snprintf(allowed, sizeof allowed, "%d to %d%s", p->least, p->most, p->step > 1 ? ", in steps" : "");
    printf("  %-16s %6d   %s (%s)\n", p->name, tuning_value(tuned, p), p->meaning, allowed);
}

static json_t *parameter_json(const tuning *tuned, const tuning_parameter *p, const char *origin) {
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:i}", "group", tuning_groups[p->group].name, "name", p->name,
                     "value", tuning_value(tuned, p), "origin", origin, "meaning", p->meaning, "least", p->least,
                     "most", p->most, "step", p->step);
}

static void show_group(const tuning *tuned, const tuning_record *record, tuning_group group, bool quiet,
                       json_t *parameters) {
    text origin = {0};
    tuning_add_origin(tuned, group, &origin);
    const char *from = origin.failed ? "?" : origin.data;
    if (!quiet) {
        printf("\n%s: %s\n", tuning_groups[group].name, from);
    }
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        if (tuning_parameters[i].group != group) {
            continue;
        }
        if (!quiet) {
            show_parameter(tuned, &tuning_parameters[i]);
        }
        json_array_append_new(parameters, parameter_json(tuned, &tuning_parameters[i], from));
    }
    if (!quiet && record->found && record->measured[0] != '\0') {
        printf("  measured: %s (%s)\n", record->measured, record->search);
    }
    text_clear(&origin);
}

void show_in_force(const tune_machine *m, const tune_wish *wish, json_t *document) {
    tuning_record records[TUNING_GROUPS];
    const tuning tuned = values_in_force(m, records);
    json_t *parameters = json_array();
    for (int group = 0; group < TUNING_GROUPS; group++) {
        if (!wish->class_name || strcmp(wish->class_name, tuning_groups[group].name) == 0) {
            show_group(&tuned, &records[group], (tuning_group)group, wish->json, parameters);
        }
    }
    json_object_set_new(document, "lanes", json_integer(tuning_lanes(&m->played.caps)));
    json_object_set_new(document, "parameters", parameters);
}

static const char *state_of(const tuning_record *record, const tune_wish *wish) {
    if (!record->found || wish->restart) {
        return "to be measured";
    }
    return strcmp(record->search, "finished") == 0 ? "measured before, and skipped" : "to be continued";
}

static json_t *problems_json(const tune_class *c, bool quiet) {
    json_t *problems = json_array();
    for (int i = 0; i <= MOST_MEASURED; i++) {
        const tune_problem *problem = i == MOST_MEASURED ? &c->guarded : &c->measured[i];
        char words[128];
        if (problem->operation == TUNE_NOTHING) {
            continue;
        }
        problem_describe(problem, words, sizeof words);
        json_array_append_new(problems, json_string(words));
        if (!quiet) {
            printf("    %s%s\n", words, i == MOST_MEASURED ? " (must not become slower)" : "");
        }
    }
    return problems;
}

void show_plan(const tune_machine *m, const tune_wish *wish, json_t *document) {
    tuning_record records[TUNING_GROUPS];
    json_t *classes = json_array();
    values_in_force(m, records);
    for (size_t i = 0; i < tune_class_count; i++) {
        const tune_class *c = &tune_classes[i];
        if (!class_is_wanted(c, m, wish)) {
            continue;
        }
        const char *state = state_of(&records[c->group], wish);
        if (!wish->json) {
            printf("%s: %s; %s\n", class_name(c), c->what, state);
        }
        json_array_append_new(classes, json_pack("{s:s, s:s, s:s, s:o}", "class", class_name(c), "what", c->what,
                                                 "state", state, "problems", problems_json(c, wish->json)));
    }
    json_object_set_new(document, "classes", classes);
}
