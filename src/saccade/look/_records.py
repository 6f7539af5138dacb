"""Records of attention: the calls of a model's modules, and their files."""

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import chain
from os.path import lexists
from pathlib import Path
from typing import Any, NamedTuple, get_args, overload

from torch import Tensor
from torch.utils import _pytree as pytree

from saccade import AuxOutput
from saccade._integrations.call import Kind
from saccade.errors import ArgumentError, SaccadeError, pip_install
from saccade.look._files import with_ending, write_new

_STATISTICS = tuple(field.name for field in fields(AuxOutput))
_DESCRIBED = ("name", "call", "kind", "key_offset")
_FORMAT = 2  # of the files that `Recording.save` writes
Marks = dict[str, set[str]]
"""Modules by name: "recorded", "partial" or "inner", within another module."""


class Coverage(NamedTuple):
    """Names of a model's attention modules, by the completeness of their records.

    Args:
        recorded: every call has a record with every statistic of the request.
        partial: some calls have no record, as they failed, or lack a statistic.
        bypassing: no call has a record. Such a module was not called in the block's thread, was compiled, or attends
            by matrix products of its own.
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
        kind: "self" if the queries read themselves or a memory that grows with them, "sliding" if they do so in a
            window, "cross" otherwise.
        key_offset: position of key 0 in the sequence, above 0 if a cache has dropped the first keys.
        sink: share of a learned sink in each row, `(B, H, Lq)`, None without a sink. The entropy counts it as an event.

    >>> import torch
    >>> name, aux = record = Record("read", AuxOutput(received=torch.ones(3)), 0, "cross")
    >>> name, record.kind, record.received is aux.received, record.weights
    ('read', 'cross', True, None)
    """

    call: int
    kind: Kind
    key_offset: int
    sink: Tensor | None

    def __new__(
        cls, name: str, aux: AuxOutput, call: int, kind: Kind, key_offset: int = 0, sink: Tensor | None = None
    ) -> "Record":
        self = super().__new__(cls, (name, aux))
        self.call, self.kind, self.key_offset, self.sink = call, kind, key_offset, sink
        return self

    def __getnewargs__(self) -> tuple[str, AuxOutput, int, Kind, int, Tensor | None]:
        return self[0], self[1], self.call, self.kind, self.key_offset, self.sink

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

    def __init__(self, records: Sequence[Record] = (), marks: "Marks | None" = None) -> None:
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
            for statistic in (*_STATISTICS, "sink")
            for part, tensor in enumerate(pytree.tree_leaves(getattr(record, statistic)))
            if tensor is not None
        }
        calls = [{name: getattr(record, name) for name in _DESCRIBED} for record in self]
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
    return _loaded(path, lambda file: _safetensors().torch.load(file.read_bytes()))


def mapped(path: str | Path) -> Recording:
    """Return `load(path)` with its numbers in the file until they are used."""
    return _loaded(path, lambda file: _safetensors().torch.load_file(file))


def _loaded(path: str | Path, tensors: Callable[[Path], dict[str, Tensor]]) -> Recording:
    (tensors_at, about_at), safetensors = _paths(path), _safetensors()
    with tensors_at.open("rb"):  # an OSError names the file
        described = about_at.read_bytes()
    try:
        return _recording(tensors(tensors_at), json.loads(described))
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
    if not all(type(call[name]) is int for call in calls for name in ("call", "key_offset")):
        raise ValueError("number or key_offset of a call")
    if not all(call["kind"] in get_args(Kind) for call in calls):
        raise ValueError("kind of a call")
    records = list[Record]()
    for number, call in enumerate(calls):
        statistics = dict[str, Any]()
        for name in _STATISTICS:
            if (tensor := tensors.pop(f"{number}.{name}.0", None)) is not None:
                statistics[name] = (tensor, tensors.pop(f"{number}.{name}.1")) if name == "top" else tensor
        sink = tensors.pop(f"{number}.sink.0", None)
        records.append(
            Record(call["name"], AuxOutput(**statistics), call["call"], call["kind"], call["key_offset"], sink)
        )
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
