/* oclattn-run: computes attention and F(H) from files, on an OpenCL device. */
#include <stdio.h>
#include <string.h>

#include "attention.h"
#include "mha.h"

static const char help[] =
    "oclattn-run: multi-head attention on an OpenCL device, from files to files\n"
    "\n"
    "Usage: oclattn-run COMMAND [options]\n"
    "\n"
    "  mha        F(H) = Merge(head_1, ..., head_tau) W_head: the attention block of a model, from a .safetensors\n"
    "             file with its weights\n"
    "  attention  softmax(scale q k^T + ...) v, head by head, from .npy files with q, k and v, and every option\n"
    "             of the library: masks, bias, causal, windows, soft cap, ALiBi, sinks, lengths, grouped heads\n"
    "\n"
    "Try\n"
    "  oclattn-run mha --explain --d-model 768 --heads 12\n"
    "  oclattn-run mha --help\n"
    "  oclattn-run attention --help\n"
    "\n"
    "The device is chosen by --device or the variable OCLATTN_DEVICE; without them it is the best GPU, then\n"
    "accelerator, then CPU. Results go to stdout (--json: as strict JSON), everything else to stderr.\n"
    "\n"
    "Exit codes: 0 done, 1 a check failed, 2 usage or bad input, 3 no such device, 4 driver or runtime error\n";

static exit_code run_command(int count, char **words, failure *f) {
    const char *command = count > 1 ? words[1] : "";
    if (count < 2) {
        fail_with(f, EXIT_BAD_INPUT, "say what to run: mha, attention, or --help");
        return f->code;
    }
    if (strcmp(command, "mha") == 0) {
        return mha_command(count - 2, words + 2, f);
    }
    if (strcmp(command, "attention") == 0) {
        return attention_command(count - 2, words + 2, f);
    }
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (strcmp(command, "--version") == 0) {
        printf("oclattn-run %s\n", oclattn_version());
        return EXIT_DONE;
    }
    fail_with(f, EXIT_BAD_INPUT, "'%s' is no command; there are mha and attention, and --help", command);
    return f->code;
}

int main(int count, char **words) {
    failure f = {0};
    exit_code code = run_command(count, words, &f);
    if (code == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
        fail_with(&f, EXIT_RUNTIME, "writing to stdout failed");
        code = f.code;
    }
    if (f.text[0] != '\0') {
        fprintf(stderr, "oclattn-run: %s\n", f.text);
    }
    return (int)code;
}
