#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention, and layers made of it, on the problems of oclattn-bench's JSON files.

    pytorch_speed.py BENCH.json...      prints JSON: for each problem the least time in ms

It runs on the GPU that PyTorch has, else on the CPU. Standard library and PyTorch only.
"""
import json
import sys
import time

import torch
import torch.nn.functional as functional

SECONDS = 0.3  # for a problem
ROUNDS = 10
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def find_device():
    """The device, its name, and what waits for it."""
    if torch.cuda.is_available():
        return torch.device("cuda"), torch.cuda.get_device_name(), torch.cuda.synchronize
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return torch.device("xpu"), torch.xpu.get_device_name(), torch.xpu.synchronize
    return torch.device("cpu"), "the CPU, %d threads" % torch.get_num_threads(), lambda: None


def visible(shape, device):
    """The mask [batch or 1, 1, rows, keys], true where visible; None where all is. Rows are the last of the keys."""
    rows, keys = shape["q_len"], shape["kv_len"]
    i = torch.arange(rows, device=device)[:, None] + (keys - rows)
    j = torch.arange(keys, device=device)[None, :]
    mask = torch.ones(1, 1, rows, keys, dtype=torch.bool, device=device)
    if shape["causal"]:
        mask = mask & (j <= i)
    if shape["window_left"] >= 0:
        mask = mask & (j >= i - shape["window_left"])
    if shape["window_right"] >= 0:
        mask = mask & (j <= i + shape["window_right"])
    if shape["kv_lens"]:
        lengths = torch.tensor(shape["kv_lens"], device=device)
        mask = mask & (j < lengths[:, None, None, None])
    return None if bool(mask.all()) else mask


def attention(row, device):
    """A function that computes it."""
    shape, kind = row["shape"], TYPES[row["dtype"]]

    def tensor(heads, length, width):
        return torch.randn(shape["batch"], heads, length, width, device=device, dtype=torch.float32).to(kind)

    q = tensor(shape["q_heads"], shape["q_len"], shape["head_dim"])
    k = tensor(shape["kv_heads"], shape["kv_len"], shape["head_dim"])
    v = tensor(shape["kv_heads"], shape["kv_len"], shape["v_dim"])
    options = {"enable_gqa": True} if shape["q_heads"] != shape["kv_heads"] else {}
    only_causal = (shape["causal"] and shape["window_left"] < 0 and shape["window_right"] < 0 and
                   not shape["kv_lens"] and shape["q_len"] == shape["kv_len"])
    if only_causal:
        options["is_causal"] = True
    else:
        options["attn_mask"] = visible(shape, device)
    return lambda: functional.scaled_dot_product_attention(q, k, v, **options)


def layer(row, device):
    shape, kind = row["shape"], TYPES[row["dtype"]]
    batch, length, width, heads = shape["batch"], shape["q_len"], shape["d_model"], shape["q_heads"]
    x = torch.randn(batch, length, width, device=device).to(kind)
    weights = [torch.randn(width, width, device=device).to(kind) for _ in range(4)]

    def split(y):
        return y.view(batch, length, heads, width // heads).transpose(1, 2)

    def run():
        q, k, v = (split(functional.linear(x, w)) for w in weights[:3])
        o = functional.scaled_dot_product_attention(q, k, v)
        return functional.linear(o.transpose(1, 2).reshape(batch, length, width), weights[3])

    return run


def least_ms(run, wait):
    run()
    wait()
    times, start = [], time.perf_counter()
    while len(times) < ROUNDS and (len(times) < 3 or time.perf_counter() - start < SECONDS):
        begin = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def measure(row, device, wait):
    made = {"group": row["group"], "problem": row["problem"], "dtype": row["dtype"], "min_ms": None}
    try:
        makers = {"prefill": attention, "decode": attention, "layer": layer}
        with torch.no_grad():
            made["min_ms"] = least_ms(makers[row["group"]](row, device), wait)
    except (RuntimeError, TypeError, KeyError, NotImplementedError) as error:
        made["not_measured_because"] = str(error).splitlines()[0] if str(error) else type(error).__name__
    return made


def main():
    rows = {}
    for path in sys.argv[1:]:
        try:
            with open(path, encoding="utf-8") as file:
                for row in json.load(file)["results"]:
                    rows.setdefault((row["group"], row["problem"], row["dtype"]), row)
        except (OSError, ValueError) as error:
            print("%s: %s" % (path, error), file=sys.stderr)
    device, name, wait = find_device()
    results = [measure(row, device, wait) for row in rows.values()]
    print(json.dumps({"version": torch.__version__, "device": name, "results": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
