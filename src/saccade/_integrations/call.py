"""A call of another library's attention, as arguments of `attend`, and the recorders that observe it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from torch import Tensor, nn

from saccade import normalizers, scores
from saccade._call.call import SCALED_DOT, SOFTMAX
from saccade.attention import attend
from saccade.auxiliary import AuxRequest

Kind = Literal["self", "cross", "sliding"]


@dataclass(frozen=True, kw_only=True)
class AttentionCall:
    """Arguments of `attend` for one call of a module of another library.

    Args:
        module: the module that attends, None if only its call is known.
        query, key, value: `(B, H, Lq, D)`, `(B, Hkv, Lk, D)`, `(B, Hkv, Lk, Dv)`; H is a multiple of Hkv.
        score, mask, bias, normalizer, dropout_p: as of `attend`, for tensors with H heads.
        kind: "self", "cross", or "sliding" for a self-attention with a window.
        key_offset: position of key 0 in the sequence, above 0 if a cache has dropped the first keys.
    """

    module: nn.Module | None
    query: Tensor
    key: Tensor
    value: Tensor
    score: scores.Score = SCALED_DOT
    mask: Any = None
    bias: Any = None
    normalizer: normalizers.Normalizer = SOFTMAX
    dropout_p: float = 0.0
    kind: Kind = "self"
    key_offset: int = 0

    def attend(self, aux: AuxRequest | None = None) -> Any:
        """Compute the call by `attend`: `(B, H, Lq, Dv)`, with statistics of all H heads if requested."""
        key, value = self.key, self.value
        if (groups := self.query.shape[1] // key.shape[1]) > 1:
            key, value = (tensor.repeat_interleave(groups, 1) for tensor in (key, value))
        return attend(
            self.query, key, value,
            score=self.score, mask=self.mask, bias=self.bias, normalizer=self.normalizer,
            dropout_p=self.dropout_p, aux=aux,
        )  # fmt: skip


class Recorder(Protocol):
    """What `look.record` puts on the stack of its thread."""

    def compute(self, call: AttentionCall, own: Callable[[], Tensor] | None, aux: AuxRequest | None) -> Any:
        """Record a call and return its output; with `aux`, the output and these statistics for the caller.

        `own` computes the output `(B, H, Lq, Dv)` by the model's own kernel, None if that is `attend`.
        """


class _Stack(threading.local):
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []


STACK = _Stack()
"""Recorders of this thread, the innermost last."""


def compute(call: AttentionCall, own: Callable[[], Tensor] | None = None, aux: AuxRequest | None = None) -> Any:
    """Return the output of a call, and with `aux` its statistics, past the recorders of this thread."""
    if STACK.recorders:
        return STACK.recorders[-1].compute(call, own, aux)
    if own is not None and aux is None:
        return own()
    return call.attend(aux)
