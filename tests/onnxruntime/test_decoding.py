"""Lengths that change from call to call: no plan is made twice, and a growing cache needs few."""
import re

import numpy as np
import pytest

import hosting
import reference

STEPS = 70
HEADS, WIDTH = 2, 16
# Lengths of plans are rounded up to powers of two: 1, 2, 4, ... 128 for up to 71 keys.
MOST_PLANS = 8


class Decoder:
    """Attention with a cache, as one of the three operators writes it down."""

    def __init__(self, rng, operator, masked):
        self.rng, self.operator, self.masked = rng, operator, masked
        self.past = self.draw(0), self.draw(0)
        self.session = hosting.Session(self.model(), severity=1, options={"log_level": "info"})

    def draw(self, rows):
        return self.rng.standard_normal((1, HEADS, rows, WIDTH)).astype(np.float32)

    def inputs(self, q, k, v):
        total = self.past[0].shape[2] + q.shape[2]
        flat = [x.transpose(0, 2, 1, 3).reshape(1, -1, HEADS * WIDTH) for x in (q, k, v)]
        if self.operator == "Attention":
            mask = np.zeros((q.shape[2], total), np.float32) if self.masked else None
            return dict(Q=q, K=k, V=v, attn_mask=mask, past_key=self.past[0], past_value=self.past[1])
        bias = np.zeros((1, 1, q.shape[2], total), np.float32) if self.masked else None
        if self.operator == "MultiHeadAttention":
            return dict(query=flat[0], key=flat[1], value=flat[2], bias=None, key_padding_mask=None,
                        attention_bias=bias, past_key=self.past[0], past_value=self.past[1])
        return dict(query=flat[0], key=flat[1], value=flat[2], past_key=self.past[0], past_value=self.past[1],
                    seqlens_k=np.array([total - 1], np.int32), total_sequence_length=np.array(total, np.int32),
                    cos_cache=None, sin_cache=None, position_ids=None, attention_bias=bias)

    def model(self):
        inputs = self.inputs(*(self.draw(1) for _ in range(3)))
        attributes = {"Attention": dict(is_causal=1), "MultiHeadAttention": dict(num_heads=HEADS, unidirectional=1),
                      "GroupQueryAttention": dict(num_heads=HEADS, kv_num_heads=HEADS)}[self.operator]
        return hosting.node_model(self.operator, inputs, ["y", "present_key", "present_value"], dynamic=True,
                                  domain="" if self.operator == "Attention" else "com.microsoft", **attributes)

    def step(self, rows=1):
        q, k, v = (self.draw(rows) for _ in range(3))
        outputs = self.session.run(self.inputs(q, k, v))
        before = self.past[0].shape[2]
        self.past = outputs["present_key"], outputs["present_value"]
        assert self.past[0].shape[2] == before + rows
        exact = reference.attention(q, *self.past, causal=True, align=before)[0]
        y = outputs["y"] if self.operator == "Attention" else outputs["y"].reshape(1, rows, HEADS, WIDTH).transpose(
            0, 2, 1, 3)
        reference.assert_close(y, exact, "float32")


def plans_in(text):
    return re.findall(r"oclattn: planned .*", text)


@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
@pytest.mark.parametrize("operator", hosting.ATTENTION_OPS)
def test_a_growing_past_needs_few_plans(rng, capfd, operator, masked):
    decoder = Decoder(rng, operator, masked)
    capfd.readouterr()
    for _ in range(STEPS):
        decoder.step()
    plans = plans_in(capfd.readouterr().err)
    assert 1 <= len(plans) <= MOST_PLANS, plans
    assert len(set(plans)) == len(plans)
    decoder.past = decoder.draw(0), decoder.draw(0)
    for _ in range(STEPS):
        decoder.step()
    assert plans_in(capfd.readouterr().err) == []
    decoder.session.assert_attention_is_ours(runs=2 * STEPS)


@pytest.mark.parametrize("operator", hosting.ATTENTION_OPS)
def test_steps_on_a_device_with_memory_of_its_own(rng, operator, own_memory):
    decoder = Decoder(rng, operator, True)
    for rows in (5, 1, 1, 1):
        decoder.step(rows)
    decoder.session.assert_attention_is_ours(runs=4)


def test_a_prompt_and_then_steps(rng):
    decoder = Decoder(rng, "GroupQueryAttention", False)
    for rows in (50, 1, 1, 6, 1):
        decoder.step(rows)
