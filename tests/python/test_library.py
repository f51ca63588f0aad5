"""The package as a whole: the C structs, threads, fork, what import does, devices."""
import ctypes
import dataclasses
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import oclattn
from oclattn import _structs

ROOT = pathlib.Path(__file__).parents[2]
C_NAMES = {"Error": "oclattn_error", "ContextOptions": "oclattn_context_options", "DeviceInfo": "oclattn_device_info",
           "Tensor": "oclattn_tensor", "ScoreOptions": "oclattn_score_options", "ScoreInputs": "oclattn_score_inputs",
           "AttentionDesc": "oclattn_attention_desc", "AttentionArgs": "oclattn_attention_args",
           "MhaDesc": "oclattn_mha_desc", "MhaWeightsArgs": "oclattn_mha_weights_args", "MhaArgs": "oclattn_mha_args"}
CONSTANTS = [name for name in vars(_structs) if name.isupper() and name != "INIT_FUNCTIONS"]


def c_program():
    """Prints what a C compiler makes of the header, in the order of `bindings`."""
    lines = ["#include <stdio.h>", "#include <oclattn/oclattn.h>", "int main(void) {"]
    for name, c_name in C_NAMES.items():
        lines.append('printf("%s %%zu\\n", sizeof(%s));' % (name, c_name))
        for field in getattr(_structs, name)._fields_:
            lines.append('printf("%s.%s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));' % (
                name, field[0], c_name, field[0], c_name, field[0]))
    lines += ['printf("%s %%lld\\n", (long long)OCLATTN_%s);' % (name, name) for name in CONSTANTS]
    return "\n".join(lines + ["return 0; }"])


def bindings():
    lines = []
    for name in C_NAMES:
        struct = getattr(_structs, name)
        lines.append("%s %d" % (name, ctypes.sizeof(struct)))
        for field in struct._fields_:
            descriptor = getattr(struct, field[0])
            lines.append("%s.%s %d %d" % (name, field[0], descriptor.offset, descriptor.size))
    return lines + ["%s %d" % (name, getattr(_structs, name)) for name in CONSTANTS]


def test_structs_and_constants_are_those_of_the_header(tmp_path):
    structs = {name for name, value in vars(_structs).items() if isinstance(value, type)}
    assert structs == set(C_NAMES)
    (tmp_path / "layout.c").write_text(c_program())
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-I%s" % (ROOT / "include"), str(tmp_path / "layout.c"),
                    "-o", str(tmp_path / "layout")], check=True)
    printed = subprocess.run([str(tmp_path / "layout")], check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == bindings()


def test_every_init_function_agrees_on_the_size():
    from oclattn._library import fresh
    for struct in _structs.INIT_FUNCTIONS:
        assert fresh(struct).struct_size == ctypes.sizeof(struct)


def test_the_package_has_the_version_of_the_library():
    assert '\nversion = "%s"\n' % oclattn.__version__ in (ROOT / "pyproject.toml").read_text()


def test_devices():
    found = oclattn.devices()
    assert found and all(device.kind in ("cpu", "gpu", "accelerator", "other") for device in found)
    q = np.ones((1, 1, 2, 8), np.float32)
    for device in found:
        assert np.array_equal(oclattn.attention(q, q, q, device=device), oclattn.attention(q, q, q, device=device.spec))


def test_devices_with_memory_of_their_own(rng, monkeypatch):
    """As a GPU is used: inputs are copied there, outputs are read back."""
    context = oclattn._context.context_of(None)
    q, k, v = rng.standard_normal((2, 7, 3, 4, 16)).astype(np.float32).transpose(2, 0, 3, 1, 4)
    shared = oclattn.attention(q, k, v, return_lse=True)
    monkeypatch.setattr(context, "device", dataclasses.replace(context.device, host_unified_memory=False))
    for ours, theirs in zip(oclattn.attention(q, k, v, return_lse=True), shared):
        assert np.array_equal(ours, theirs)


def test_errors_have_statuses():
    q = np.ones((1, 1, 2, 8), np.float32)
    with pytest.raises(oclattn.NoDeviceError) as caught:
        oclattn.attention(q, q, q, device="abacus")
    assert caught.value.status == 3 and caught.value.cl_code == 0


def test_many_threads(rng):
    """Each with problems of its own, and more of them than plans are kept."""
    inputs = [rng.standard_normal((1, 2, n, 8)).astype(np.float32) for n in range(1, 100)]
    expected = [oclattn.attention(x, x, x, causal=True) for x in inputs]
    failures = []

    def work(seed):
        for at in np.random.default_rng(seed).permutation(len(inputs)):
            x = inputs[at]
            if not np.array_equal(oclattn.attention(x, x, x, causal=True), expected[at]):
                failures.append(at)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_one_layer_in_many_threads(rng):
    w = {name: rng.standard_normal((16, 16)).astype(np.float32) for name in ("w_q", "w_k", "w_v", "w_head")}
    layer = oclattn.MultiHeadAttention(n_heads=2, **w)
    inputs = [rng.standard_normal((1, n, 16)).astype(np.float32) for n in range(1, 9)]
    results = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: layer(inputs[n])})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, x in enumerate(inputs):
        assert np.array_equal(results[n], oclattn.MultiHeadAttention(n_heads=2, **w)(x))


def resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_nothing_leaks():
    """Arrays of 4 MB each, plans that come and go, refusals in between: losing one a call would take 400 MB."""
    k, before = np.ones((1, 1, 8, 16), np.float32), 0
    for at in range(105):
        before = resident_kilobytes() if at == 5 else before
        q = np.ones((1, 1, 65536 + at, 16), np.float32)
        mask = np.ones((65536 + at, 8), bool)
        oclattn.attention(q, k, k, mask=mask)
        with pytest.raises(ValueError):
            oclattn.attention(q, k, k, mask=mask, softcap=-1.0)
    assert resident_kilobytes() - before < 100 * 1024


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_import_does_nothing_but_load_the_library():
    """No driver is loaded, no file is opened for writing, and no optional package is imported."""
    done = python("import sys, oclattn\n"
                  "maps = open('/proc/self/maps').read()\n"
                  "assert 'pocl' not in maps and 'intelocl' not in maps, maps\n"
                  "assert not {'torch', 'matplotlib', 'safetensors', 'ml_dtypes'} & set(sys.modules)\n")
    assert done.returncode == 0, done.stderr


def test_after_fork_the_error_says_what_to_do():
    done = python("import os, numpy as np, oclattn\n"
                  "q = np.ones((1, 1, 2, 8), np.float32)\n"
                  "oclattn.attention(q, q, q)\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    try:\n"
                  "        oclattn.attention(q, q, q)\n"
                  "    except oclattn.OpenCLError as error:\n"
                  "        os._exit(0 if 'spawn' in str(error) else 3)\n"
                  "    os._exit(4)\n"
                  "assert os.waitpid(child, 0)[1] == 0\n")
    assert done.returncode == 0, done.stderr


def test_a_forked_child_ends_well():
    """It inherits plans, weights and queues, and collects them as garbage."""
    done = python("import gc, os, sys, numpy as np, oclattn\n"
                  "w = np.eye(16, dtype=np.float32)\n"
                  "layer = oclattn.MultiHeadAttention(w, w, w, w, 2)\n"
                  "for n in range(1, 70): layer(np.ones((n, 16), np.float32))\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    for context in oclattn._context._contexts.values(): context._plans.clear()\n"
                  "    del layer\n"
                  "    gc.collect()\n"
                  "    sys.exit(0)\n"
                  "assert os.waitpid(child, 0)[1] == 0\n"
                  "assert np.allclose(layer(np.ones((3, 16), np.float32)), 1)\n")
    assert done.returncode == 0, done.stderr


def test_a_child_may_be_the_first_to_use_it():
    done = python("import os, numpy as np, oclattn\n"
                  "q = np.ones((1, 1, 2, 8), np.float32)\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    oclattn.attention(q, q, q)\n"
                  "    os._exit(0)\n"
                  "assert os.waitpid(child, 0)[1] == 0\n")
    assert done.returncode == 0, done.stderr


def test_a_missing_library_is_named():
    done = subprocess.run([sys.executable, "-c", "import oclattn"], capture_output=True, text=True,
                          env={**os.environ, "OCLATTN_LIBRARY": "/nowhere/liboclattn.so"})
    assert done.returncode == 1 and "/nowhere/liboclattn.so" in done.stderr and "apt install" in done.stderr


def test_a_process_that_leaves_everything_open_ends_well():
    done = python("import numpy as np, oclattn\n"
                  "q = np.ones((1, 1, 2, 8), np.float32)\n"
                  "for device in oclattn.devices(): oclattn.attention(q, q, q, device=device)\n")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def placed(array, offset):
    """A copy that begins `offset` bytes after a page does."""
    memory = np.zeros(array.nbytes + 8192, np.uint8)
    start = -memory.ctypes.data % 4096 + offset
    copy = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_arrays_begin_anywhere(rng, dtype):
    q, k, v = rng.standard_normal((3, 2, 3, 4, 16)).astype(dtype)
    expected = oclattn.attention(q, k, v)
    for step in (1, 2, 8, 16, 25, 48):
        offsets = [step * n * q.itemsize for n in (1, 2, 3)]
        assert np.array_equal(oclattn.attention(*map(placed, (q, k, v), offsets)), expected)
