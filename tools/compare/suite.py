"""The problems that speed is compared on, and their inputs."""
import dataclasses

import numpy as np

import exact

# Decoding reads a cache that no processor's cache holds: copies of the inputs take turns until they fill this much.
ROTATED_BYTES = 256 << 20


@dataclasses.dataclass(frozen=True)
class Attention:
    """Self-attention, or q_len queries over a cache of kv_len keys."""
    group: str
    batch: int
    q_heads: int
    kv_heads: int
    q_len: int
    kv_len: int
    head_dim: int
    causal: bool = False
    window_left: int = -1
    kv_lens: tuple = None

    @property
    def title(self):
        if self.group == "decode":
            heads = "%d/%d heads" % (self.q_heads, self.kv_heads)
            lengths = "%d keys" % self.kv_len if self.kv_lens is None else "ragged, up to %d keys" % self.kv_len
            return "%d x %d query, %s, %s, %d" % (self.batch, self.q_len, heads, lengths, self.head_dim)
        text = "%d, %d, %d, %d" % (self.batch, self.q_heads, self.q_len, self.head_dim)
        return text + (" causal" if self.causal else "") + (
            " window %d" % (self.window_left + 1) if self.window_left >= 0 else "")

    @property
    def flops(self):
        """Multiplications and additions of both products, over the pairs of query and key that count."""
        if self.kv_lens is not None:
            pairs = self.q_len * sum(self.kv_lens)
        else:
            hidden = exact.hidden_keys(self.q_len, self.kv_len, self.causal, self.window_left)
            pairs = self.batch * (hidden.size - int(hidden.sum()))
        return 4 * self.q_heads * pairs * self.head_dim

    def inputs(self, kind, seed=1):
        """Copies of (q, k, v): one, or for decoding as many as are needed to read memory and not a cache."""
        random = np.random.default_rng(seed)
        numpy_type = exact.NUMPY_TYPES[kind]
        kv_shape = (self.batch, self.kv_heads, self.kv_len, self.head_dim)
        copies = 1
        if self.group == "decode":
            kv_bytes = 2 * int(np.prod(kv_shape)) * numpy_type.itemsize
            copies = max(2, -(-ROTATED_BYTES // kv_bytes))
        q = random.standard_normal((self.batch, self.q_heads, self.q_len, self.head_dim), np.float32)
        k, v = (random.standard_normal(kv_shape, np.float32) for _ in range(2))
        first = tuple(array.astype(numpy_type) for array in (q, k, v))
        return [first] + [tuple(array.copy() for array in first) for _ in range(copies - 1)]


@dataclasses.dataclass(frozen=True)
class Layer:
    """F(H): projections with biases, attention, and the projection back."""
    batch: int
    length: int
    d_model: int
    heads: int
    group: str = "layer"

    @property
    def title(self):
        return "%d, %d, %d, %d" % (self.batch, self.length, self.d_model, self.heads)

    @property
    def flops(self):
        rows = self.batch * self.length
        return 8 * rows * self.d_model ** 2 + 4 * rows * self.length * self.d_model

    def inputs(self, kind, seed=1):
        """[(x, weights)], matrices stored [out, in]."""
        random = np.random.default_rng(seed)
        numpy_type = exact.NUMPY_TYPES[kind]

        def draw(*shape, scale=1.0):
            return (scale * random.standard_normal(shape, np.float32)).astype(numpy_type)

        weights = {"w_" + name: draw(self.d_model, self.d_model, scale=self.d_model ** -0.5)
                   for name in ("q", "k", "v", "head")}
        weights.update({"b_" + name: draw(self.d_model, scale=0.1) for name in ("q", "k", "v", "head")})
        return [(draw(self.batch, self.length, self.d_model), weights)]


def self_attention(batch, heads, length, head_dim, **options):
    return Attention("prefill", batch, heads, heads, length, length, head_dim, **options)


def decode(batch, q_heads, kv_heads, kv_len, head_dim, **options):
    return Attention("decode", batch, q_heads, kv_heads, 1, kv_len, head_dim, **options)


RAGGED_LENGTHS = (2048, 1999, 1731, 1536, 1280, 1111, 1024, 900, 777, 640, 512, 333, 256, 128, 77, 1)
SUITE = [
    self_attention(1, 12, 512, 64),
    self_attention(1, 12, 2048, 64),
    self_attention(1, 12, 2048, 64, causal=True),
    self_attention(8, 12, 128, 64),
    self_attention(1, 32, 1024, 128, causal=True),
    self_attention(1, 16, 4096, 128, causal=True),
    self_attention(32, 12, 128, 32),
    self_attention(1, 8, 1000, 80),
    self_attention(1, 16, 577, 72),
    self_attention(1, 4, 8192, 256, causal=True, window_left=511),
    decode(1, 32, 32, 4096, 128),
    decode(1, 32, 8, 4096, 128),
    decode(16, 32, 8, 2048, 128, kv_lens=RAGGED_LENGTHS),
    Layer(1, 128, 768, 12),
    Layer(1, 512, 768, 12),
    Layer(8, 128, 768, 12),
    Layer(1, 2048, 768, 12),
    Layer(1, 1, 768, 12),
    Layer(4, 256, 1024, 16),
]
QUICK = [SUITE[0], SUITE[3], SUITE[8], SUITE[11], SUITE[13]]
