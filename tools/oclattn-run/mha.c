#include "mha.h"

#include <stdlib.h>

#define FIELD(name) offsetof(mha_options, name)

static const option_spec model_specs[] = {
    {"weights", "FILE", OPTION_TEXT, FIELD(weights),
     ".safetensors with W_q, W_k, W_v, W_head and optional b_q, b_k, b_v, b_head"},
    {"weights-layout", "in-out|out-in", OPTION_TEXT, FIELD(weights_layout),
     "how matrices are stored: y = x W (default), or PyTorch's"},
    {"input", "FILE", OPTION_TEXT, FIELD(input),
     ".npy with H [rows, d_model] or [batch, rows, d_model] (default: tensor H)"},
    {"kv-input", "FILE", OPTION_TEXT, FIELD(kv_input), ".npy with the input of keys and values: cross-attention"},
    {"heads", "N", OPTION_COUNT, FIELD(heads), "number of heads; d_model = heads x head_dim"},
    {"kv-heads", "N", OPTION_COUNT, FIELD(kv_heads), "number of key/value heads; divides heads (default: heads)"},
    {"head-dim", "N", OPTION_COUNT, FIELD(head_dim), "width of one head, if it is not d_model / heads"},
    {"v-dim", "N", OPTION_COUNT, FIELD(v_dim), "width of one head's values, if it is not head_dim"},
    {"split-merge", NULL, OPTION_FLAG, FIELD(split_merge), "run Split and Merge as kernels, not by strides; same bits"},
    {"projection", "NAME", OPTION_TEXT, FIELD(projection),
     "projection kernel: projection_portable, projection_tiled_cpu or projection_clblast"},
};

static const option_spec result_specs[] = {
    {"out", "FILE", OPTION_TEXT, FIELD(out), ".npy for F(H), of the input's shape"},
    {"expect", "NAME", OPTION_TEXT, FIELD(expect),
     "tensor of the weights file that F(H) must equal; exit code 1 if not"},
};

static const option_spec size_specs[] = {
    {"d-model", "N", OPTION_COUNT, FIELD(d_model), "width of the model"},
    {"batch", "N", OPTION_SIZE, FIELD(batch), "sequences (default 1)"},
    {"q-len", "N", OPTION_SIZE, FIELD(q_len), "rows of H (default 128)"},
    {"kv-len", "N", OPTION_SIZE, FIELD(kv_len), "rows of another input of keys and values: cross-attention"},
};

#define GROUP_COUNT 5

static void option_groups(mha_options *o, option_group groups[GROUP_COUNT]) {
    groups[0] = (option_group){"Model", model_specs, sizeof model_specs / sizeof model_specs[0], o};
    groups[1] = (option_group){"Result", result_specs, sizeof result_specs / sizeof result_specs[0], o};
    groups[2] = (option_group){"Sizes instead of files, with --explain", size_specs,
                               sizeof size_specs / sizeof size_specs[0], o};
    groups[3] = score_option_group(&o->score);
    groups[4] = common_option_group(&o->common);
}

static const char help_start[] =
    "Usage: oclattn-run mha --weights FILE --heads N [--input FILE] [options]\n"
    "       oclattn-run mha --explain --d-model N --heads N [options]\n"
    "\n"
    "Computes F(H) = Merge(head_1, ..., head_tau) W_head on an OpenCL device, where\n"
    "  Q = H W_q, K = H W_k, V = H W_v are split by columns into heads of head_dim = d_model / heads columns each,\n"
    "  head_j = softmax(scale Q_j K_j^T) V_j is [rows, head_dim],\n"
    "  and the heads side by side are [rows, d_model] again, so that F(H) can be added to H.\n"
    "\n"
    "Prints the shape at every stage, the kernels, the error (--expect, --check) and the time.\n";

static const char help_end[] =
    "\nExamples\n"
    "  oclattn-run mha --weights layer.safetensors --heads 12 --expect F\n"
    "  oclattn-run mha --weights layer.safetensors --heads 12 --input h.npy --causal --out f.npy --check\n"
    "  oclattn-run mha --explain --d-model 768 --heads 12\n"
    "\nExit codes: 0 done, 1 a check failed, 2 usage or bad input, 3 no such device, 4 driver or runtime error\n";

static void print_help(const option_group *groups) {
    fputs(help_start, stdout);
    options_print(groups, GROUP_COUNT, stdout);
    fputs(help_end, stdout);
}

/* ---- the computation -------------------------------------------------------------------------------------------- */

enum { AGAINST_EXPECTED, AGAINST_FLOAT64, COMPARISON_COUNT };

typedef struct mha_run {
    const mha_options *options;
    mha_problem problem;
    device_session session;
    oclattn_plan *plan;
    oclattn_weights *weights;
    oclattn_mha_args args;
    timing time;
    comparison comparisons[COMPARISON_COUNT];
} mha_run;

static bool make_plan(mha_run *run, failure *f) {
    oclattn_error error = {0};
    const oclattn_status status = oclattn_mha_plan(run->session.context, &run->problem.desc, &run->plan, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool prepare_weights(mha_run *run, failure *f) {
    static const char *const names[] = {"W_q", "W_k", "W_v", "W_head"};
    oclattn_mha_weights_args a;
    oclattn_error error = {0};
    oclattn_mha_weights_args_init(&a);
    oclattn_tensor *w[] = {&a.w_q, &a.w_k, &a.w_v, &a.w_head}, *b[] = {&a.b_q, &a.b_k, &a.b_v, &a.b_head};
    for (int which = 0; which < WEIGHT_COUNT; which++) {
        if (!device_upload(&run->session, names[which], &run->problem.w[which], w[which], f) ||
            !device_upload(&run->session, names[which], &run->problem.b[which], b[which], f)) {
            return false;
        }
    }
    const oclattn_status status = oclattn_mha_weights(run->plan, run->session.queue, &a, &run->weights, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool make_arguments(mha_run *run, failure *f) {
    oclattn_mha_args *a = &run->args;
    device_session *s = &run->session;
    mha_problem *p = &run->problem;
    oclattn_mha_args_init(a);
    a->weights = run->weights;
    return device_upload(s, "the input", &p->x, &a->x, f) && device_upload(s, "the other input", &p->kv, &a->kv, f) &&
           device_upload(s, "F(H)", &p->result.array, &a->y, f) && score_upload(s, &p->score, &a->score, f) &&
           device_workspace(s, oclattn_plan_workspace_bytes(run->plan), &a->workspace, f);
}

static bool enqueue(void *job, cl_event *event, failure *f) {
    mha_run *run = job;
    oclattn_error error = {0};
    const oclattn_status status =
        oclattn_mha_enqueue(run->plan, run->session.queue, &run->args, 0, NULL, event, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool compute(mha_run *run, failure *f) {
    mha_problem *p = &run->problem;
    if (!prepare_weights(run, f) || !make_arguments(run, f)) {
        return false;
    }
    const run_output output = {run->args.y, &p->result.array};
    if (!timing_run(&run->session, run->options->common.repeat, enqueue, run, &output, 1, &run->time, f)) {
        return false;
    }
    if (p->expected.data) {
        mha_compare_expected(p, &run->comparisons[AGAINST_EXPECTED]);
    }
    return (!run->options->common.check || mha_check(p, &run->comparisons[AGAINST_FLOAT64], f)) &&
           results_write(&p->result, 1, f);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

static const char *against(const mha_run *run, int which) {
    return which == AGAINST_EXPECTED ? run->options->expect : "float64";
}

static void print_stages(const mha_problem *p) {
    mha_stage stages[MOST_STAGES];
    char shape[SHAPE_TEXT_SIZE], sentence[400];
    const size_t count = mha_stages(p, stages);
    for (size_t i = 0; i < count; i++) {
        printf("%-10s %-20s %s\n", stages[i].name, shape_text(stages[i].shape, stages[i].rank, shape), stages[i].what);
    }
    mha_width_sentence(&p->desc, sentence, sizeof sentence);
    printf("%s\n", sentence);
}

static void print_text(const mha_run *run, const char *plan) {
    device_print(&run->session.info);
    printf("%-10s %s\n", "type", type_name(run->problem.desc.x_type));
    print_stages(&run->problem);
    printf("%-10s %s\n", "variant", oclattn_plan_variant(run->plan));
    if (plan) {
        plan_print(plan);
    }
    if (!run->problem.has_data) {
        return;
    }
    timing_print(&run->time);
    for (int i = 0; i < COMPARISON_COUNT; i++) {
        if (run->comparisons[i].name) {
            comparison_print(&run->comparisons[i], against(run, i), stdout);
        }
    }
    results_print(&run->problem.result, 1);
}

static json_t *stages_json(const mha_problem *p) {
    mha_stage stages[MOST_STAGES];
    const size_t count = mha_stages(p, stages);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "stage", stages[i].name, "shape",
                                              shape_json(stages[i].shape, stages[i].rank), "what", stages[i].what));
    }
    return list;
}

static json_t *checks_json(const mha_run *run) {
    json_t *list = json_array();
    for (int i = 0; i < COMPARISON_COUNT; i++) {
        if (run->comparisons[i].name) {
            json_t *check = comparison_json(&run->comparisons[i]);
            json_object_set_new(check, "against", json_string(against(run, i)));
            json_array_append_new(list, check);
        }
    }
    return list;
}

static void print_json(const mha_run *run, const char *plan) {
    char sentence[400];
    mha_width_sentence(&run->problem.desc, sentence, sizeof sentence);
    json_t *root = json_pack("{s:s, s:o, s:s, s:o, s:s, s:s}", "command", "mha", "device",
                             device_json(&run->session.info), "type", type_name(run->problem.desc.x_type), "stages",
                             stages_json(&run->problem), "width", sentence, "variant", oclattn_plan_variant(run->plan));
    if (plan) {
        json_object_set_new(root, "plan", json_string(plan));
    }
    if (run->problem.has_data) {
        json_object_set_new(root, "time", timing_json(&run->time));
        json_object_set_new(root, "checks", checks_json(run));
        json_object_set_new(root, "written", results_json(&run->problem.result, 1));
    }
    json_print(root);
}

static bool report(const mha_run *run, failure *f) {
    char *plan = NULL;
    if (run->options->common.explain) {
        plan = plan_text(run->plan);
        if (!plan) {
            return fail_memory(f, "the explanation");
        }
    }
    if (run->options->common.json) {
        print_json(run, plan);
    } else {
        print_text(run, plan);
    }
    free(plan);
    return true;
}

static bool all_right(const mha_run *run) {
    bool right = !run->problem.has_data || run->time.same_bits;
    for (int i = 0; i < COMPARISON_COUNT; i++) {
        right = right && comparison_passes(&run->comparisons[i]);
    }
    return right;
}

exit_code mha_command(int count, char *const *words, failure *f) {
    mha_options options = {0};
    option_group groups[GROUP_COUNT];
    option_groups(&options, groups);
    if (!options_parse(groups, GROUP_COUNT, count, words, f)) {
        return f->code;
    }
    if (options.common.help) {
        print_help(groups);
        return EXIT_DONE;
    }
    mha_run run = {.options = &options};
    const bool good = mha_load(&options, &run.problem, f) &&
                      results_spare_inputs(&run.problem.result, 1, groups, GROUP_COUNT, f) && device_open(&run.session, &options.common, f) &&
                      make_plan(&run, f) && (!run.problem.has_data || compute(&run, f)) && report(&run, f);
    const exit_code code = !good ? f->code : all_right(&run) ? EXIT_DONE : EXIT_WRONG_RESULT;
    oclattn_weights_destroy(run.weights);
    oclattn_plan_destroy(run.plan);
    device_close(&run.session);
    mha_free(&run.problem);
    return code;
}
