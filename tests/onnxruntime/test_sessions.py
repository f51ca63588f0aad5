"""Sessions side by side, threads, loading and unloading, and models whose other nodes stay on the CPU provider."""
import os
import subprocess
import sys
import threading

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import hosting
import reference


def attention(rng, q_len=9, kv_len=9, heads=3, head_dim=16, **options):
    """A model and inputs for it, and what it must give."""
    q = rng.standard_normal((2, heads, q_len, head_dim)).astype(np.float32)
    k, v = (rng.standard_normal((2, heads, kv_len, head_dim)).astype(np.float32) for _ in range(2))
    inputs = {"Q": q, "K": k, "V": v}
    model = hosting.node_model("Attention", inputs, ["Y"], **options)
    return model, inputs, reference.attention(q, k, v, causal=bool(options.get("is_causal")))[0]


def close(result, exact):
    reference.assert_close(result, exact, "float32")


def test_plain_run_gives_numpy(rng):
    model, inputs, exact = attention(rng)
    session = hosting.Session(model)
    close(session.session.run(["Y"], inputs)[0], exact)
    session.assert_attention_is_ours()


def test_two_sessions(rng):
    first, second = attention(rng), attention(rng, q_len=4, is_causal=1, dynamic=True)
    sessions = [hosting.Session(first[0]), hosting.Session(second[0])]
    for _ in range(3):
        for session, (_, inputs, exact) in zip(sessions, (first, second)):
            close(session.run(inputs)["Y"], exact)
    for session in sessions:
        session.assert_attention_is_ours(runs=3)


def test_a_session_outlives_another(rng):
    model, inputs, exact = attention(rng)
    first, second = hosting.Session(model), hosting.Session(model)
    close(first.run(inputs)["Y"], exact)
    del first
    close(second.run(inputs)["Y"], exact)


def test_8_threads_on_one_session(rng):
    """Each with lengths of its own, so that plans are made while others run."""
    session = hosting.Session(attention(rng, dynamic=True)[0])
    problems = [attention(np.random.default_rng(i), q_len=1 + 5 * i, kv_len=3 + 7 * i) for i in range(8)]
    failures = []

    def work(problem):
        try:
            for _ in range(20):
                close(session.run(problem[1])["Y"], problem[2])
        except BaseException as error: # also assertions: pytest does not see those of threads
            failures.append(error)

    threads = [threading.Thread(target=work, args=(problem,)) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    session.assert_attention_is_ours(runs=160)


def test_a_device_with_memory_of_its_own(rng, capfd, own_memory):
    """Inputs of several sizes through the same session, whose buffers there are kept."""
    session = hosting.Session(attention(rng, dynamic=True)[0], severity=1)
    assert "does not share the host's memory" in capfd.readouterr().err
    for q_len, kv_len in ((9, 9), (40, 70), (3, 2), (40, 70)):
        _, inputs, exact = attention(rng, q_len=q_len, kv_len=kv_len)
        close(session.run(inputs)["Y"], exact)
    session.assert_attention_is_ours(runs=4)


def test_same_bits_every_run(rng):
    model, inputs, _ = attention(rng, q_len=33, kv_len=70)
    session = hosting.Session(model)
    first = session.run(inputs)["Y"]
    for _ in range(5):
        assert (session.run(inputs)["Y"] == first).all()


def layer_model(rng, width=24, heads=3):
    """relu(attention(x Wq, x Wk, x Wv) Wo) + x, twice."""
    nodes, weights, x = [], {}, "x"
    for i in range(2):
        names = {part: "%s%d" % (part, i) for part in ("q", "k", "v", "o", "a", "p", "r", "x")}
        for part in "qkvo":
            weights["w_" + names[part]] = (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)
        nodes += [onnx.helper.make_node("MatMul", [x, "w_" + names[part]], [names[part]]) for part in "qkv"]
        nodes += [onnx.helper.make_node("Attention", [names["q"], names["k"], names["v"]], [names["a"]],
                                        q_num_heads=heads, kv_num_heads=heads, is_causal=1),
                  onnx.helper.make_node("MatMul", [names["a"], "w_" + names["o"]], [names["p"]]),
                  onnx.helper.make_node("Relu", [names["p"]], [names["r"]]),
                  onnx.helper.make_node("Add", [names["r"], x], [names["x"]])]
        x = names["x"]
    inputs = {"x": rng.standard_normal((2, 7, width)).astype(np.float32)}
    return hosting.model(nodes, inputs, {x: 1}, initializers=weights, dynamic=True), inputs


def test_other_nodes_stay_on_the_cpu(rng):
    model, inputs = layer_model(rng)
    session = hosting.Session(model)
    (ours,), (cpu,) = session.run(inputs).values(), hosting.run_cpu(model, inputs).values()
    np.testing.assert_allclose(ours, cpu, rtol=2e-5, atol=2e-5)
    session.assert_attention_is_ours(nodes=2)
    assert any("MatMul" in name for name in session.assignment()[hosting.CPU])


def test_constant_inputs(rng):
    """A mask and keys that are initializers of the model."""
    q = rng.standard_normal((1, 2, 5, 8)).astype(np.float32)
    k, v = (rng.standard_normal((1, 2, 6, 8)).astype(np.float32) for _ in range(2))
    mask = rng.random((5, 6)) < 0.7
    node = onnx.helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"], name="attention")
    model = hosting.model([node], {"q": q}, {"y": 1}, initializers={"k": k, "v": v, "mask": mask})
    close(hosting.run_ours(model, {"q": q})["y"], reference.attention(q, k, v, mask=mask)[0])


def test_the_same_tensor_three_times(rng):
    x = rng.standard_normal((1, 2, 5, 8)).astype(np.float32)
    node = onnx.helper.make_node("Attention", ["x", "x", "x"], ["y"], name="attention")
    close(hosting.run_ours(hosting.model([node], {"x": x}, {"y": 1}), {"x": x})["y"], reference.attention(x, x, x)[0])


@pytest.mark.parametrize("q_shape, kv_shape", [((0, 2, 3, 8), (0, 2, 4, 8)), ((1, 2, 0, 8), (1, 2, 4, 8)),
                                               ((1, 2, 3, 8), (1, 2, 0, 8))])
def test_empty_tensors(q_shape, kv_shape):
    q, kv = np.ones(q_shape, np.float32), np.ones(kv_shape, np.float32)
    inputs = {"Q": q, "K": kv, "V": kv}
    outputs = hosting.run_ours(hosting.node_model("Attention", inputs, ["Y"], dynamic=True), inputs)
    assert outputs["Y"].shape == q_shape and (outputs["Y"] == 0).all()


def test_shapes_that_do_not_fit_give_a_status(rng):
    model, inputs, exact = attention(rng, dynamic=True)
    session = hosting.Session(model)
    for name, shape in (("K", (2, 3, 9, 8)), ("K", (2, 2, 9, 16)), ("V", (2, 3, 8, 16)), ("Q", (1, 3, 9, 16))):
        with pytest.raises(Exception, match="oclattn: "):
            session.run({**inputs, name: np.ones(shape, np.float32)})
    close(session.run(inputs)["Y"], exact)


# In a process of its own, whose exit code counts. onnxruntime 1.23 and 1.24 keep a reference for each registration of
# any library; when these are given back, nothing may hold ours.
REGISTER_20_TIMES = """
import _ctypes
import gc
import os
import numpy as np
import hosting, oclattn_onnxruntime

x = np.ones((1, 1, 2, 8), np.float32)
inputs = {"Q": x, "K": x, "V": x}
model = hosting.node_model("Attention", inputs, ["Y"]).SerializeToString()
path = oclattn_onnxruntime.get_library_path()

def mapped():
    return path in open("/proc/self/maps").read()

def release_the_hosts_own():
    if hosting.VERSION < (1, 25):
        handle = _ctypes.dlopen(path, os.RTLD_NOLOAD | os.RTLD_NOW)
        _ctypes.dlclose(handle)
        _ctypes.dlclose(handle)

for i in range(20):
    assert not mapped()
    assert len(oclattn_onnxruntime.register()) == 1
    assert len(oclattn_onnxruntime.register()) == 1 # a second time changes nothing
    assert mapped()
    if i % 5 == 0:
        session = hosting.Session(model)
        assert (session.run(inputs)["Y"] == 1).all()
        session.assert_attention_is_ours()
        del session
        gc.collect()
    oclattn_onnxruntime.unregister()
    release_the_hosts_own()
assert not mapped()
"""


def run_python(code, **environment):
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done


def test_register_and_unregister_20_times():
    run_python(REGISTER_20_TIMES)


def test_a_process_may_end_with_a_session():
    run_python(REGISTER_20_TIMES.split("for i in")[0] + """
oclattn_onnxruntime.register()
session = hosting.Session(model)
assert (session.run(inputs)["Y"] == 1).all()
""")


def test_devices_say_what_they_are():
    import oclattn_onnxruntime
    device, = oclattn_onnxruntime.register()
    assert device.ep_name == oclattn_onnxruntime.get_ep_name() == "OclattnExecutionProvider"
    assert oclattn_onnxruntime.get_ep_names() == [device.ep_name]
    assert device.ep_vendor
    assert ort.OrtHardwareDeviceType.CPU == device.device.type


def test_inside_a_branch(rng):
    """Attention in the body of an If, with inputs from outside of it, and another kind in the other body."""
    q, k, v = (rng.standard_normal((1, 2, 5, 8)).astype(np.float32) for _ in range(3))

    def body(name, **attributes):
        node = onnx.helper.make_node("Attention", ["q", "k", "v"], [name], **attributes)
        return onnx.helper.make_graph([node], name, [], [onnx.helper.make_tensor_value_info(name, 1, None)])

    node = onnx.helper.make_node("If", ["causal"], ["y"], then_branch=body("yes", is_causal=1), else_branch=body("no"))
    inputs = {"q": q, "k": k, "v": v, "causal": np.array(True)}
    session = hosting.Session(hosting.model([node], inputs, {"y": 1}))
    for causal in (True, False):
        close(session.run({**inputs, "causal": np.array(causal)})["y"], reference.attention(q, k, v, causal=causal)[0])
    if hosting.VERSION >= (1, 24):
        assert session.assignment()[hosting.OURS] == ["Attention", "Attention"]


def test_inside_a_branch_and_outside(rng):
    """onnxruntime 1.23 gives claimed nodes of several graphs the same name, so there one graph alone is claimed from."""
    x = rng.standard_normal((1, 2, 5, 8)).astype(np.float32)

    def body(name, operator):
        node = onnx.helper.make_node(operator, ["a", "x", "x"][:3 if operator == "Attention" else 1], [name])
        return onnx.helper.make_graph([node], name, [], [onnx.helper.make_tensor_value_info(name, 1, None)])

    nodes = [onnx.helper.make_node("Attention", ["x", "x", "x"], ["a"], name="outer"),
             onnx.helper.make_node("If", ["twice"], ["y"], then_branch=body("yes", "Attention"),
                                   else_branch=body("no", "Identity"))]
    inputs = {"x": x, "twice": np.array(True)}
    session = hosting.Session(hosting.model(nodes, inputs, {"y": 1}))
    once = reference.attention(x, x, x)[0]
    close(session.run(inputs)["y"], reference.attention(once, x, x)[0])
    close(session.run({**inputs, "twice": np.array(False)})["y"], once)
    assert hosting.OURS in session.assignment()
    if hosting.VERSION >= (1, 24):
        assert session.assignment()[hosting.OURS] == ["Attention", "Attention"]


def test_one_attention_feeds_another(rng):
    q, k, v = (rng.standard_normal((1, 2, 5, 8)).astype(np.float32) for _ in range(3))
    nodes = [onnx.helper.make_node("Attention", ["q", "k", "v"], ["a"]),
             onnx.helper.make_node("Attention", ["a", "k", "a"], ["b"], is_causal=1)]
    session = hosting.Session(hosting.model(nodes, {"q": q, "k": k, "v": v}, {"a": 1, "b": 1}))
    outputs = session.run({"q": q, "k": k, "v": v})
    a = reference.attention(q, k, v)[0]
    close(outputs["a"], a)
    close(outputs["b"], reference.attention(a, k, a, causal=True)[0])
    session.assert_attention_is_ours(nodes=2)


def test_a_cache_that_is_updated_in_place(rng):
    """GroupQueryAttention whose present is bound to the memory of its past, as generation loops do."""
    heads, width, room = 2, 16, 12
    cache = [ort.OrtValue.ortvalue_from_numpy(np.zeros((1, heads, room, width), np.float32)) for _ in range(2)]
    row = np.zeros((1, 1, heads * width), np.float32)
    inputs = dict(query=row, key=row, value=row, past_key=np.zeros((1, heads, room, width), np.float32),
                  past_value=np.zeros((1, heads, room, width), np.float32), seqlens_k=np.zeros(1, np.int32),
                  total_sequence_length=np.array(1, np.int32))
    model = hosting.node_model("GroupQueryAttention", inputs, ["y", "present_key", "present_value"], dynamic=True,
                               domain="com.microsoft", num_heads=heads, kv_num_heads=heads)
    session = hosting.Session(model)
    past = np.zeros((2, 1, heads, 0, width))
    for step in range(room):
        q, k, v = (rng.standard_normal((1, 1, heads * width)).astype(np.float32) for _ in range(3))
        past = np.concatenate([past, np.stack([split(k, heads), split(v, heads)])], 3)
        binding = session.session.io_binding()
        for name, array in (("query", q), ("key", k), ("value", v), ("seqlens_k", np.array([step], np.int32)),
                            ("total_sequence_length", np.array(step + 1, np.int32))):
            binding.bind_cpu_input(name, array)
        binding.bind_output("y")
        for i, part in enumerate(("key", "value")):
            binding.bind_ortvalue_input("past_" + part, cache[i])
            binding.bind_ortvalue_output("present_" + part, cache[i])
        session.session.run_with_iobinding(binding)
        y = binding.copy_outputs_to_cpu()[0]
        close(split(y, heads), reference.attention(split(q, heads), *past)[0])
        for i in range(2):
            assert (cache[i].numpy()[:, :, :step + 1] == past[i].astype(np.float32)).all()
    session.assert_attention_is_ours(runs=room)


def split(rows, heads):
    return rows.reshape(1, rows.shape[1], heads, -1).transpose(0, 2, 1, 3)
