#include "attention.h"

#include <stdlib.h>

#define FIELD(name) offsetof(attention_options, name)

static const option_spec tensor_specs[] = {
    {"q", "FILE", OPTION_TEXT, FIELD(q), "queries [batch, q_heads, q_len, head_dim]"},
    {"k", "FILE", OPTION_TEXT, FIELD(k), "keys [batch, kv_heads, kv_len, head_dim]; kv_heads divides q_heads"},
    {"v", "FILE", OPTION_TEXT, FIELD(v), "values [batch, kv_heads, kv_len, v_dim]"},
    {"layout", "bhsd|bshd", OPTION_TEXT, FIELD(layout),
     "order of the dimensions of q, k, v and the output (default bhsd)"},
    {"kv-dtype", "f32|f16|bf16", OPTION_TEXT, FIELD(kv_dtype), "storage type of k and v (default: --dtype)"},
    {"q-starts", "FILE", OPTION_TEXT, FIELD(q_starts),
     "integers [batch + 1]: sequences packed in the rows of q [1, ...]"},
    {"kv-starts", "FILE", OPTION_TEXT, FIELD(kv_starts), "the same for k and v"},
    {"shape", "B,Hq,Hkv,Sq,Skv,D,Dv", OPTION_TEXT, FIELD(shape), "sizes instead of files, with --explain"},
    {"kv-chunk", "N", OPTION_SIZE, FIELD(kv_chunk),
     "take keys in chunks of N and merge the parts; 0: the plan decides"},
};

static const option_spec result_specs[] = {
    {"out", "FILE", OPTION_TEXT, FIELD(out), "the output [batch, q_heads, q_len, v_dim]"},
    {"lse", "FILE", OPTION_TEXT, FIELD(lse), "log of the softmax's denominator [batch, q_heads, q_len], float32"},
    {"probs", "FILE", OPTION_TEXT, FIELD(probs), "probabilities [batch, q_heads, q_len, kv_len], float32"},
    {"scores", "FILE", OPTION_TEXT, FIELD(scores), "scores instead, of the same shape"},
    {"scores-kind", "KIND", OPTION_TEXT, FIELD(scores_kind), "scaled, capped, or biased (default; -inf where hidden)"},
};

#define GROUP_COUNT 4

static void option_groups(attention_options *o, option_group groups[GROUP_COUNT]) {
    groups[0] = (option_group){"Tensors (.npy files)", tensor_specs, sizeof tensor_specs / sizeof tensor_specs[0], o};
    groups[1] = score_option_group(&o->score);
    groups[2] = (option_group){"Results (.npy files)", result_specs, sizeof result_specs / sizeof result_specs[0], o};
    groups[3] = common_option_group(&o->common);
}

static const char help_start[] =
    "Usage: oclattn-run attention --q FILE --k FILE --v FILE [options]\n"
    "       oclattn-run attention --explain --shape B,Hq,Hkv,Sq,Skv,D,Dv [options]\n"
    "\n"
    "Computes o = softmax(scale q k^T + ...) v for every head, on an OpenCL device.\n"
    "For query i and key j: the score is scale * q_i.k_j, then capped, then biased; hidden keys (mask, causal,\n"
    "window, lengths) count for nothing; a row that sees no key is 0. Fewer heads in k and v mean that each of\n"
    "them serves q_heads / kv_heads query heads.\n"
    "\n"
    "f16 results are written as float16, bf16 results as float32.\n"
    "Causal, windows and ALiBi need --align, unless q_len = kv_len and no lengths are given.\n";

static const char help_end[] =
    "\nExamples\n"
    "  oclattn-run attention --q q.npy --k k.npy --v v.npy --out o.npy --check\n"
    "  oclattn-run attention --q q.npy --k k.npy --v v.npy --causal --align bottom-right --window 255,0 --out o.npy\n"
    "  oclattn-run attention --q q.npy --k k.npy --v v.npy --dtype f32 --kv-dtype f16 --kv-lens lens.npy --repeat 20\n"
    "  oclattn-run attention --explain --shape 1,32,8,1,4096,128,128 --kv-lens lens.npy\n"
    "\nExit codes: 0 done, 1 a check failed, 2 usage or bad input, 3 no such device, 4 driver or runtime error\n";

static void print_help(const option_group *groups) {
    fputs(help_start, stdout);
    options_print(groups, GROUP_COUNT, stdout);
    fputs(help_end, stdout);
}

/* ---- the computation -------------------------------------------------------------------------------------------- */

typedef struct attention_run {
    const attention_options *options;
    attention_problem problem;
    device_session session;
    oclattn_plan *plan;
    oclattn_attention_args args;
    timing time;
    comparison comparisons[RESULT_COUNT];
} attention_run;

static bool make_plan(attention_run *run, failure *f) {
    oclattn_error error = {0};
    const oclattn_status status = oclattn_attention_plan(run->session.context, &run->problem.desc, &run->plan, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool make_arguments(attention_run *run, failure *f) {
    attention_problem *p = &run->problem;
    device_session *s = &run->session;
    oclattn_attention_args *a = &run->args;
    oclattn_attention_args_init(a);
    return device_upload(s, "q", &p->q, &a->q, f) && device_upload(s, "k", &p->k, &a->k, f) &&
           device_upload(s, "v", &p->v, &a->v, f) &&
           device_upload(s, "the output", &p->results[RESULT_O].array, &a->o, f) &&
           device_upload(s, "the LSE", &p->results[RESULT_LSE].array, &a->lse, f) &&
           device_upload(s, "the scores", &p->results[RESULT_SCORES].array, &a->scores, f) &&
           score_upload(s, &p->score, &a->score, f) &&
           device_workspace(s, oclattn_plan_workspace_bytes(run->plan), &a->workspace, f);
}

static bool enqueue(void *job, cl_event *event, failure *f) {
    attention_run *run = job;
    oclattn_error error = {0};
    const oclattn_status status =
        oclattn_attention_enqueue(run->plan, run->session.queue, &run->args, 0, NULL, event, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool compute(attention_run *run, failure *f) {
    result_file *r = run->problem.results;
    if (!make_arguments(run, f)) {
        return false;
    }
    const run_output outputs[RESULT_COUNT] = {{run->args.o, &r[RESULT_O].array},
                                              {run->args.lse, &r[RESULT_LSE].array},
                                              {run->args.scores, &r[RESULT_SCORES].array}};
    return timing_run(&run->session, run->options->common.repeat, enqueue, run, outputs, RESULT_COUNT, &run->time, f) &&
           (!run->options->common.check || attention_check(&run->problem, run->comparisons, f)) &&
           results_write(r, RESULT_COUNT, f);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

typedef struct tensor_line {
    const char *name;
    int64_t shape[4];
    oclattn_type type;
} tensor_line;

static void describe_tensors(const oclattn_attention_desc *d, tensor_line lines[4]) {
    lines[0] = (tensor_line){"q", {d->batch, d->q_heads, d->q_len, d->head_dim}, d->q_type};
    lines[1] = (tensor_line){"k", {d->batch, d->kv_heads, d->kv_len, d->head_dim}, d->k_type};
    lines[2] = (tensor_line){"v", {d->batch, d->kv_heads, d->kv_len, d->v_dim}, d->v_type};
    lines[3] = (tensor_line){"o", {d->batch, d->q_heads, d->q_len, d->v_dim}, d->o_type};
}

static void print_text(const attention_run *run, const char *plan) {
    tensor_line lines[4];
    char shape[SHAPE_TEXT_SIZE];
    device_print(&run->session.info);
    describe_tensors(&run->problem.desc, lines);
    for (int i = 0; i < 4; i++) {
        printf("%-10s %s %s\n", lines[i].name, shape_text(lines[i].shape, 4, shape), type_name(lines[i].type));
    }
    printf("%-10s %s\n", "variant", oclattn_plan_variant(run->plan));
    if (plan) {
        plan_print(plan);
    }
    if (!run->problem.has_data) {
        return;
    }
    timing_print(&run->time);
    for (int i = 0; i < RESULT_COUNT; i++) {
        if (run->comparisons[i].name) {
            comparison_print(&run->comparisons[i], "float64", stdout);
        }
    }
    results_print(run->problem.results, RESULT_COUNT);
}

static void print_json(const attention_run *run, const char *plan) {
    tensor_line lines[4];
    json_t *root = json_pack("{s:s, s:o, s:s}", "command", "attention", "device", device_json(&run->session.info),
                             "variant", oclattn_plan_variant(run->plan));
    json_t *shapes = json_object();
    describe_tensors(&run->problem.desc, lines);
    for (int i = 0; i < 4; i++) {
        json_object_set_new(
            shapes, lines[i].name,
            json_pack("{s:o, s:s}", "shape", shape_json(lines[i].shape, 4), "type", type_name(lines[i].type)));
    }
    json_object_set_new(root, "tensors", shapes);
    if (plan) {
        json_object_set_new(root, "plan", json_string(plan));
    }
    if (run->problem.has_data) {
        json_t *checks = json_array();
        for (int i = 0; i < RESULT_COUNT; i++) {
            if (run->comparisons[i].name) {
                json_array_append_new(checks, comparison_json(&run->comparisons[i]));
            }
        }
        json_object_set_new(root, "time", timing_json(&run->time));
        json_object_set_new(root, "checks", checks);
        json_object_set_new(root, "written", results_json(run->problem.results, RESULT_COUNT));
    }
    json_print(root);
}

static bool report(const attention_run *run, failure *f) {
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

static bool all_right(const attention_run *run) {
    bool right = !run->problem.has_data || run->time.same_bits;
    for (int i = 0; i < RESULT_COUNT; i++) {
        right = right && comparison_passes(&run->comparisons[i]);
    }
    return right;
}

exit_code attention_command(int count, char *const *words, failure *f) {
    attention_options options = {0};
    option_group groups[GROUP_COUNT];
    option_groups(&options, groups);
    if (!options_parse(groups, GROUP_COUNT, count, words, f)) {
        return f->code;
    }
    if (options.common.help) {
        print_help(groups);
        return EXIT_DONE;
    }
    attention_run run = {.options = &options};
    const bool good = attention_load(&options, &run.problem, f) &&
                      results_spare_inputs(run.problem.results, RESULT_COUNT, groups, GROUP_COUNT, f) && device_open(&run.session, &options.common, f) &&
                      make_plan(&run, f) && (!run.problem.has_data || compute(&run, f)) && report(&run, f);
    const exit_code code = !good ? f->code : all_right(&run) ? EXIT_DONE : EXIT_WRONG_RESULT;
    oclattn_plan_destroy(run.plan);
    device_close(&run.session);
    attention_free(&run.problem);
    return code;
}
