"""Pictures of attention. They need matplotlib, and are shown by notebooks as they are.

    oclattn.plot.heads(layer, x, tokens=words).save("heads.png", "heads.svg")
    oclattn.plot.stages(layer, x).save("stages.svg")
"""
import io
import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ._arrays import is_torch
from ._errors import InvalidArgumentError, InvalidTypeError, missing_package
from ._mha import MultiHeadAttention
from ._stages import Stage, width_sentence

try:
    import matplotlib
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, Rectangle
except ImportError as error:
    raise missing_package("matplotlib", "oclattn.plot", error) from None

_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "oclattn", "font.size": 8.0, "font.family": "sans-serif"}
_HIDDEN, _INK, _PAPER = "0.8", "0.15", "0.96"
MOST_LABELS = 32


class Picture:
    """A drawing: save() it, let a notebook show it, or go on with its matplotlib `figure`."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def save(self, *paths: Any, dpi: int = 110) -> "Picture":
        """To files whose names end in .png, .svg or whatever else matplotlib knows."""
        for path in paths:
            self._write(path, str(path).rpartition(".")[2].lower(), dpi)
        return self

    def _write(self, target: Any, kind: str, dpi: int) -> None:
        metadata = {"Date": None} if kind == "svg" else None
        with matplotlib.rc_context(_STYLE):
            self.figure.savefig(target, format=kind, dpi=dpi, metadata=metadata)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self._write(file, "png", 110)
        return file.getvalue()


# ---- who attends to whom ---------------------------------------------------------------------------------------------


def heads(what: Any, x: Any = None, *, tokens: Optional[Sequence[str]] = None,
          key_tokens: Optional[Sequence[str]] = None, hidden: Any = None, entry: int = 0, columns: int = 4,
          title: Optional[str] = None, **options: Any) -> Picture:
    """One heat map per head: how much each row's token (the query) attends to each column's (the key).

    what: probabilities [heads, queries, keys] or [batch, heads, queries, keys], as attention(return_probs=True) returns
        them; or a MultiHeadAttention, whose probabilities for x are computed, with the options of a call
    tokens: a label for each query, and for each key unless key_tokens are given; numbers otherwise
    hidden: True where a key is hidden, which is drawn grey; broadcasts to [heads, queries, keys]. Otherwise where the
        probability is exactly 0.
    entry: which one of the batch is drawn
    """
    probs = _probabilities(what, x, entry, options)
    n_heads, rows, keys = probs.shape
    labels = _labels("tokens", tokens, rows)
    key_labels = _labels("key_tokens", key_tokens, keys) if key_tokens is not None or rows != keys else labels
    grey = np.broadcast_to(probs == 0 if hidden is None else np.asarray(hidden, bool), probs.shape)
    with matplotlib.rc_context(_STYLE):
        figure = _draw_heads(np.ma.masked_array(probs, grey), labels, key_labels, max(1, min(columns, n_heads)))
        figure.suptitle(title or "Who attends to whom: rows are queries, columns are keys, grey is hidden", fontsize=9)
    return Picture(figure)


def _probabilities(what: Any, x: Any, entry: int, options: Any) -> np.ndarray:
    if isinstance(what, MultiHeadAttention):
        if x is None:
            raise InvalidArgumentError("heads(layer, x) needs x, the layer's input")
        what, options = what.probabilities(x, **options), {}
    if x is not None and not isinstance(what, np.ndarray) or options:
        raise InvalidArgumentError("options belong to heads(layer, x): probabilities are drawn as they are")
    probs = np.asarray(what.detach().float() if is_torch(what) else what)
    if probs.dtype.kind != "f":
        raise InvalidTypeError("probabilities have elements of type %s; they are floats" % probs.dtype)
    probs = probs[entry] if probs.ndim == 4 else probs
    if probs.ndim != 3 or probs.size == 0:
        raise InvalidArgumentError("probabilities have shape %s; they are [heads, queries, keys] or [batch, heads, "
                                   "queries, keys], and not empty" % list(np.shape(what)))
    return probs


def _labels(name: str, tokens: Optional[Sequence[str]], count: int) -> List[str]:
    if tokens is None:
        return [str(at + 1) for at in range(count)]
    if isinstance(tokens, str) or len(tokens) != count:
        raise InvalidArgumentError("%s has %d labels for %d positions: one for each is needed, in a list" % (
            name, len(tokens), count))
    return [str(token) for token in tokens]


def _draw_heads(probs: Any, labels: List[str], key_labels: List[str], columns: int) -> Figure:
    n_heads, rows, keys = probs.shape
    lines = math.ceil(n_heads / columns)
    side = max(1.6, min(2.6, 0.16 * max(rows, keys)))
    figure = Figure(figsize=(side * columns + 1.0, (side + 0.2) * lines + 0.5), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    colours = matplotlib.colormaps["viridis"].with_extremes(bad=_HIDDEN)
    top = max(float(probs.max()) if probs.count() else 1.0, 1e-6)
    scale = PowerNorm(0.5, 0, top)  # most probabilities are small: the square root spreads them out
    image: Any = None
    for at, axis in enumerate(axes.flat):
        if at >= n_heads:
            axis.set_visible(False)
            continue
        image = axis.imshow(probs[at], cmap=colours, norm=scale, interpolation="none", aspect="auto")
        axis.set_title("head %d" % (at + 1), fontsize=8, pad=2)
    _set_ticks(axes, n_heads, labels, key_labels)
    figure.colorbar(image, ax=axes, shrink=0.6, aspect=30, label="probability")
    return figure


def _set_ticks(axes: Any, n_heads: int, labels: List[str], key_labels: List[str]) -> None:
    def some(names: List[str]) -> Tuple[range, List[str]]:
        places = range(0, len(names), math.ceil(len(names) / MOST_LABELS) if len(names) > MOST_LABELS else 1)
        return places, [names[place] for place in places]

    columns = axes.shape[1]
    size = 7 if max(len(labels), len(key_labels)) <= 16 else 5
    for at, axis in enumerate(list(axes.flat)[:n_heads]):
        axis.set_yticks(*some(labels), fontsize=size)
        axis.set_xticks(*some(key_labels), fontsize=size, rotation=90)
        axis.tick_params(length=1.5, labelleft=at % columns == 0, labelbottom=at + columns >= n_heads)


# ---- from H to F(H) --------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 2.5, 0.72
# Where the middle of each stage's box lies: column and line.
_PLACES = {"H": (1, 0), "Q": (0, 1), "K": (1, 1), "V": (2, 1), "Q split": (0, 2), "K split": (1, 2), "V split": (2, 2),
           "probabilities": (0.5, 3), "heads": (1.25, 4), "merged": (1.25, 5), "F(H)": (1.25, 6), "H_kv": (2, 0)}
_ARROWS = [("H", "Q"), ("Q", "Q split"), ("K", "K split"), ("V", "V split"), ("Q split", "probabilities"),
           ("K split", "probabilities"), ("probabilities", "heads"), ("V split", "heads"), ("heads", "merged"),
           ("merged", "F(H)")]
_STRIPED = {"Q": "Q split", "K": "K split", "V": "V split", "Q split": "Q split", "K split": "K split",
            "V split": "V split", "probabilities": "Q split", "heads": "Q split", "merged": "Q split"}


def stages(layer: MultiHeadAttention, x: Any, kv: Any = None, *, title: Optional[str] = None) -> Picture:
    """The flow of shapes from H to F(H). Each colour is a head: where columns belong to one, and where it is alone.

    x: the layer's input, or its shape, (rows, d_model) or (batch, rows, d_model); kv: where keys and values come from
    """
    found = {stage.name: stage for stage in layer.stages(x, kv)}
    source = "H_kv" if "H_kv" in found else "H"
    sentence = width_sentence(layer.d_model, layer.n_heads, layer.head_dim, layer.v_dim)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(8.6, 7.6))
        axis = figure.add_axes((0, 0, 1, 1), xlim=(-1.45, 7.45), ylim=(-7.5, 0.75))
        axis.set_axis_off()
        for name, stage in found.items():
            heads_here = found[_STRIPED[name]].shape[1] if name in _STRIPED else 0
            _draw_box(axis, stage, _middle(name), heads_here)
        for start, end in _ARROWS + [(source, "K"), (source, "V")]:
            _draw_arrow(axis, _middle(start), _middle(end))
        axis.text(3.0, 0.6, title or "From H to F(H): shapes, and how each comes about", ha="center", fontsize=10)
        axis.text(3.0, -7.25, sentence, ha="center", color=_INK)
    return Picture(figure)


def _middle(name: str) -> Tuple[float, float]:
    column, line = _PLACES[name]
    return column * 3.0, -1.12 * line


def _draw_box(axis: Any, stage: Stage, middle: Tuple[float, float], n_heads: int) -> None:
    left, bottom = middle[0] - _WIDTH / 2, middle[1] - _HEIGHT / 2
    axis.add_patch(Rectangle((left, bottom), _WIDTH, _HEIGHT, facecolor=_PAPER, edgecolor=_INK, linewidth=0.8))
    colours = matplotlib.colormaps["tab20"]
    for head in range(n_heads):
        axis.add_patch(Rectangle((left + _WIDTH * head / n_heads, bottom), _WIDTH / n_heads, 0.09,
                                 facecolor=colours(head % 20), linewidth=0))
    shape = " x ".join(str(size) for size in stage.shape)
    axis.text(middle[0], middle[1] + 0.2, stage.name, ha="center", va="center", fontsize=9, fontweight="bold",
              color=_INK)
    axis.text(middle[0], middle[1] + 0.01, shape, ha="center", va="center", fontsize=8.5, color=_INK)
    axis.text(middle[0], middle[1] - 0.17, stage.how, ha="center", va="center", fontsize=6.5, color="0.35")


def _draw_arrow(axis: Any, start: Tuple[float, float], end: Tuple[float, float]) -> None:
    axis.add_patch(FancyArrowPatch((start[0], start[1] - _HEIGHT / 2), (end[0], end[1] + _HEIGHT / 2), arrowstyle="-|>",
                                   mutation_scale=9, linewidth=0.9, color="0.4", shrinkA=0, shrinkB=0))
