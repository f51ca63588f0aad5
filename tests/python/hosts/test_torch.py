"""Inside PyTorch: tensors as arguments, the operator, and enable() under models of others."""
import ctypes
import multiprocessing
import subprocess
import sys
import threading

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch

import oclattn
import oclattn.torch
import reference

F = torch.nn.functional
OP = torch.ops.oclattn.attention
TOLERANCES = {torch.float32: 5e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.fixture(autouse=True)
def disabled_afterwards():
    torch.manual_seed(7)
    yield
    oclattn.torch.disable()


@pytest.fixture
def qkv():
    return torch.randn(2, 4, 5, 16), torch.randn(2, 2, 7, 16), torch.randn(2, 2, 7, 8)


def same(a, b, tolerance=5e-6):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


# ---- tensors as arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_tensors_give_tensors(qkv, dtype):
    q, k, v = (tensor.to(dtype) for tensor in qkv)
    o, lse, probs = oclattn.attention(q, k, v, return_lse=True, return_probs=True)
    assert o.dtype == dtype and lse.dtype == probs.dtype == torch.float32
    exact = reference.attention(*(tensor.float().numpy() for tensor in (q, k, v)))
    reference.assert_close(o.float().numpy(), exact[0], str(dtype)[6:])
    reference.assert_close(lse.numpy(), exact[1], "float32")


def test_views_are_read_in_place():
    packed = torch.randn(2, 6, 3, 4, 16)
    q, k, v = packed.permute(2, 0, 3, 1, 4)
    same(oclattn.attention(q, k, v, causal=True), F.scaled_dot_product_attention(q, k, v, is_causal=True))
    flipped = q.transpose(2, 3).contiguous().transpose(2, 3)
    same(oclattn.attention(flipped, k, v), F.scaled_dot_product_attention(q, k, v))


def test_options_may_be_tensors(qkv):
    q, k, v = qkv
    mask, bias = torch.rand(5, 7) > 0.3, torch.randn(4, 1, 7, dtype=torch.bfloat16)
    o = oclattn.attention(q, k, v, mask=mask, bias=bias, sinks=torch.zeros(4), kv_lens=torch.tensor([7, 3]))
    exact = reference.attention(q.numpy(), k.numpy(), v.numpy(), mask=mask.numpy(), bias=bias.float().numpy(),
                                sinks=np.zeros(4), kv_lens=[7, 3])
    reference.assert_close(o.numpy(), exact[0], "float32")


def test_gradients_are_refused(qkv):
    q, k, v = qkv
    q.requires_grad_()
    with pytest.raises(ValueError, match="torch.no_grad.*q.detach"):
        oclattn.attention(q, k, v)
    with torch.no_grad():
        oclattn.attention(q, k, v)


@pytest.mark.parametrize("wrong, words", [
    (torch.ones(1, 2, 3, 8, device="meta"), "q is on meta.*q.cpu"),
    (torch.ones(1, 2, 3, 8).to_sparse(), "sparse.*to_dense"),
    (torch.ones(1, 2, 3, 8, dtype=torch.int64), "int64.*q.float"),
    (torch.ones(1, 2, 3, 8, dtype=torch.float64), "float64.*q.float"),
    (torch.ones(2, 3, 8), "3 dimensions"),
])
def test_wrong_tensors(wrong, words):
    good = torch.ones(1, 2, 3, 8)
    with pytest.raises(ValueError, match=words):
        oclattn.attention(wrong, good, good)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_layer_from_torch(bias, batch_first):
    module = torch.nn.MultiheadAttention(24, 3, bias=bias, batch_first=batch_first).eval()
    x = torch.randn(2, 5, 24)
    with torch.no_grad():
        given = x if batch_first else x.transpose(0, 1)
        expected = module(given, given, given, need_weights=False)[0]
        result = oclattn.MultiHeadAttention.from_torch(module)(x)
    assert isinstance(result, torch.Tensor)
    same(result, expected if batch_first else expected.transpose(0, 1))


def test_a_cross_layer_from_torch():
    module = torch.nn.MultiheadAttention(24, 3, kdim=10, vdim=10, batch_first=True).eval()
    x, kv = torch.randn(2, 5, 24), torch.randn(2, 7, 10)
    with torch.no_grad():
        same(oclattn.MultiHeadAttention.from_torch(module)(x, kv), module(x, kv, kv, need_weights=False)[0])


@pytest.mark.parametrize("module, kind, words", [
    (torch.nn.Linear(3, 3), TypeError, "MultiheadAttention is wanted, not a Linear"),
    (torch.nn.MultiheadAttention(8, 2, add_zero_attn=True), NotImplementedError, "add_zero_attn"),
    (torch.nn.MultiheadAttention(8, 2, dropout=0.1), NotImplementedError, "eval"),
])
def test_modules_that_do_not_fit(module, kind, words):
    with pytest.raises(kind, match=words):
        oclattn.MultiHeadAttention.from_torch(module)


# ---- the operator ----------------------------------------------------------------------------------------------------


@hypothesis.settings(max_examples=60)
@hypothesis.given(st.integers(0, 2), st.integers(1, 2), st.integers(1, 3), st.integers(0, 9), st.integers(0, 9),
                  st.sampled_from(list(TOLERANCES)), st.booleans(), st.sampled_from([None, "mask", "bias"]),
                  st.integers(0, 3))
def test_operator_beside_numpy(batch, kv_heads, group, q_len, kv_len, dtype, causal, masked, transposed):
    torch.manual_seed(100 * q_len + kv_len)
    q = torch.randn(batch, kv_heads * group, q_len, 8).to(dtype)
    k, v = (torch.randn(batch, kv_heads, kv_len, 8).to(dtype) for _ in range(2))
    if transposed < 3:
        q, k, v = (t.transpose(transposed, 3).contiguous().transpose(transposed, 3) for t in (q, k, v))
    chosen = {"mask": torch.rand(q_len, kv_len) > 0.3} if masked == "mask" else {}
    chosen = {"bias": torch.randn(batch, 1, q_len, kv_len)} if masked == "bias" else chosen
    o = OP(q, k, v, causal=causal, align=2 if causal else 0, **chosen)
    exact = reference.attention(*(t.float().numpy() for t in (q, k, v)), causal=causal, align="bottom-right",
                                **{name: value.numpy() for name, value in chosen.items()})[0]
    assert o.dtype == dtype and o.is_contiguous()
    reference.assert_close(o.float().numpy(), exact, str(dtype)[6:])


def test_every_option_of_the_operator(qkv):
    q, k, v = qkv
    names = {"alibi": torch.rand(4), "sinks": torch.randn(4), "q_lens": torch.tensor([4, 5], dtype=torch.int32),
             "kv_lens": torch.tensor([7, 2], dtype=torch.int32),
             "mask": torch.randint(0, 2, (2, 1, 1, 7), dtype=torch.uint8),
             "bias": torch.randn(4, 5, 7).half()}
    o = OP(q, k, v, offsets=torch.tensor([2, -1], dtype=torch.int32), causal=True, window_left=3, window_right=2,
           softcap=3.0, scale=-0.4, **names)
    exact = reference.attention(q.numpy(), k.numpy(), v.numpy(), align=[2, -1], causal=True, window=(3, 2), softcap=3.0,
                                scale=-0.4, **{name: value.float().numpy() for name, value in names.items()})[0]
    reference.assert_close(o.numpy(), exact, "float32")


@pytest.mark.parametrize("change, words", [
    ({"q": torch.ones(4, 5, 16)}, "q has 3 dimensions"),
    ({"k": torch.ones(2, 2, 7, 8)}, "do not fit"),
    ({"q": torch.ones(2, 4, 5, 16, dtype=torch.float64)}, "q.float"),
    ({"q": torch.ones(2, 3, 5, 16)}, "multiple of kv_heads"),
    ({"mask": torch.ones(5, 7)}, "bias"),
    ({"mask": torch.ones(5, 6, dtype=torch.bool)}, "does not broadcast"),
    ({"mask": torch.ones(1, 1, 1, 5, 7, dtype=torch.bool)}, "does not broadcast"),
    ({"bias": torch.ones(5, 7, dtype=torch.int32)}, "bias must be float32"),
    ({"sinks": torch.ones(3)}, "sinks must be contiguous, float32 per query head"),
    ({"kv_lens": torch.ones(2, dtype=torch.int64)}, "kv_lens must be contiguous, int32"),
    ({"causal": True}, "align is not set"),
    ({"align": 3}, "align is 3"),
    ({"softcap": -1.0}, "softcap"),
])
def test_mistakes_with_the_operator(qkv, change, words):
    with pytest.raises(RuntimeError, match=words):
        OP(**{**dict(zip("qkv", qkv)), **change})


def test_opcheck(qkv):
    torch.library.opcheck(OP.default, qkv, {"scale": 0.3, "mask": torch.rand(5, 7) > 0.3})
    torch.library.opcheck(OP.default, qkv, {"causal": True, "align": 2, "kv_lens": torch.ones(2, dtype=torch.int32)})


def test_backward_says_that_there_is_none(qkv):
    q, k, v = qkv
    o = OP(q.requires_grad_(), k, v)
    with pytest.raises(NotImplementedError, match="no backward pass.*no_grad"):
        o.sum().backward()


class Block(torch.nn.Module):
    def forward(self, q, k, v):
        return OP(q * 2, k, v, causal=True, align=2) + 1


def test_export(qkv):
    batch = torch.export.Dim("batch", min=1, max=8)
    program = torch.export.export(Block(), qkv, dynamic_shapes=({0: batch},) * 3)
    assert any("oclattn" in str(node.target) for node in program.graph.nodes)
    more = [torch.cat([t, t]) for t in qkv]
    same(program.module()(*more), Block()(*more))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(qkv, backend):
    before = oclattn.torch.calls()
    same(torch.compile(Block(), fullgraph=True, backend=backend)(*qkv), Block()(*qkv))
    assert oclattn.torch.calls() == before + 2


def test_operator_in_many_threads(qkv):
    expected, failures = OP(*qkv), []

    def work():
        for _ in range(20):
            if not torch.equal(OP(*qkv), expected):
                failures.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_neither_results_nor_refusals_leak():
    """Tensors of 4 MB each, so that losing one a call would take 400 MB."""
    k = torch.randn(1, 1, 8, 16)
    before = 0
    for at in range(105):
        before = resident_kilobytes() if at == 5 else before
        OP(torch.randn(1, 1, 65536, 16), k, k, mask=torch.ones(65536, 8, dtype=torch.bool))
        with pytest.raises(RuntimeError):
            OP(torch.randn(1, 1, 65536, 16), k, k, mask=torch.ones(65536, 16, dtype=torch.bool))
    assert resident_kilobytes() - before < 100 * 1024


class MallocInfo(ctypes.Structure):
    """mallinfo2 of glibc; `used` is its uordblks."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                     "fsmblks", "used", "fordblks", "keepcost")]


def test_values_of_options_do_not_leak(qkv):
    """PyTorch puts each optional that is given on the heap, at least 32 bytes with malloc's own."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("SKIP: the C library has no mallinfo2, which counts bytes")
    libc.mallinfo2.restype = MallocInfo
    options = {"mask": torch.ones(7, dtype=torch.bool), "sinks": torch.zeros(4), "scale": 0.5}
    before = 0
    for at in range(2050):
        before = libc.mallinfo2().used if at == 50 else before
        OP(*qkv, **options)
    assert libc.mallinfo2().used - before < 2000 * 32


# ---- models of others ------------------------------------------------------------------------------------------------


def encoder():
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2).eval()


class Decoder(torch.nn.Module):
    """As decoders are written: separate projections, causal, fewer heads in k and v."""

    def __init__(self):
        super().__init__()
        self.q, self.kv, self.out = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)

    def forward(self, x):
        q = self.q(x).unflatten(-1, (4, 8)).transpose(1, 2)
        k, v = self.kv(x).unflatten(-1, (2, 2, 8)).permute(2, 0, 3, 1, 4)
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return x + self.out(o.transpose(1, 2).flatten(2))


def both(model, *inputs, **options):
    """What PyTorch gives and what oclattn gives, and how many calls were taken."""
    with torch.no_grad():
        expected = model(*inputs, **options)
        oclattn.torch.enable()
        before = oclattn.torch.calls()
        result = model(*inputs, **options)
        taken = oclattn.torch.calls() - before
        oclattn.torch.disable()
    return expected, result, taken


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_a_transformer_of_others(dtype):
    expected, result, taken = both(encoder().to(dtype), torch.randn(3, 9, 32, dtype=dtype))
    assert taken == 2
    same(result, expected, 8 * TOLERANCES[dtype])


def test_a_transformer_with_masks():
    padding = torch.zeros(3, 9, dtype=torch.bool)
    padding[1, 4:] = True
    causal = torch.nn.Transformer.generate_square_subsequent_mask(9)
    expected, result, taken = both(encoder(), torch.randn(3, 9, 32), mask=causal,
                                   src_key_padding_mask=torch.zeros(3, 9).masked_fill(padding, -torch.inf))
    assert taken == 2
    same(result[~padding], expected[~padding])


def test_a_whole_transformer():
    model = torch.nn.Transformer(32, 4, 1, 1, 64, batch_first=True).eval()
    expected, result, taken = both(model, torch.randn(2, 6, 32), torch.randn(2, 4, 32))
    assert taken == 3
    same(result, expected)


def test_a_decoder():
    expected, result, taken = both(Decoder().eval(), torch.randn(2, 9, 32))
    assert taken == 1
    same(result, expected)


def test_a_compiled_model():
    model, x = encoder(), torch.randn(3, 9, 32)
    with torch.no_grad():
        expected = model(x)
        oclattn.torch.enable()
        before = oclattn.torch.calls()
        same(torch.compile(model, fullgraph=True, backend="aot_eager")(x), expected)
    assert oclattn.torch.calls() == before + 2


@pytest.mark.parametrize("options", [
    {}, {"is_causal": True}, {"scale": 0.5}, {"attn_mask": torch.rand(5, 7) > 0.4},
    {"attn_mask": torch.randn(2, 1, 5, 7)}, {"attn_mask": torch.randn(4, 5, 1)}])
def test_calls_that_are_taken(options):
    q, k, v = torch.randn(2, 4, 5, 16), torch.randn(2, 4, 7, 16), torch.randn(2, 4, 7, 16)
    expected, result, taken = both(lambda *inputs: F.scaled_dot_product_attention(*inputs, **options), q, k, v)
    assert taken == 1
    same(result, expected)


def test_a_row_that_sees_nothing_is_as_in_pytorch():
    x, mask = torch.randn(1, 2, 3, 8), torch.tensor([[True] * 3, [False] * 3, [True] * 3])
    expected, result, taken = both(lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=mask), x)
    assert taken == 1
    same(result, expected)


def passes_through(call):
    oclattn.torch.enable()
    before = oclattn.torch.calls()
    result = call()
    assert oclattn.torch.calls() == before
    return result


def test_what_is_left_to_pytorch():
    x = torch.randn(2, 4, 5, 16)
    attend = lambda *inputs, **options: torch.nn.functional.scaled_dot_product_attention(*inputs, **options)
    passes_through(lambda: attend(x, x, x, dropout_p=0.5))
    passes_through(lambda: attend(x.double(), x.double(), x.double()))
    passes_through(lambda: attend(x[0], x[0], x[0]))
    passes_through(lambda: attend(x[None], x[None], x[None]))
    passes_through(lambda: torch.func.vmap(attend)(x[None], x[None], x[None]))
    passes_through(lambda: attend(*(x.to("meta"),) * 3))
    with pytest.raises(IndexError):
        passes_through(lambda: attend(x, x, x, attn_mask=torch.randn(5)))
    with torch.autocast("cpu", torch.bfloat16):
        assert passes_through(lambda: attend(x, x, x)).dtype == torch.bfloat16
    learning = x.clone().requires_grad_()
    passes_through(lambda: attend(learning, x, x).sum().backward())
    assert learning.grad is not None
    with pytest.raises(RuntimeError):
        passes_through(lambda: attend(x, x[:, :3], x[:, :3]))


def test_training_goes_on_as_before():
    model = encoder().train()
    passes_through(lambda: model(torch.randn(2, 5, 32)).sum().backward())
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_disable_restores_everything():
    original, fast_path = F.scaled_dot_product_attention, torch.backends.mha.get_fastpath_enabled()
    oclattn.torch.enable()
    oclattn.torch.enable()
    assert F.scaled_dot_product_attention is not original and not torch.backends.mha.get_fastpath_enabled()
    oclattn.torch.disable()
    oclattn.torch.disable()
    assert F.scaled_dot_product_attention is original and torch.backends.mha.get_fastpath_enabled() == fast_path
    before = oclattn.torch.calls()
    encoder()(torch.randn(1, 2, 32))
    assert oclattn.torch.calls() == before


def test_a_replacement_by_others_stays(monkeypatch):
    oclattn.torch.enable()
    ours = F.scaled_dot_product_attention
    theirs = lambda *inputs, **options: ours(*inputs, **options)
    monkeypatch.setattr(F, "scaled_dot_product_attention", theirs)
    oclattn.torch.disable()
    assert F.scaled_dot_product_attention is theirs
    x, before = torch.randn(1, 2, 3, 8), oclattn.torch.calls()
    theirs(x, x, x)
    assert oclattn.torch.calls() == before
    monkeypatch.undo()
    F.scaled_dot_product_attention = oclattn.torch._original


# ---- processes -------------------------------------------------------------------------------------------------------


def in_a_child(queue):
    queue.put(OP(*[torch.ones(1, 1, 2, 8)] * 3).sum().item())


def test_a_spawned_process():
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    child = spawn.Process(target=in_a_child, args=(queue,))
    child.start()
    assert queue.get() == 16
    child.join()


def test_a_forked_process_is_told_why_not():
    done = subprocess.run([sys.executable, "-c", (
        "import os, torch, oclattn.torch\n"
        "x = torch.ones(1, 1, 2, 8)\n"
        "torch.ops.oclattn.attention(x, x, x)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        torch.ops.oclattn.attention(x, x, x)\n"
        "    except RuntimeError as error:\n"
        "        os._exit(0 if 'fork' in str(error) else 3)\n"
        "    os._exit(4)\n"
        "assert os.waitpid(child, 0)[1] == 0\n")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
