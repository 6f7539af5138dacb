"""Recording of every attention module of a model."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch import nn as torch_nn
from torch.utils import _pytree as pytree

from saccade import AuxOutput, AuxRequest, nn
from saccade._integrations.call import STACK, AttentionCall, Below, Kernel, Kind, recomputing
from saccade._integrations.sdpa import Caller, intercepted
from saccade._threads import hooked
from saccade.errors import ArgumentError
from saccade.look._fused import own_paths
from saccade.look._records import Marks, Record, Recording
from saccade.look._statistics import Selection, statistics

Mode = Literal["observe", "serve"]
ATTENTION = (nn.Attention, nn.MultiheadAttention, nn.AttentionPool, nn.GatedLSTM, nn.MixtureOfExperts)
WEIGHTS = AuxRequest(weights=True)
_NAMED_ATTENTION = re.compile("attention|attn", re.IGNORECASE)
_SOFTMAX = (torch_nn.Softmax, torch_nn.Softmax2d)


@contextmanager
def record(
    model: torch_nn.Module,
    aux: AuxRequest = WEIGHTS,
    *,
    mode: Mode = "observe",
    layers: int | str | Sequence[int | str] | None = None,
    heads: int | Sequence[int] | None = None,
    rows: int | slice | Sequence[int] | None = None,
    detach: bool = False,
    required: bool = True,
) -> Iterator[Recording]:
    """Record the attention of a model in a block, call by call.

    Modules of `saccade.nn` compute their statistics with their output. In other models the calls of
    `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and of transformers' models with
    `attn_implementation="saccade"` are recorded. A module that attends by matrix products of its own has no record,
    and `coverage.bypassing` has its name.

    Other models return the same bits as without recording in mode "observe", and Saccade's modules the same up to
    rounding. The hooks are gone when the block ends, by an error too. An
    attention module of `saccade.nn` inside another one is part of it and has no record of its own.

    Several threads may record one model and call it: a recording holds the calls of the thread that opened the block,
    and the calls of other threads do not change. A forward that a checkpoint repeats in its backward is recorded once.

    Args:
        model: any module.
        aux: statistics to record: the weights, or statistics of them in linear memory (see `saccade.AuxRequest`).
        mode: for modules that are not Saccade's. "observe": the model's own kernel computes the output, bit for bit,
            and Saccade the statistics from the same query, key and mask, without gradients. "serve": Saccade computes
            both, and gradients flow through the records.
        layers: modules to record: names of them or of modules around them, or numbers as in `layers.3`. None is all.
        heads: numbers of heads to record. None is all.
        rows: numbers of queries to record, or a slice. None is all. `received` sums over these queries.
        detach: record tensors that are cut off from the graph, so that they hold no memory but their own.
        required: raise an error if nothing was recorded. With False the recording stays empty.

    Yields:
        A `Recording`, which grows with the calls.

    Raises:
        ArgumentError: an unknown mode or layer, a head or row that a call does not have, rows with `received` of a
            module of `saccade.nn`, or a block that recorded nothing.

    Example:
        >>> from saccade import nn
        >>> model = torch.nn.ModuleDict({"read": nn.Attention(4, 6, hidden_dim=5)})
        >>> with record(model) as recording:
        ...     output = model["read"](torch.randn(1, 2, 4), torch.randn(1, 3, 6))
        >>> [(name, tuple(aux.weights.shape)) for name, aux in recording], recording[0].kind
        ([('read', (1, 2, 3))], 'cross')
        >>> recording.coverage
        Coverage(recorded=('read',), partial=(), bypassing=())
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
        >>> with record(layer, AuxRequest(entropy=True)) as recording:
        ...     output = layer(torch.randn(1, 5, 8))
        >>> recording["self_attn"][0].entropy.shape
        torch.Size([1, 2, 5])
    """
    if mode not in get_args(Mode):
        raise ArgumentError(f"mode: expected 'observe' or 'serve', got {mode!r}")
    recorder = Recorder(model, aux, mode, Selection(heads, rows), detach, layers)
    with recorder.installed(model):
        yield recorder.recording
    if required and not recorder.called:
        raise ArgumentError(f"{nothing_recorded(model, recorder)}, or pass required=False for no records")


def _attends(module: torch_nn.Module) -> bool:
    return isinstance(module, (*ATTENTION, torch_nn.MultiheadAttention)) or bool(
        _NAMED_ATTENTION.search(type(module).__name__)
    )


def _within(name: str, other: str) -> bool:
    """Whether a module's name is another one's or lies below it."""
    return not other or f"{name}.".startswith(f"{other}.")


def _chosen(name: str, layers: int | str | Sequence[int | str] | None) -> bool:
    if layers is None:
        return True
    listed = [layers] if isinstance(layers, int | str) else layers
    numbers = [int(part) for part in name.split(".") if part.isdigit()]
    return any(numbers[:1] == [layer] if isinstance(layer, int) else _within(name, layer) for layer in listed)


def nothing_recorded(model: torch_nn.Module, recorder: "Recorder") -> str:
    """Message of an error: the model attends nowhere, or nowhere that can be recorded."""
    if not recorder.marks:
        return (
            f"model: expected a module that attends, got {type(model).__name__} without any. Attend through "
            "saccade.nn, torch.nn.MultiheadAttention or F.scaled_dot_product_attention"
        )
    listed = f"{', '.join(map(repr, recorder.marks)):.200}"
    return (
        f"model: expected a call of its attention in the block, got none that can be recorded of {listed}. Call the "
        "model inside the block, in the thread that opened it and not compiled; load a model of transformers with "
        "attn_implementation='sdpa' or 'saccade' in place of 'eager'"
    )


class Recorder:
    """Hooks of Saccade's modules, and the observer of other calls."""

    ours: tuple[type[torch_nn.Module], ...] = ATTENTION

    def __init__(
        self,
        model: torch_nn.Module,
        request: AuxRequest,
        mode: Mode = "observe",
        selection: Selection = Selection(None, None),  # noqa: B008 frozen
        detach: bool = False,
        layers: int | str | Sequence[int | str] | None = None,
    ) -> None:
        named = {name: module for name, module in model.named_modules() if _attends(module)}
        inner = {name for name, module in named.items() if isinstance(module, self.ours)}
        leaves = [
            name
            for name in named
            if name in inner or not any(other != name and _within(other, name) for other in named)
        ]
        self.chosen = {name: module for name, module in model.named_modules() if _chosen(name, layers)}
        if layers is not None and not any(name in self.chosen for name in leaves):
            listed = ", ".join(map(repr, leaves)) or "none"
            raise ArgumentError(
                f"layers: expected names or numbers of modules that attend ({listed:.200}), got {layers!r}"
            )
        self.names = {module: name for name, module in named.items() if name in inner and name in self.chosen}
        others = [name for name in leaves if name not in inner and name in self.chosen]
        self.marks: Marks = {name: set() for name in [*self.names.values(), *others]}
        self.every: dict[torch_nn.Module, str] = {module: name for name, module in model.named_modules()}
        self.request, self.mode, self.selection, self.detach = request, mode, selection, detach
        self.called, self.recording = False, Recording(marks=self.marks)
        self.waiting: list[tuple[torch_nn.Module, AuxRequest | None, Kind]] = []

    @contextmanager
    def installed(self, model: torch_nn.Module) -> Iterator[None]:
        """Record the calls of a block in this thread."""
        with ExitStack() as stack:
            hooks = {"with_kwargs": True, "prepend": True, "always_call": True}
            stack.enter_context(hooked(self.names, self.take, self.ask, **hooks))
            if len(self.every) > len(self.names):
                stack.enter_context(own_paths(model, fused=self.mode == "observe"))
                stack.enter_context(intercepted())
            STACK.recorders.append(self)
            try:
                yield
            finally:
                STACK.recorders.remove(self)
                self.cover()

    def ask(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        """Before a call: request the statistics, except inside a recorded call."""
        request = kwargs.get("aux")
        self.waiting.append((module, request, kind_of(module, args, kwargs)))
        if len(self.waiting) > 1:
            self.marks[self.names[module]].add("inner")
            return None
        self.called = True
        return args, {**kwargs, "aux": _joint(self.request, request)}

    def take(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        """After a call or its failure: keep the record, and return the caller's result."""
        if not self.waiting or self.waiting[-1][0] is not module:  # a hook before ours failed: `ask` did not run
            return None
        (_, request, kind), name = self.waiting.pop(), self.names[module]
        if self.waiting:
            return None
        if result is None:  # the call failed
            self.marks[name].add("partial")
            return None
        *output, aux = result
        self.keep(name, self.selection.of(_only(aux, self.request)), None, kind)
        if request is not None:
            return (*output, _only(aux, request))
        return output[0] if len(output) == 1 else tuple(output)

    def compute(self, call: AttentionCall, kernel: Kernel | None, aux: AuxRequest | None, below: Below) -> Any:
        """Compute a call of another library's module, and record it."""
        name = next((self.every[module] for module in call.callers if module in self.every), None)
        if self.waiting or STACK.paused or name is None or name not in self.chosen:
            return below(kernel, aux)
        marks = self.marks.setdefault(name, set())
        try:
            if self.observes(kernel):
                result = below(kernel, aux)
                if not recomputing():
                    with torch.no_grad():
                        self.observe(name, call)
                return result
            if self.selection.all and getattr(call.normalizer, "sink", None) is None:
                output, full = below(None, _joint(self.request, aux))
                kept, sink = _only(full, self.request), None
            else:
                result = below(None, aux)
                output, full = result if aux else (result, None)
                kept, sink = statistics(call, self.request, self.selection)
            if not recomputing():
                self.keep(name, kept, sink, call.kind, call.key_offset)
        except Exception:
            marks.add("partial")
            raise
        return output if aux is None else (output, _only(full, aux))

    def observes(self, kernel: Kernel | None) -> bool:
        """Whether the statistics of a call are computed beside its output."""
        return kernel is not None and self.mode == "observe"

    def observe(self, name: str, call: AttentionCall) -> None:
        """Record a call beside its output, without a graph."""
        self.keep(name, *statistics(call, self.request, self.selection), call.kind, call.key_offset)

    def keep(self, name: str, aux: AuxOutput, sink: Tensor | None, kind: Kind, key_offset: int = 0) -> None:
        """Append a record."""
        self.called = True
        self.marks[name].add("recorded")
        if any(getattr(aux, statistic) is None for statistic in self.request.names()):
            self.marks[name].add("partial")
        if self.detach:
            aux, sink = pytree.tree_map_only(Tensor, Tensor.detach, (aux, sink))
        records = self.recording._records
        records.append(Record(name, aux, len(records), kind, key_offset, sink))

    def note_softmax(self, caller: Caller) -> None:
        """Name a module that computes its own softmax over scores, if it gets no record."""
        modules = [module for module in caller.modules if module in self.every and type(module) not in _SOFTMAX]
        name = self.every[modules[0]] if modules else None
        if not (self.waiting or STACK.paused or caller.ours or name is None) and name in self.chosen:
            self.marks.setdefault(name, set())

    def cover(self) -> None:
        """Remove modules around or inside recorded ones from the names without records."""
        recorded = {name for name, marks in self.marks.items() if "recorded" in marks}
        for name in [name for name, marks in self.marks.items() if not marks]:
            if any(_within(other, name) or _within(name, other) for other in recorded):
                del self.marks[name]


def _joint(request: AuxRequest, other: AuxRequest | None) -> AuxRequest:
    both = (request, other or AuxRequest())
    return AuxRequest(**{field.name: max(getattr(part, field.name) for part in both) for field in fields(AuxRequest)})


def kind_of(module: torch_nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kind:
    """Whether the queries of a call read themselves."""
    if isinstance(module, nn.GatedLSTM):
        return "self"
    if not isinstance(module, nn.Attention | nn.MultiheadAttention):
        return "cross"  # learned queries, or experts in the place of keys
    if (memory := kwargs.get("memory")) is not None:
        return "self" if memory.grown else "cross"
    query, key = (*args, kwargs.get("query"))[0], args[1] if len(args) > 1 else kwargs.get("key")
    return "self" if key is None or key is query else "cross"


def _only(aux: AuxOutput, request: AuxRequest) -> AuxOutput:
    """The part of the result of a larger request that one request gets."""
    answer = AuxOutput(**{name: getattr(aux, name) for name in request.names()})
    if answer.top is None:
        return answer
    values, indices = answer.top
    return replace(answer, top=(values[..., : request.top], indices[..., : request.top]))
