"""Models of others, with random weights: exported by PyTorch, fused by onnxruntime's optimizer, written by
onnxruntime-genai. Each gives the CPU provider's results, with all of its attention on the plugin. The devices are those
that OCLATTN_TEST_DEVICES lists."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers

import hosting

DEVICES = os.environ["OCLATTN_TEST_DEVICES"].split()
SIZES = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)
LAYERS = SIZES["num_hidden_layers"]


def bert():
    return transformers.BertModel(transformers.BertConfig(vocab_size=500, **SIZES))


def gpt2():
    return transformers.GPT2Model(transformers.GPT2Config(vocab_size=500, n_embd=128, n_layer=LAYERS, n_head=4,
                                                          bos_token_id=1, eos_token_id=2))


def llama():
    return transformers.LlamaModel(transformers.LlamaConfig(vocab_size=500, num_key_value_heads=2, **SIZES))


class Text(torch.nn.Module):
    """What torch.onnx.export is given: tokens and their mask in, hidden states out."""

    def __init__(self, model):
        super().__init__()
        self.model = model.eval()

    def forward(self, tokens, mask):
        options = {} if isinstance(self.model, transformers.BertModel) else {"use_cache": False}
        return self.model(input_ids=tokens, attention_mask=mask, **options).last_hidden_state


def text(batch, length):
    """Tokens whose last sequence is padded."""
    mask = np.ones((batch, length), np.int64)
    mask[-1, 2 * length // 3:] = 0
    return {"tokens": np.random.default_rng(length).integers(3, 500, (batch, length)), "mask": mask}


def export(model, inputs, path, **options):
    torch.manual_seed(0)
    with torch.no_grad():
        torch.onnx.export(model, tuple(torch.from_numpy(array) for array in inputs.values()), str(path),
                          input_names=list(inputs), output_names=["hidden"], **options)


def export_text(make, path):
    torch.manual_seed(0)
    sizes = {0: torch.export.Dim("batch", min=1, max=8), 1: torch.export.Dim("length", min=2, max=500)}
    export(Text(make()).eval(), text(2, 16), path, dynamo=True, opset_version=23, verbose=False,
           dynamic_shapes={"tokens": sizes, "mask": sizes})


def check(path, runs, operator):
    cpu = hosting.Session(str(path), ours=False)
    expected = [cpu.run(inputs) for inputs in runs]
    for device in DEVICES:
        session = hosting.Session(str(path), options={"device": device})
        for inputs, outputs in zip(runs, expected):
            for name, result in session.run(inputs).items():
                np.testing.assert_allclose(result, outputs[name], rtol=1e-5, atol=1e-5, err_msg=name)
        session.assert_attention_is_ours(nodes=LAYERS)
        assert session.assignment()[hosting.OURS] == LAYERS * [operator]


# The exported positions of Llama have one batch entry, whatever the tokens have.
@pytest.mark.parametrize("make, sizes", [(bert, [(2, 16), (3, 40), (1, 9)]), (gpt2, [(2, 16), (1, 70)]),
                                         (llama, [(1, 16), (1, 70)])])
def test_exported(tmp_path, make, sizes):
    export_text(make, tmp_path / "model.onnx")
    check(tmp_path / "model.onnx", [text(*size) for size in sizes], "Attention")


def test_exported_pictures(tmp_path):
    torch.manual_seed(0)
    model = transformers.ViTModel(transformers.ViTConfig(image_size=64, patch_size=8, **SIZES)).eval()
    inputs = {"pixels": np.random.default_rng(0).standard_normal((2, 3, 64, 64)).astype(np.float32)}

    class Pictures(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, pixels):
            return self.model(pixel_values=pixels).last_hidden_state

    export(Pictures().eval(), inputs, tmp_path / "model.onnx", dynamo=True, opset_version=23, verbose=False)
    check(tmp_path / "model.onnx", [inputs], "Attention")


def test_fused(tmp_path):
    """The exporter of before, at an opset that has no attention, and onnxruntime's own fusion to MultiHeadAttention."""
    from onnxruntime.transformers import fusion_options, optimizer
    torch.manual_seed(0)
    model = bert()
    model.set_attn_implementation("eager")
    axes = {0: "batch", 1: "length"}
    export(Text(model).eval(), text(2, 16), tmp_path / "model.onnx", dynamo=False, opset_version=17,
           dynamic_axes={"tokens": axes, "mask": axes})
    options = fusion_options.FusionOptions("bert")
    options.use_multi_head_attention = True
    fused = optimizer.optimize_model(str(tmp_path / "model.onnx"), "bert", num_heads=4, hidden_size=128, opt_level=0,
                                     optimization_options=options)
    fused.save_model_to_file(str(tmp_path / "fused.onnx"))
    check(tmp_path / "fused.onnx", [text(2, 16), text(3, 40)], "MultiHeadAttention")


def save_checkpoint(folder):
    """A Llama and words for it, as the builder of onnxruntime-genai wants them."""
    import tokenizers
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=500, num_key_value_heads=2, max_position_embeddings=512,
                                      pad_token_id=0, **SIZES)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    words = tokenizers.Tokenizer(tokenizers.models.BPE({"t%d" % i: i for i in range(500)}, []))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="t1", eos_token="t2",
                                         pad_token="t0").save_pretrained(folder)


def generate(session, batch, steps):
    """Logits of a prompt and of steps after it, with the cache that the model hands on."""
    rng, total = np.random.default_rng(batch), 0
    past = {info.name: np.zeros((batch, 2, 0, 32), np.float32) for info in session.session.get_inputs()
            if info.name.startswith("past_key_values.")}
    for rows in steps:
        total += rows
        outputs = session.run({"input_ids": rng.integers(3, 500, (batch, rows)),
                               "attention_mask": np.ones((batch, total), np.int64), **past})
        past = {name: outputs[name.replace("past_key_values", "present")] for name in past}
        yield outputs["logits"]


def test_generation(tmp_path):
    """GroupQueryAttention with packed inputs, rotary positions and a growing cache."""
    checkpoint, built = tmp_path / "checkpoint", tmp_path / "built"
    save_checkpoint(checkpoint)
    subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", checkpoint, "-o", built, "-p",
                    "fp32", "-e", "cpu", "-c", tmp_path / "cache"], check=True,
                   env={**os.environ, "HF_HUB_OFFLINE": "1"})
    path, cases = str(built / "model.onnx"), [(1, [23, 1, 1, 1, 5, 1]), (2, [9] + 10 * [1])]
    cpu = hosting.Session(path, ours=False)
    for device in DEVICES:
        session = hosting.Session(path, options={"device": device})
        for case in cases:
            for ours, expected in zip(generate(session, *case), generate(cpu, *case), strict=True):
                np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)
        assert session.assignment()[hosting.OURS] == LAYERS * ["GroupQueryAttention"]
        session.assert_attention_is_ours(nodes=LAYERS)


def test_the_example():
    import oclattn_onnxruntime
    example = pathlib.Path(__file__).parents[3] / "src/plugins/onnxruntime/example.py"
    package = pathlib.Path(oclattn_onnxruntime.__file__).parents[1]
    for device in DEVICES:
        done = subprocess.run([sys.executable, "-B", example, "--length", "64", "--repeats", "1", "--device", device],
                              capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(package)})
        assert done.returncode == 0, done.stderr
        assert "OclattnExecutionProvider: 2 Attention" in done.stdout
        difference = float(done.stdout.split("largest difference: ")[1].split(",")[0])
        assert difference < 1e-5
