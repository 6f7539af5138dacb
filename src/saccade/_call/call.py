"""A call of `attend`: its arguments, and the validated tree that backends run."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from saccade._call.lazy_value import LazyValue
from saccade._definitions.functions import closing
from saccade._definitions.numerics import broadcast_shapes, wide
from saccade._definitions.state import BackendState
from saccade._definitions.structure import Axes, Definition, Grid, aligned, encodable, registered
from saccade.auxiliary import AuxRequest
from saccade.biases import Bias, Factor
from saccade.masks import Mask
from saccade.normalizers import Normalizer, NormalizerFunction, Softmax
from saccade.reads import Read, Sample, Soft
from saccade.scores import ScaledDot, Score, ScoreFunction


class Widened:
    """Half-precision keys and values of a memory in float32, kept from read to read.

    To convert them takes as long as to read them. Those that need gradients are converted anew.
    """

    def __init__(self) -> None:
        # one tuple (key, value, their versions, both in float32), replaced as a whole: threads may read one memory
        self._kept: tuple[Tensor, Tensor, tuple[int, int], tuple[Tensor, Tensor]] | None = None

    def pair(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if key.requires_grad or value.requires_grad or key.is_inference() or value.is_inference():
            return wide(key), wide(value)  # recorded, or without a version that tells when they were written to
        kept, versions = self._kept, (key._version, value._version)
        if kept is None or kept[0] is not key or kept[1] is not value or kept[2] != versions:
            kept = self._kept = key, value, versions, (wide(key), wide(value))
        return kept[3]


SCALED_DOT, SOFTMAX, SOFT, NOTHING = ScaledDot(), Softmax(), Soft(), AuxRequest()
"""The defaults of `attend`, and the request of nothing beside the output."""


class Arguments(NamedTuple):
    """The arguments of one `attend` or `Memory.read`, unchecked."""

    query: Any
    key: Any
    value: Any
    score: Any = SCALED_DOT
    mask: Any = None
    bias: Any = None
    gate: Any = None
    normalizer: Any = SOFTMAX
    read: Any = SOFT
    dropout_p: Any = 0.0
    aux: Any = None
    backend: Any = "auto"
    memory_mask: Tensor | None = None  # of a memory's keys (..., 1, Lk), beside `mask`
    cache: Tensor | None = None  # as of `Call`
    state: BackendState | None = None


@registered
@dataclass(frozen=True)
class Call(Definition):
    """All that one call computes with, checked."""

    axes: ClassVar[dict[str, Axes]] = {
        "query": ("q", "d"),
        "key": ("k", "d"),
        "value": ("k", "e"),
        "noise": ("q",),
        "cache": ("k", "c"),
    }
    query: Tensor  # (..., Lq, Dq)
    key: Tensor  # (..., Lk, Dk)
    value: Tensor  # (..., Lk, Dv)
    score: Score | ScoreFunction
    mask: Mask | None
    bias: Bias | None
    gate: Factor | None
    normalizer: Normalizer | NormalizerFunction
    read: Read
    dropout_p: float
    noise: Tensor | None  # integers (..., Lq) that decide which weights are dropped, once they are drawn
    aux: AuxRequest
    cache: Tensor | None = None  # the score's prepared tensor of a memory's keys (..., Lk, C)
    state: BackendState | None = None  # results that backends keep with a memory
    once: BackendState | None = None  # results that backends keep of this call alone; None: computing is cheaper
    values: LazyValue | None = None  # the function of the values until it has run, with a placeholder in `value`

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions of the output: those of query, key and value, broadcast."""
        shapes = (self.query.shape[:-2], self.key.shape[:-2], self.value.shape[:-2])
        if shapes[0] == shapes[1] == shapes[2]:
            return tuple(shapes[0])
        return tuple(broadcast_shapes(*shapes))

    @property
    def rank(self) -> int:
        """Number of batch dimensions."""
        return max(self.query.ndim, self.key.ndim, self.value.ndim) - 2

    @property
    def pairs(self) -> int:
        """Number of pairs of a query and a key in the whole batch."""
        return math.prod(self.batch) * self.query.shape[-2] * self.key.shape[-2]

    @property
    def built_in(self) -> bool:
        """Whether score and normalizer are Saccade's own: `leaves` has all their tensors."""
        return isinstance(self.score, Score) and isinstance(self.normalizer, Normalizer)

    def grid(self) -> Grid:
        """All queries against all keys."""
        q_len, k_len, device = self.query.shape[-2], self.key.shape[-2], self.query.device
        return Grid(q_len, k_len, 0, q_len, device, rank=self.rank)

    def aligned(self) -> "Call":
        """The same call with all batch dimensions at one place (see `structure.aligned`)."""
        rank = self.rank
        return self.map(lambda tensor, axes: aligned(tensor, axes, rank))

    def with_randomness(self) -> "Call":
        """The same call with the uniforms of a Sample and the noise of dropout drawn.

        torch's kernels replace the noise by their own.
        """
        call, rows = self, (*self.batch, self.query.shape[-2])
        if isinstance(self.read, Sample):
            dtype = torch.float64 if self.query.dtype == torch.float64 else torch.float32
            call = replace(call, read=self.read.drawn(rows, dtype, self.query.device))
        if self.dropout_p > 0:
            call = replace(call, noise=torch.randint(1 << 32, rows, device=self.query.device))
        return call

    def asks(self) -> bool:
        """Whether anything is to be returned beside the output."""
        return self.aux is not NOTHING and bool(self.aux.names())

    def soft(self) -> bool:
        """Whether the read is the plain expectation."""
        return isinstance(self.read, Soft)

    def learns(self) -> bool:
        """Whether a backward may follow."""
        return torch.is_grad_enabled() and any(leaf.tensor.requires_grad for leaf in self.leaves())


def opaque(call: Call) -> bool:
    """Whether the call can cross into an opaque operator: built-in definitions alone."""
    return call.built_in and encodable(call if call.once is None else replace(call, once=None))


def closing_over(call: Call) -> bool:
    """Whether functions of positions may close over differentiated tensors."""
    pairs = call.query.shape[-2] and call.key.shape[-2]
    return bool(pairs) and closing(call.mask, call.bias, call.gate, device=call.query.device)


def rows(call: Any, start: int, count: int) -> Any:
    """The call for queries start .. start + count - 1."""

    def narrow(tensor: Tensor, axes: Axes) -> Tensor:
        if "q" not in axes:
            return tensor
        dim = tensor.ndim - len(axes) + axes.index("q")
        return tensor if dim < 0 or tensor.shape[dim] == 1 else tensor.narrow(dim, start, count)

    return call.map(narrow)
