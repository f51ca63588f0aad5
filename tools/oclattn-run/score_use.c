/* Scoring data on its way to the device and to the reference. */
#include <stdlib.h>
#include <string.h>

#include "score.h"

bool score_upload(device_session *session, const score_data *data, oclattn_score_inputs *inputs, failure *f) {
    const struct {
        const char *what;
        const host_array *array;
        oclattn_tensor *tensor;
    } all[] = {
        {"the mask", &data->mask, &inputs->mask},
        {"the bias", &data->bias, &inputs->bias},
        {"the bias scale", &data->bias_scale, &inputs->bias_scale},
        {"the slopes", &data->alibi_slopes, &inputs->alibi_slopes},
        {"the sinks", &data->sinks, &inputs->sinks},
        {"the query lengths", &data->q_lens, &inputs->q_lens},
        {"the key lengths", &data->kv_lens, &inputs->kv_lens},
        {"the query starts", &data->q_starts, &inputs->q_starts},
        {"the key starts", &data->kv_starts, &inputs->kv_starts},
        {"the offsets", &data->offsets, &inputs->offsets},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!device_upload(session, all[i].what, all[i].array, all[i].tensor, f)) {
            return false;
        }
    }
    return true;
}

double *array_doubles(const host_array *array) {
    double *values = malloc((array->count + 1) * sizeof *values);
    for (size_t i = 0; values && i < array->count; i++) {
        values[i] = array_value(array, i);
    }
    return values;
}

static bool to_doubles(const host_array *array, double **values, failure *f) {
    if (array->data) {
        *values = array_doubles(array);
    }
    return !array->data || *values ? true : fail_memory(f, "the reference");
}

bool score_reference(const oclattn_score_options *score, const score_data *data, score_doubles *doubles,
                     reference_attention *problem, failure *f) {
    if (!to_doubles(&data->bias, &doubles->bias, f) || !to_doubles(&data->bias_scale, &doubles->bias_scale, f) ||
        !to_doubles(&data->alibi_slopes, &doubles->alibi_slopes, f) || !to_doubles(&data->sinks, &doubles->sinks, f)) {
        return false;
    }
    problem->softcap = (double)score->softcap;
    problem->causal = (score->flags & OCLATTN_CAUSAL) != 0;
    problem->align = score->align;
    problem->offsets = data->offsets.data;
    problem->window_left = score->window_left;
    problem->window_right = score->window_right;
    problem->mask = data->mask.data;
    memcpy(problem->mask_strides, score->mask_strides, sizeof problem->mask_strides);
    problem->mask_kv_len = score->mask_kv_len;
    problem->bias = doubles->bias;
    memcpy(problem->bias_strides, score->bias_strides, sizeof problem->bias_strides);
    problem->bias_kv_len = score->bias_kv_len;
    problem->bias_scale = doubles->bias_scale;
    problem->alibi_slopes = doubles->alibi_slopes;
    problem->sinks = doubles->sinks;
    problem->q_lens = data->q_lens.data;
    problem->kv_lens = data->kv_lens.data;
    return true;
}

void score_doubles_free(score_doubles *doubles) {
    free(doubles->bias);
    free(doubles->bias_scale);
    free(doubles->alibi_slopes);
    free(doubles->sinks);
    *doubles = (score_doubles){0};
}
