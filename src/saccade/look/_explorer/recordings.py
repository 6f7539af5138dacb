"""Sheets of a recording: records of one kind and shape are the layers of a sheet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._explorer.sheets import MatrixIndex, Sheet
from saccade.look._records import Record, Recording
from saccade.look._words import merge_words

_AT_ONCE = 1 << 22  # pairs of a query and a key whose measures are computed before the page opens
_LONGEST = 1 << 20  # tokens
_CELLS = 1 << 25  # of a matrix, some 5,800 x 5,800
_DRAWN = 1 << 17  # draws of hard attention in a manifest


class Shape(NamedTuple):
    """The kind and the sizes of all layers of a sheet."""

    kind: str
    batch: int
    heads: int
    queries: int
    keys: int
    key_offset: int

    @property
    def of_itself(self) -> bool:
        """Whether queries and keys are positions of one sequence."""
        return self.kind != "cross" and self.keys >= self.queries


@dataclass(frozen=True)
class Layer:
    """The statistics of a record as `(batch, heads, ...)`."""

    record: Record
    shape: Shape
    weights: Tensor | None
    top: tuple[Tensor, Tensor] | None
    entropy: Tensor | None
    received: Tensor | None
    sink: Tensor | None
    index: Tensor | None

    @classmethod
    def of(cls, record: Record) -> "Layer | None":
        """Return the layer of a record, None if it has nothing to show.

        Raises:
            ArgumentError: statistics that do not fit together, as of a damaged file.
        """
        weights, top, entropy, received = record.weights, record.top, record.entropy, record.received
        if weights is not None:
            rows, keys = weights.shape[:-1], weights.shape[-1:].numel()
        elif entropy is not None or top is not None:
            rows, keys = entropy.shape if entropy is not None else top[0].shape[:-1], 0  # type: ignore[index]
            if received is not None:
                keys = received.shape[-1:].numel()
            elif top is not None and top[1].numel():
                keys = max(rows[-1:].numel(), int(top[1].max()) + 1)
        else:
            return None
        leading, queries = rows[:-1], rows[-1:].numel()
        heads = leading[-1] if len(leading) > 1 else 1
        batch = leading.numel() // heads if leading.numel() else 0
        if not batch or not queries or (weights is not None and not keys):
            return None
        shape = Shape(record.kind, batch, heads, queries, keys, record.key_offset)
        if max(queries, keys) > _LONGEST:
            raise ArgumentError(f"{_named(record)}: expected at most {_LONGEST:,} tokens, got {max(queries, keys):,}")

        def part(name: str, values: Tensor | None, *trailing: int) -> Tensor | None:
            if values is None:
                return None
            if values.shape != (*leading, *trailing):
                expected = f"expected {name} of shape {(*leading, *trailing)}"
                raise ShapeError(f"{_named(record)}: {expected}, got {tuple(values.shape)}. Record it again")
            return values.detach().reshape(batch, heads, *trailing)

        largest = None if top is None else [part("top", values, queries, top[0].shape[-1]) for values in top]
        return cls(
            record,
            shape,
            part("weights", weights, queries, keys),
            largest and tuple(largest),  # type: ignore[arg-type]
            part("entropy", entropy, queries),
            part("received", received, keys),
            part("sink", record.sink, queries),
            part("index", record.index, queries),
        )

    def matrix(self, index: MatrixIndex) -> Tensor:
        """Return the weights of a head, or the largest of them and 0 elsewhere."""
        if self.weights is not None:
            return _head(self.weights, index)
        assert self.top is not None
        weights, keys = (_head(part, index) for part in self.top)
        if keys.is_floating_point() or int(keys.min()) < -1 or int(keys.max()) >= self.shape.keys:
            raise ArgumentError(f"{_named(self.record)}: expected keys below {self.shape.keys:,} in top, got others")
        weights, keys = weights.float() * (keys >= 0), keys.long().clamp_min(0)  # a weight of 0 has key -1
        return torch.zeros(len(weights), self.shape.keys).scatter_add_(1, keys, weights)

    def lines(self) -> dict[str, Callable[[MatrixIndex], Tensor]]:
        """Return entropy and sink share along the rows, received along the columns."""
        lines = dict[str, Callable[[MatrixIndex], Tensor]]()
        for name, values, of_weights in (
            ("entropy", self.entropy, _entropy),
            ("received", self.received, _received),
            ("sink share", self.sink, None),
        ):
            if values is not None:
                lines[name] = lambda index, values=values: _head(values, index)  # type: ignore[misc]
            elif self.weights is not None and of_weights is not None:
                lines[name] = lambda index, of=of_weights: of(self.matrix(index))  # type: ignore[misc]
        return lines

    def measures(self) -> dict[str, Callable[[MatrixIndex], Tensor]]:
        """Return numbers of a head by their names."""
        lines, weights, sink = self.lines(), self.weights, self.sink
        numbers = dict[str, Callable[[MatrixIndex], Tensor]]()
        if "entropy" in lines:
            numbers["entropy"] = lambda index: lines["entropy"](index).float().mean()
        by_top = self.top is not None and (self.received is not None or self.shape.keys == self.shape.queries > 1)
        if self.shape.of_itself and (weights is not None or by_top):  # else the number of keys is missing
            numbers["distance"] = self._distance
        if sink is not None:
            numbers["sink share"] = lambda index: _head(sink, index).float().mean()
        elif weights is not None:
            numbers["first key's share"] = lambda index: weights[index.example, index.head, :, 0].cpu().float().mean()
        if "received" in lines and self.shape.keys:
            numbers["most received"] = lambda index: lines["received"](index).float().amax()
        return numbers

    def _distance(self, index: MatrixIndex) -> Tensor:
        """The mean distance from a query to its keys, by all weights or by the largest."""
        queries = torch.arange(self.shape.queries, dtype=torch.float32)[:, None]
        queries = queries + max(0, self.shape.keys - self.shape.queries)  # a cache holds the keys before
        if self.weights is not None:
            weights, keys = _head(self.weights, index), torch.arange(self.shape.keys, dtype=torch.float32)
        else:
            assert self.top is not None
            weights, keys = (_head(part, index) for part in self.top)
        weights = weights.float()
        total = weights.sum().clamp_min(torch.finfo(torch.float32).tiny)
        return (queries - keys).abs_().mul_(weights).sum() / total


def sheets_of(recording: Recording, rows: Sequence[str] | None, columns: Sequence[str] | None) -> list[Sheet]:
    """Return a sheet for the records of each kind and shape, by their first calls.

    Args:
        recording: with weights, the largest weights or entropies.
        rows: tokens of the queries, None for their numbers.
        columns: tokens of the keys, None for their numbers. Self-attention takes those of the queries.

    Statistics of three dimensions, `(batch, queries, keys)`, are of one head. Tokens that fit no record are not used.

    Raises:
        ArgumentError: a recording without these statistics.
    """
    groups = dict[Shape, list[Layer]]()
    for record in recording:
        if (layer := Layer.of(record)) is not None:
            groups.setdefault(layer.shape, []).append(layer)
    if not groups:
        got = f"{len(recording)} without" if len(recording) else "none"
        raise ArgumentError(f"recording: expected records with weights, top or entropy, got {got}. Request them")
    return [_sheet(shape, layers, rows, columns) for shape, layers in groups.items()]


def sheets_of_words(sheets: Sequence[Sheet], words: Sequence[int | None]) -> list[Sheet]:
    """Return sheets of words for those of self-attention with as many tokens.

    Raises:
        ShapeError: no sheet of that many tokens.
        ArgumentError: numbers with gaps, from `merge_words`.
    """
    merged = [_of_words(sheet, words) for sheet in sheets if sheet.of_itself and len(sheet.rows) == len(words)]
    if not merged:
        raise ShapeError(f"words: expected a number for each token of self-attention, got {len(words):,}")
    return merged


def _of_words(sheet: Sheet, words: Sequence[int | None]) -> Sheet:
    matrix, names = sheet.matrix, dict[int, str]()
    for token, word in zip(sheet.rows, words, strict=True):
        if word is not None:
            names[word] = names.get(word, "") + token
    listed = [names[number] for number in sorted(names)]
    merge_words(torch.zeros(len(words), len(words)), words)  # checks the numbers
    return replace(
        sheet,
        title=f"{sheet.title}, {len(names):,} words",
        rows=listed,
        columns=listed,
        matrix=None if matrix is None else lambda index: merge_words(matrix(index).float(), words),
        lines={},
        measures={},
        extra={},
        summary=None,
    )


def _sheet(shape: Shape, layers: list[Layer], rows: Sequence[str] | None, columns: Sequence[str] | None) -> Sheet:
    left, over = _tokens(shape, rows, columns)
    has_matrix, note = _matrix(shape, layers)
    names = [layer.record.name or "the model" for layer in layers]
    names = [n if names.count(n) == 1 else f"{n}, call {x.record.call}" for n, x in zip(names, layers, strict=True)]
    measures, lines = [layer.measures() for layer in layers], [layer.lines() for layer in layers]
    heads, listed = range(shape.heads), _common(measures)

    def summary(layer: int, example: int) -> dict[str, Tensor]:
        numbers = [[measures[layer][name](MatrixIndex(layer, head, example)) for head in heads] for name in listed]
        return dict(zip(listed, map(torch.stack, numbers), strict=True))

    sheet = Sheet(
        "attention",
        f"{shape.kind} attention, {shape.queries:,} × {shape.keys:,}",
        left,
        over,
        (lambda index: layers[index.layer].matrix(index)) if has_matrix else None,
        names,
        shape.heads,
        shape.batch,
        dict.fromkeys(listed),
        {name: lambda index, name=name: lines[index.layer][name](index) for name in _common(lines)},  # type: ignore[misc]
        note,
        _drawn(layers),
        summary,
        shape.of_itself and shape.keys == shape.queries,
    )
    if shape.batch * len(layers) * shape.heads * shape.queries * max(1, shape.keys) > _AT_ONCE:
        return sheet
    parts = [[summary(layer, example) for layer in range(len(layers))] for example in range(shape.batch)]
    stacked = {name: torch.stack([torch.stack([part[name] for part in row]) for row in parts]) for name in listed}
    return replace(sheet, measures=stacked)


def _tokens(shape: Shape, rows: Sequence[str] | None, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Tokens of the rows and of the columns of a sheet, or their numbers."""
    behind = shape.keys - shape.queries if shape.of_itself else 0  # a cache holds the keys before
    left = _fitting(rows, shape.queries) or _numbered(shape.queries, shape.key_offset + behind)
    over = _fitting(columns, shape.keys) or _numbered(shape.keys, shape.key_offset)
    if shape.of_itself and not behind:
        left = over = left if _fitting(rows, shape.queries) else over
    return left, over


def _fitting(tokens: Sequence[str] | None, count: int) -> list[str]:
    return list(tokens) if tokens is not None and len(tokens) == count else []


def _matrix(shape: Shape, layers: Sequence[Layer]) -> tuple[bool, str]:
    """Whether a sheet has matrices, and the note about them."""
    tops = [layer.top[0].shape[-1] if layer.weights is None and layer.top is not None else 0 for layer in layers]
    if not shape.keys or any(layer.weights is None and layer.top is None for layer in layers):
        return False, "No weights are recorded, so there is no matrix. Record with weights or top to see one."
    if shape.queries * shape.keys > _CELLS:
        return False, f"The matrix has more than {_CELLS:,} cells, so only its lines are here. Record some rows of it."
    if not any(tops):
        return True, ""
    count, where = " or ".join(map(str, sorted({*tops} - {0}))), "Only" if all(tops) else "In some layers, only"
    return True, f"{where} the {count} largest weights of each row are recorded. Other cells show 0."


def _drawn(layers: Sequence[Layer]) -> dict[str, list[Any]]:
    """Return the keys that rows of hard attention took, by example, layer and head."""
    index = [layer.index for layer in layers if layer.index is not None]
    few = len(index) == len(layers) and sum(part.numel() for part in index) <= _DRAWN
    return {"drawn": torch.stack([part.cpu() for part in index], 1).tolist()} if few else {}


def _named(record: Record) -> str:
    return f"record of {record.name or 'the model'}"


def _head(values: Tensor, index: MatrixIndex) -> Tensor:
    """The numbers of a head. No other leaves a GPU or a file."""
    return values[index.example, index.head].cpu()


def _numbered(count: int, first: int = 0) -> list[str]:
    return [str(first + number) for number in range(count)]


def _common(parts: Sequence[Mapping[str, object]]) -> list[str]:
    """Names in every part."""
    return [name for name in parts[0] if all(name in part for part in parts)]


def _entropy(weights: Tensor) -> Tensor:
    weights = weights.float()
    logarithms = weights.clamp_min(torch.finfo(torch.float32).tiny).log_()  # a fourth of the time of torch.special.entr
    return 0 - logarithms.mul_(weights).sum(-1)


def _received(weights: Tensor) -> Tensor:
    return weights.float().sum(-2)
