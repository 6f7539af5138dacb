"""Recording: weights of every attention module of a model, call by call."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import chain
from os.path import lexists
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, overload

from torch import Tensor
from torch import nn as torch_nn
from torch.utils import _pytree as pytree

from saccade import AuxOutput, AuxRequest, nn
from saccade._threads import hooked
from saccade.errors import ArgumentError, SaccadeError, pip_install
from saccade.look._files import with_ending, write_new

Kind = Literal["self", "cross"]
ATTENTION = (nn.Attention, nn.MultiheadAttention, nn.AttentionPool, nn.GatedLSTM, nn.MixtureOfExperts)
WEIGHTS = AuxRequest(weights=True)
_STATISTICS = tuple(field.name for field in fields(AuxOutput))
_FORMAT = 1  # of the files that `Recording.save` writes
_Marks = dict[str, set[str]]
"""Modules by name: "recorded", "partial" or "inner", within another module."""


class Coverage(NamedTuple):
    """Names of a model's attention modules, by the completeness of their records.

    Args:
        recorded: every call has a record with every statistic of the request.
        partial: some calls have no record, as they failed, or lack a statistic.
        bypassing: no call has a record. Such a module was not called in the block's thread, or only by its `forward`,
            or is an attention that cannot be recorded, as `torch.nn.MultiheadAttention`.
    """

    recorded: tuple[str, ...]
    partial: tuple[str, ...]
    bypassing: tuple[str, ...]


def _statistic(name: str) -> Any:
    return property(lambda record: getattr(record[1], name), doc=f"The call's `{name}`, as of `AuxOutput`.")


class Record(tuple[str, AuxOutput]):  # noqa: SLOT001  # a tuple has no room for slots
    """A call of an attention module: the pair (name, aux), statistics as attributes.

    Args:
        name: of the module in the model.
        aux: statistics of the call.
        call: number of the call in the recording, from 0.
        kind: "self" if the queries read themselves or a memory that grows with them, "cross" otherwise.

    >>> import torch
    >>> name, aux = record = Record("read", AuxOutput(received=torch.ones(3)), 0, "cross")
    >>> name, record.kind, record.received is aux.received, record.weights
    ('read', 'cross', True, None)
    """

    call: int
    kind: Kind

    def __new__(cls, name: str, aux: AuxOutput, call: int, kind: Kind) -> "Record":
        self = super().__new__(cls, (name, aux))
        self.call, self.kind = call, kind
        return self

    def __getnewargs__(self) -> tuple[str, AuxOutput, int, Kind]:
        return self[0], self[1], self.call, self.kind

    @property
    def name(self) -> str:
        """Name of the module in the model."""
        return self[0]

    @property
    def aux(self) -> AuxOutput:
        """Statistics of the call, None if not requested."""
        return self[1]

    weights: Tensor | None = _statistic("weights")
    lse: Tensor | None = _statistic("lse")
    index: Tensor | None = _statistic("index")  # type: ignore[assignment]  # tuple's method of that name has no use here
    log_prob: Tensor | None = _statistic("log_prob")
    entropy: Tensor | None = _statistic("entropy")
    top: tuple[Tensor, Tensor] | None = _statistic("top")
    received: Tensor | None = _statistic("received")


class Recording(Sequence[Record]):
    """Records of calls, in the order of the calls.

    `recording[0]` is a record. `recording[-3:]` and `recording["encoder.layers.0"]`, the calls of that module and of
    those inside it, are recordings with the numbers of their calls and the coverage of the whole.

    >>> from saccade import AuxOutput
    >>> calls = Recording([Record(name, AuxOutput(), call, "self") for call, name in enumerate(["a.x", "b", "a.x"])])
    >>> calls, [record.call for record in calls["a"]], calls[1:][0].name
    (Recording(3 calls of a.x, b), [0, 2], 'b')
    """

    def __init__(self, records: Sequence[Record] = (), marks: "_Marks | None" = None) -> None:
        self._records = list(records)
        self._marks = {name: {"recorded"} for name, _ in self._records} if marks is None else marks

    @property
    def coverage(self) -> Coverage:
        """Names of the modules with records, with records in part, and without."""
        modules = self._marks.items()
        return Coverage(
            recorded=tuple(name for name, marks in modules if "recorded" in marks and "partial" not in marks),
            partial=tuple(name for name, marks in modules if "recorded" in marks and "partial" in marks),
            bypassing=tuple(name for name, marks in modules if not marks & {"recorded", "inner"}),
        )

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, key: int) -> Record: ...
    @overload
    def __getitem__(self, key: slice | str) -> "Recording": ...
    def __getitem__(self, key: int | slice | str) -> "Record | Recording":
        if isinstance(key, str):
            records = [record for record in self if not key or f"{record.name}.".startswith(f"{key}.")]
            if not records and key not in (names := {record.name for record in self}):
                listed = ", ".join(map(repr, sorted(names))) or "none"
                raise ArgumentError(f"name: expected a module with a record ({listed}), got {key!r}. See .coverage")
            return Recording(records, self._marks)
        return Recording(self._records[key], self._marks) if isinstance(key, slice) else self._records[key]

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(name or "the model itself" for name, _ in self))
        return f"Recording({len(self)} {'call' if len(self) == 1 else 'calls'} of {names})" if names else "Recording()"

    def save(self, path: str | Path) -> list[Path]:
        """Write statistics to PATH.safetensors, names, kinds and coverage to PATH.json.

        Args:
            path: without a suffix; its folder is made if there is none.

        Returns:
            Both paths.

        Raises:
            ArgumentError: a file of that name exists.
            OSError: the files cannot be written; nothing half-written stays.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as folder:
            ...     paths = Recording().save(f"{folder}/trace")
            ...     print([path.name for path in paths], len(load(f"{folder}/trace")))
            ['trace.safetensors', 'trace.json'] 0
        """
        files = _paths(path)
        if exists := [str(file) for file in files if lexists(file)]:
            raise ArgumentError(f"path: expected a free name, got {exists[0]}, which exists. Remove it or take another")
        tensors = {
            f"{number}.{statistic}.{part}": tensor.detach().cpu().contiguous().clone()
            for number, record in enumerate(self)
            for statistic in _STATISTICS
            for part, tensor in enumerate(pytree.tree_leaves(getattr(record, statistic)))
            if tensor is not None
        }
        calls = [{"name": record.name, "call": record.call, "kind": record.kind} for record in self]
        about = json.dumps({"format": _FORMAT, "calls": calls, "coverage": self.coverage._asdict()}, indent=1)
        return write_new({files[0]: _safetensors().torch.save(tensors), files[1]: f"{about}\n".encode()})


def load(path: str | Path) -> Recording:
    """Read a recording of `Recording.save` to the CPU, without unpickling.

    Args:
        path: as of `save`, without a suffix.

    Raises:
        ArgumentError: the files hold something else.
        OSError: they cannot be read.
    """
    (tensors_at, about_at), safetensors = _paths(path), _safetensors()
    content, described = tensors_at.read_bytes(), about_at.read_bytes()
    try:
        return _recording(safetensors.torch.load(content), json.loads(described))
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, safetensors.SafetensorError) as error:
        raise ArgumentError(f"path: expected a recording of format {_FORMAT}, got {path}: {error!r:.100}") from error


def _recording(tensors: dict[str, Tensor], about: Any) -> Recording:
    """The recording in untrusted contents of its files."""
    if about["format"] != _FORMAT:
        raise ValueError(f"format {about['format']}")
    calls, coverage = about["calls"], [about["coverage"][name] for name in Coverage._fields]
    names = [*(call["name"] for call in calls), *chain.from_iterable(coverage)]
    if not all(isinstance(part, list) for part in coverage) or not all(isinstance(name, str) for name in names):
        raise TypeError("names of modules")
    if not all(type(call["call"]) is int and call["kind"] in get_args(Kind) for call in calls):
        raise ValueError("number or kind of a call")
    records = list[Record]()
    for number, call in enumerate(calls):
        statistics = dict[str, Any]()
        for name in _STATISTICS:
            if (tensor := tensors.pop(f"{number}.{name}.0", None)) is not None:
                statistics[name] = (tensor, tensors.pop(f"{number}.{name}.1")) if name == "top" else tensor
        records.append(Record(call["name"], AuxOutput(**statistics), call["call"], call["kind"]))
    if tensors:
        raise ValueError(f"a tensor of no call, {min(tensors)}")
    marks = zip(coverage, ({"recorded"}, {"recorded", "partial"}, set[str]()), strict=True)
    return Recording(records, {name: set(kinds) for names, kinds in marks for name in names})


def _paths(path: str | Path) -> tuple[Path, Path]:
    return with_ending(Path(path), ".safetensors"), with_ending(Path(path), ".json")


def _safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise SaccadeError(f"files of recordings need safetensors: {pip_install('train')}") from error
    return safetensors


@contextmanager
def record(
    model: torch_nn.Module, aux: AuxRequest = WEIGHTS, *, detach: bool = False, required: bool = True
) -> Iterator[Recording]:
    """Collect the weights of a model's attention modules, call by call, in a block.

    The model returns the same as without recording: a module whose caller requests no statistics returns a Tensor.
    Gradients flow through the records, unless `detach=True`. The hooks are gone when the block ends, by an error too.
    An attention module inside another one is part of it and has no record of its own.

    Several threads may record one model and call it: a recording holds the calls of the thread that opened the block,
    and the calls of other threads do not change.

    Args:
        model: any module that attends through `saccade.nn`, or an attention module itself.
        aux: statistics to record: the weights, or statistics of them in linear memory (see `saccade.AuxRequest`).
        detach: record tensors that are cut off from the graph, so that they hold no memory but their own.
        required: raise an error if the model has no attention or none was called. With False the recording stays empty.

    Yields:
        A `Recording`, which grows with the calls.

    Raises:
        ArgumentError: a model without a module that can be recorded; at the end of the block, if none was called.

    Example:
        >>> import torch
        >>> from saccade import nn
        >>> model = torch.nn.ModuleDict({"read": nn.Attention(4, 6, hidden_dim=5)})
        >>> with record(model) as recording:
        ...     output = model["read"](torch.randn(1, 2, 4), torch.randn(1, 3, 6))
        >>> [(name, tuple(aux.weights.shape)) for name, aux in recording], recording[0].kind
        ([('read', (1, 2, 3))], 'cross')
        >>> recording.coverage
        Coverage(recorded=('read',), partial=(), bypassing=())
    """
    modules = {name: module for name, module in model.named_modules() if isinstance(module, ATTENTION)}
    if required and not modules:
        expected = f"a module with attention of saccade.nn in it ({', '.join(kind.__name__ for kind in ATTENTION)})"
        raise ArgumentError(
            f"model: expected {expected}, got {type(model).__name__} without any. Attend through these modules, "
            "or pass required=False for no records"
        )
    others = [name for name, part in model.named_modules() if isinstance(part, torch_nn.MultiheadAttention)]
    marks = {name: set[str]() for name in [*modules, *others]}
    recorder = _Recorder({module: name for name, module in modules.items()}, marks, aux, detach)
    with hooked(recorder.names, recorder.take, recorder.ask, with_kwargs=True, prepend=True, always_call=True):
        yield recorder.recording
    if required and not recorder.called:
        listed = ", ".join(map(repr, modules))
        raise ArgumentError(
            f"model: expected a call of its attention in the block, got none of {listed}. "
            "Call the model inside the block, in the thread that opened it and not compiled, or pass required=False"
        )


class _Recorder:
    """The two hooks of every module, and the requests of the calls in progress."""

    def __init__(self, names: dict[torch_nn.Module, str], marks: _Marks, request: AuxRequest, detach: bool) -> None:
        self.names, self.marks, self.request, self.detach = names, marks, request, detach
        self.called, self.recording = False, Recording(marks=marks)
        self.waiting: list[tuple[torch_nn.Module, AuxRequest | None, Kind]] = []

    def ask(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        """Before a call: request the statistics, except inside a recorded call."""
        request = kwargs.get("aux")
        self.waiting.append((module, request, _kind(module, args, kwargs)))
        if len(self.waiting) > 1:
            self.marks[self.names[module]].add("inner")
            return None
        self.called = True
        both = (self.request, request or AuxRequest())
        joint = {field.name: max(getattr(part, field.name) for part in both) for field in fields(AuxRequest)}
        return args, {**kwargs, "aux": AuxRequest(**joint)}

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
        kept, records = _only(aux, self.request), self.recording._records
        self.marks[name].add("recorded")
        if any(getattr(kept, statistic) is None for statistic in self.request.names()):
            self.marks[name].add("partial")
        if self.detach:
            kept = pytree.tree_map_only(Tensor, Tensor.detach, kept)
        records.append(Record(name, kept, len(records), kind))
        if request is not None:
            return (*output, _only(aux, request))
        return output[0] if len(output) == 1 else tuple(output)


def _kind(module: torch_nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kind:
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
