/* oclattn-bench: how fast attention is here, beside what the device could do. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "first_result.h"

static const char help_start[] =
    "Usage: oclattn-bench [attention|mha|decode|projection] [options]\n"
    "\n"
    "Measures a suite of problems, or one: least and median time, the arithmetic and memory rates of the\n"
    "least time, and their share of what the device reaches at best, measured in the same run. Decoding\n"
    "reads copies of K and V that no cache holds, and is held to the rate of reading memory; the others\n"
    "are held to the rate of f32 multiplications with additions (FMA).\n";

static const char help_end[] =
    "\nTry\n"
    "  oclattn-bench                              a few problems on the best device\n"
    "  oclattn-bench --suite all --device all --json > before.json\n"
    "  oclattn-bench --suite all --device all --baseline before.json\n"
    "  oclattn-bench attention --heads 32 --kv-heads 8 --q-len 1024 --head-dim 128 --causal --check\n"
    "  oclattn-bench decode --kv-len 16384 --kv-heads 8 --dtype f16\n"
    "  oclattn-bench --latency\n"
    "\nExit codes: 0 done, 1 a wrong result or slower than the baseline, 2 usage, 3 no such device,\n"
    "4 a driver failed\n";

static void print_help(const option_group *groups) {
    fputs(help_start, stdout);
    options_print(groups, OPTION_GROUPS, stdout);
    fputs(help_end, stdout);
}

/* This program, for starting it again. */
static const char *own_path(const char *called_as, char *path, size_t size) {
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0) {
        return called_as;
    }
    path[length] = '\0';
    return path;
}

static exit_code measure(const char *called_as, const char *command, const bench_options *o, failure *f) {
    char path[4096];
    wishes w;
    exit_code code = EXIT_DONE;
    if (!wishes_make(command, o, &w, f)) {
        code = f->code;
    } else if (o->list) {
        bench_list(o, &w);
    } else {
        code = bench_run(own_path(called_as, path, sizeof path), o, &w, f);
    }
    wishes_clear(&w);
    return code;
}

static exit_code run(int count, char **words, failure *f) {
    bench_options o = {0};
    option_group groups[OPTION_GROUPS];
    const char *command = count > 1 && words[1][0] != '-' ? words[1] : NULL;
    const int used = command ? 2 : 1;
    wishes_option_groups(&o, groups);
    if (!options_parse(groups, OPTION_GROUPS, count - used, words + used, f)) {
        return f->code;
    }
    if (o.help) {
        print_help(groups);
        return EXIT_DONE;
    }
    if (o.version) {
        printf("oclattn-bench %s\n", oclattn_version());
        return EXIT_DONE;
    }
    if (command && strcmp(command, FIRST_RESULT_COMMAND) == 0) {
        const char *spec = o.devices.count > 0 ? o.devices.items[0] : NULL;
        return first_result_run(spec, f) ? EXIT_DONE : f->code;
    }
    return measure(words[0], command, &o, f);
}

int main(int count, char **words) {
    failure f = {0};
    exit_code code = run(count, words, &f);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fail_with(&f, EXIT_RUNTIME, "writing to stdout failed");
        code = f.code;
    }
    if (f.text[0] != '\0') {
        fprintf(stderr, "oclattn-bench: %s\n", f.text);
    }
    return (int)code;
}
