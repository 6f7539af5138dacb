"""Dot-product scores under the softmax, and torch's reasons to reject other calls."""

from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import tracing
from saccade.masks import Causal, shift
from saccade.normalizers import Softmax
from saccade.reads import Soft
from saccade.scores import ScaledDot, Score, ScoreFunction


class Product(NamedTuple):
    """scores = cap(scale · query · keyᵀ), cap(s) = softcap · tanh(s / softcap)."""

    query: Tensor
    key: Tensor
    scale: float
    softcap: float | Tensor | None


def product(score: Score | ScoreFunction, query: Tensor, key: Tensor) -> Product:
    """Factors of a score with `is_dot`."""
    softcap: float | Tensor | None = None
    if isinstance(score, ScaledDot) and score.softcap is not None:
        softcap, score = score.softcap, replace(score, softcap=None)
    factors = score.as_dot(query, key) if isinstance(score, Score) else None
    assert factors is not None, "product: expected a score that is a dot product"
    return Product(*factors, softcap)


def is_dot(score: Score | ScoreFunction, *, capped: bool = False) -> bool:
    """Whether the score is a dot product: with `capped`, one under a softcap too."""
    plain = capped or getattr(score, "softcap", None) is None
    return isinstance(score, Score) and type(score).as_dot is not Score.as_dot and plain


def why_not_sdpa(call: Call, *, capped: bool = False) -> str | None:
    """Return why the call needs more than dot products, softmax and soft read."""
    if not is_dot(call.score, capped=capped):
        suffix = " with a softcap" if is_dot(call.score, capped=True) else ""
        return f"its kernels know dot-product scores alone, not the score {name_of(call.score)}{suffix}"
    if not isinstance(call.normalizer, Softmax):
        return f"its kernels know the softmax alone, not the normalizer {name_of(call.normalizer)}"
    if not isinstance(call.read, Soft):
        return f"its kernels know the soft read alone, not {name_of(call.read)}"
    if call.gate is not None:
        return "its kernels know no gate"
    return "its kernels know no temperature tensor" if isinstance(call.normalizer.temperature, Tensor) else None


def is_causal(call: Call) -> bool:
    """Whether the mask is torch's causal mask, keys 0 .. i, without a bias."""
    mask = call.mask
    if call.bias is not None or type(mask) is not Causal or isinstance(mask.align, Tensor):
        return False
    if tracing():  # sizes are symbols: the mask's own words have to do
        return mask.align in (None, "start")
    return bool(shift(mask.align, call.grid()) == 0)


def name_of(thing: Any) -> str:
    """Name of a definition or a callable in messages."""
    return str(getattr(thing, "__name__", type(thing).__name__))


def sharing(rank: int, key: Tensor, value: Tensor) -> int:
    """Number of the last of `rank` batch dimensions that share a key and a value."""

    def shared(tensor: Tensor) -> int:
        sizes = reversed(tensor.shape[:-2])
        return next((count for count, size in enumerate(sizes) if size != 1), rank)

    return min(rank, shared(key), shared(value))
