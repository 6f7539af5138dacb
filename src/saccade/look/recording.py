"""Recording: what every attention module of a model attended to, without touching the model."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from torch import Tensor
from torch import nn as torch_nn
from torch.utils import _pytree as pytree

from saccade import AuxOutput, AuxRequest, nn
from saccade._threads import hooked
from saccade.errors import ArgumentError

Record = tuple[str, AuxOutput]
ATTENTION = (nn.Attention, nn.MultiheadAttention, nn.AttentionPool, nn.GatedLSTM, nn.MixtureOfExperts)
WEIGHTS = AuxRequest(weights=True)


@contextmanager
def record(
    model: torch_nn.Module, aux: AuxRequest = WEIGHTS, *, detach: bool = False, required: bool = True
) -> Iterator[list[Record]]:
    """Collect what each attention module of a model attends to, call by call, while the block runs.

    The model is called and answers as always: a module that was not asked for statistics still returns a Tensor.
    Gradients flow through what is recorded, unless `detach` says otherwise. The hooks are gone when the block ends,
    whatever ended it. An attention module inside another one is part of it and has no record of its own.

    Several threads may record one model and call it: a record holds the calls of the thread that opened the block, and
    the calls of other threads return what they always return.

    Args:
        model: any module that attends through `saccade.nn`; it may be an attention module itself.
        aux: what to record: the weights, or any of their statistics in linear memory (see `saccade.AuxRequest`).
        detach: record tensors that are cut off from the graph, so that they hold no memory but their own.
        required: raise an error if nothing can be recorded or nothing was called. With False the list stays empty,
            for code that takes models with and without attention.

    Yields:
        A list of (name of the module in the model, its `AuxOutput`) in the order of the calls; it grows as they happen.

    Raises:
        ArgumentError: a model without a module that can be recorded; at the end of the block, if none was called.

    Example:
        >>> import torch
        >>> from saccade import nn
        >>> model = torch.nn.ModuleDict({"read": nn.Attention(4, 6, hidden_dim=5)})
        >>> with record(model) as records:
        ...     output = model["read"](torch.randn(1, 2, 4), torch.randn(1, 3, 6))
        >>> [(name, tuple(aux.weights.shape)) for name, aux in records]
        [('read', (1, 2, 3))]
    """
    named = model.named_modules()
    names: dict[torch_nn.Module, str] = {module: name for name, module in named if isinstance(module, ATTENTION)}
    if required and not names:
        expected = f"a module with attention of saccade.nn in it ({', '.join(kind.__name__ for kind in ATTENTION)})"
        raise ArgumentError(
            f"model: expected {expected}, got {type(model).__name__} without any. Attend through these modules, "
            "or pass required=False for no records"
        )
    recorder = _Recorder(names, aux, detach)
    with hooked(names, recorder.take, recorder.ask, with_kwargs=True, prepend=True, always_call=True):
        yield recorder.records
    if required and not recorder.called:
        listed = ", ".join(map(repr, names.values()))
        raise ArgumentError(
            f"model: expected a call of its attention in the block, got none of {listed}. "
            "Call the model inside the block, in the thread that opened it and not compiled, or pass required=False"
        )


class _Recorder:
    """The two hooks of every module, and the requests of the calls that have not returned yet."""

    def __init__(self, names: dict[torch_nn.Module, str], request: AuxRequest, detach: bool) -> None:
        self.names, self.request, self.detach = names, request, detach
        self.records: list[Record] = []
        self.called = False
        self.waiting: list[tuple[torch_nn.Module, AuxRequest | None]] = []

    def ask(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        """Before the call: ask for what is to be recorded as well, unless the call is part of one that is recorded."""
        self.called, asked = True, kwargs.get("aux")
        self.waiting.append((module, asked))
        if len(self.waiting) > 1:
            return None
        return args, {**kwargs, "aux": self.request if asked is None else _both(asked, self.request)}

    def take(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        """After the call, or its failure: keep the record and hand the caller what it had asked for."""
        if not self.waiting or self.waiting[-1][0] is not module:  # a hook before ours failed: nothing was asked
            return None
        _, asked = self.waiting.pop()
        if self.waiting or result is None:
            return None
        *output, aux = result
        kept = _only(aux, self.request)
        self.records.append((self.names[module], _detached(kept) if self.detach else kept))
        if asked is not None:
            return (*output, _only(aux, asked))
        return output[0] if len(output) == 1 else tuple(output)


def _both(first: AuxRequest, second: AuxRequest) -> AuxRequest:
    """The request for everything that either of two asks for."""
    joint = {field.name: max(getattr(first, field.name), getattr(second, field.name)) for field in fields(AuxRequest)}
    return AuxRequest(**joint)


def _only(aux: AuxOutput, request: AuxRequest) -> AuxOutput:
    """What one request gets of the answer to a larger one."""
    kept = {field.name: getattr(aux, field.name) for field in fields(AuxOutput) if getattr(request, field.name)}
    answer = AuxOutput(**kept)
    if answer.top is None:
        return answer
    values, indices = answer.top
    return replace(answer, top=(values[..., : request.top], indices[..., : request.top]))


def _detached(aux: AuxOutput) -> AuxOutput:
    detached: AuxOutput = pytree.tree_map_only(Tensor, Tensor.detach, aux)
    return detached
