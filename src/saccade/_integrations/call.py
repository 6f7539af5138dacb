"""A call of another library's attention, as arguments of `attend`, and the recorders that observe it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import torch
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
        modules: modules whose `forward` is running, the innermost first; `(module,)` by default.
        query, key, value: `(B, H, Lq, D)`, `(B, Hkv, Lk, D)`, `(B, Hkv, Lk, Dv)`; H is a multiple of Hkv.
        score, mask, bias, normalizer, dropout_p: as of `attend`, for tensors with H heads.
        options: further arguments of `attend`, for example a gate.
        kind: "self", "cross", or "sliding" for a self-attention with a window.
        key_offset: position of key 0 in the sequence, above 0 if a cache has dropped the first keys.
    """

    module: nn.Module | None = None
    modules: tuple[nn.Module, ...] = ()
    query: Tensor
    key: Tensor
    value: Tensor
    score: scores.Score = SCALED_DOT
    mask: Any = None
    bias: Any = None
    normalizer: normalizers.Normalizer = SOFTMAX
    dropout_p: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)
    kind: Kind = "self"
    key_offset: int = 0

    @property
    def callers(self) -> tuple[nn.Module, ...]:
        """Modules that may have made the call, the innermost first."""
        return self.modules or (() if self.module is None else (self.module,))

    def attend(self, aux: AuxRequest | None = None) -> Any:
        """Compute the call by `attend`: `(B, H, Lq, Dv)`, with statistics of all H heads if requested."""
        query, key, value = self.query, self.key, self.value
        if query.ndim > 2 and key.shape[-3] not in (1, query.shape[-3]):
            key, value = (part.repeat_interleave(query.shape[-3] // part.shape[-3], -3) for part in (key, value))
        return attend(
            query,
            key,
            value,
            score=self.score,
            mask=self.mask,
            bias=self.bias,
            normalizer=self.normalizer,
            dropout_p=self.dropout_p,
            aux=aux,
            **self.options,
        )


Kernel = Callable[[], Any]
Below = Callable[[Kernel | None, AuxRequest | None], Any]


class Recorder(Protocol):
    """An observer of calls, which `look.record` puts on the stack of its thread."""

    mode: Literal["observe", "serve"]
    every: dict[nn.Module, str]

    def compute(self, call: AttentionCall, kernel: Kernel | None, aux: AuxRequest | None, below: Below) -> Any:
        """Record a call and return its output; with `aux`, the output and these statistics for the caller.

        `kernel` computes the output by the model's own kernel, None if that is `attend`. `below(kernel, aux)`
        computes it past the recorders of the blocks around this one.
        """

    def note_softmax(self, caller: Any) -> None:
        """Note a softmax over scores of a module that may attend by matrix products of its own."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []
        self.replacements: list[dict[str, Any]] = []
        self.blocks = 0
        self.fused = False
        self.paused = False


STACK = _Stack()
"""Recorders and replacements of this thread, the innermost last.

`fused` is whether a module with a fused path runs in this thread, `paused` whether the recorders wait for its second
run.
"""


def compute(call: AttentionCall, kernel: Kernel | None = None, aux: AuxRequest | None = None) -> Any:
    """Return the output of a call, and with `aux` its statistics, past the recorders of this thread.

    If `kernel` is given and nothing takes its place, its result is returned, whatever it is.
    """
    if STACK.replacements:
        options = dict(STACK.replacements[-1])
        parts = {name: options.pop(name) for name in ("score", "normalizer") if name in options}
        call, kernel = replace(call, **parts, options={**call.options, **options}), None
    return _past(STACK.recorders, call, kernel, aux)


def _past(recorders: Sequence[Recorder], call: AttentionCall, kernel: Kernel | None, aux: AuxRequest | None) -> Any:
    if recorders:
        return recorders[-1].compute(call, kernel, aux, lambda kernel, aux: _past(recorders[:-1], call, kernel, aux))
    return call.attend(aux) if kernel is None else kernel()


def recomputing() -> bool:
    """Whether a backward pass is running, as when a checkpoint computes its forward again."""
    return bool(torch._C._current_graph_task_id() != -1)
