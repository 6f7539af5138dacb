"""Sheets of numbers that the page asks for piece by piece."""

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.checks import whole
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.look._figure import full_scale

FORMAT = 1  # of the manifest and the pieces
TILE = 256  # cells of a tile's side
_MATRICES = 4  # that stay in memory with their reduced copies
_MEASURES = 20_000  # of a sheet in a manifest
_SUMMARIES = 4096  # measures of a layer that stay in memory


class MatrixIndex(NamedTuple):
    """One matrix of a sheet."""

    layer: int = 0
    head: int = 0
    example: int = 0


@dataclass(frozen=True, eq=False)
class Sheet:
    """Matrices over the same rows and columns.

    Args:
        kind: of the view: "attention", "experts", "words", "maps", "path", "bands", "sound", "bars" or "curve".
        title: of the sheet.
        rows: names of the rows, queries.
        columns: names of the columns, keys.
        matrix: the numbers of a head, `(rows, columns)`, or None if only the lines are there.
        layers: names of the layers.
        heads: number of heads.
        examples: size of the batch.
        measures: numbers of each head by name, `(examples, layers, heads)`, None for those of `summary`.
        lines: numbers along the rows or along the columns by name, for a head.
        note: a sentence about the numbers, for example that only the largest are there.
        extra: more of the view, as JSON.
        summary: measures of the heads of a layer in an example by name, `(heads,)`, computed on request.
        of_itself: whether rows and columns are the same tokens.
    """

    kind: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    matrix: Callable[[MatrixIndex], Tensor] | None
    layers: Sequence[str] = ("",)
    heads: int = 1
    examples: int = 1
    measures: Mapping[str, Tensor | None] = field(default_factory=dict)
    lines: Mapping[str, Callable[[MatrixIndex], Tensor]] = field(default_factory=dict)
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    summary: Callable[[int, int], Mapping[str, Tensor]] | None = None
    of_itself: bool = False

    def described(self) -> dict[str, Any]:
        """Return everything but the matrices and lines as JSON, without many measures."""
        few = self.examples * len(self.layers) * self.heads * len(self.measures) <= _MEASURES
        return {
            "kind": self.kind,
            "title": self.title,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "layers": list(self.layers),
            "heads": self.heads,
            "examples": self.examples,
            "measures": {
                name: None if values is None or not few else _numbers(values) for name, values in self.measures.items()
            },
            "lines": list(self.lines),
            "matrix": self.matrix is not None,
            "note": self.note,
            **self.extra,
        }

    def measured(self, layer: int, example: int) -> dict[str, Tensor]:
        """Return the measures of the heads of a layer in an example, `(heads,)`."""
        computed = {} if self.summary is None else self.summary(layer, example)
        return {
            name: computed[name] if values is None else values[example, layer] for name, values in self.measures.items()
        }

    def all_measures(self) -> dict[str, Any]:
        """Return all measures as nested lists."""
        parts = [[self.measured(at, example) for at in range(len(self.layers))] for example in range(self.examples)]
        return {name: [[_numbers(part[name]) for part in row] for row in parts] for name in self.measures}

    def numbers(self) -> int:
        """Return the count of numbers of all matrices and lines."""
        cells = 0 if self.matrix is None else len(self.rows) * len(self.columns)
        along = sum(len(self.columns if name == "received" else self.rows) for name in self.lines)
        return self.examples * len(self.layers) * self.heads * (cells + along)


class Book:
    """Sheets, and the pieces of their numbers.

    Args:
        title: of the page.
        sheets: one or more.

    Raises:
        ArgumentError: no sheets.
    """

    def __init__(self, title: str, sheets: Sequence[Sheet]) -> None:
        if not sheets:
            raise ArgumentError("sheets: expected one or more, got none. Record a call with weights, top or entropy")
        self.title, self.sheets = title, list(sheets)
        self._matrix = lru_cache(_MATRICES)(self._computed)
        self._measured = lru_cache(_SUMMARIES)(lambda sheet, layer, example: sheet.measured(layer, example))

    def manifest(self) -> dict[str, Any]:
        """Return what the page needs before the first piece."""
        return {"format": FORMAT, "title": self.title, "tile": TILE, "sheets": [s.described() for s in self.sheets]}

    def numbers(self) -> int:
        """Return the count of all numbers of matrices and lines."""
        return sum(sheet.numbers() for sheet in self.sheets)

    def piece(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return one piece of the numbers, such as a tile, a row or a line.

        Args:
            request: the untrusted request of a page, with "sheet", "layer", "head", "example" and "piece". The piece
                "tile" has "level", "row" and "column" (of tiles), "row" and "column" have "at", "line" has "name".
                "measures" returns a row for each name. With "minus", a list of the sheet, layer and head of an equal
                shape, the numbers are differences.

        Returns:
            The shape and the range of the matrix, and float32 numbers, little-endian.

        Raises:
            ArgumentError: a request of something that is not there.
        """
        if not isinstance(request, Mapping):
            raise ArgumentTypeError(f"request: expected a mapping, got {type(request).__name__}")
        sheet = self.sheets[_index(request, "sheet", len(self.sheets))]
        sizes = {"layer": len(sheet.layers), "head": sheet.heads, "example": sheet.examples}
        index = MatrixIndex(**{name: _index(request, name, size) for name, size in sizes.items()})
        if request.get("piece") == "line":
            if (name := str(request.get("name"))) not in sheet.lines:
                raise ArgumentError(f"name: expected one of {', '.join(sheet.lines) or 'no line'}, got {name!r:.40}")
            return _packed(sheet.lines[name](index), {})
        if request.get("piece") == "measures":
            numbers = self._measured(sheet, index.layer, index.example)
            rows = [values.float() for values in numbers.values()] or [torch.zeros(0)]
            return _packed(torch.stack(rows), {"names": list(numbers)})
        if sheet.matrix is None:
            expected = "expected line or measures, as the sheet has no matrix"
            raise ArgumentError(f"piece: {expected}, got {request.get('piece')!r:.40}. Record the weights")
        levels, ends = self._matrix(self.sheets.index(sheet), index, self._minus(request, sheet, index))
        match request.get("piece"):
            case "row":
                return _packed(levels[0][_index(request, "at", len(levels[0]))], ends)
            case "column":
                return _packed(levels[0][:, _index(request, "at", levels[0].shape[1])], ends)
            case "tile":
                values = levels[_index(request, "level", len(levels))]
                tiles = [-(-size // TILE) for size in values.shape]
                row, column = _index(request, "row", tiles[0]), _index(request, "column", tiles[1])
                tile = values[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
                return _packed(tile, ends)
        raise ArgumentError(f"piece: expected tile, row, column, line or measures, got {request.get('piece')!r:.40}")

    def message(self, request: Mapping[str, Any]) -> bytes:
        """Return the answer to a request as bytes.

        They are the length of the JSON, the JSON and the numbers. Errors are answers too.
        """
        try:
            about, numbers = self.piece(request)
        except ArgumentError as error:
            about, numbers = {"error": str(error)}, b""
        return packed(about, numbers)

    def _minus(self, request: Mapping[str, Any], sheet: Sheet, index: MatrixIndex) -> tuple[int, MatrixIndex] | None:
        """Return the number of the sheet to subtract, and the head."""
        if (listed := request.get("minus")) is None:
            return None
        if not isinstance(listed, list) or len(listed) != 3:
            raise ArgumentError(f"minus: expected a sheet, a layer and a head, got {listed!r:.40}")
        named = dict(zip(("sheet", "layer", "head"), listed, strict=True))
        number = _index(named, "sheet", len(self.sheets))
        other = self.sheets[number]
        if other.matrix is None or (len(other.rows), len(other.columns)) != (len(sheet.rows), len(sheet.columns)):
            raise ArgumentError(f"minus: expected a matrix of {len(sheet.rows)} × {len(sheet.columns)}, got another")
        head = MatrixIndex(_index(named, "layer", len(other.layers)), _index(named, "head", other.heads), index.example)
        return number, head._replace(example=min(index.example, other.examples - 1))

    def _computed(
        self, number: int, index: MatrixIndex, minus: tuple[int, MatrixIndex] | None
    ) -> tuple[list[Tensor], dict[str, float]]:
        """Return a matrix with its reduced copies, and the ends of its colours."""
        values = self._values(number, index)
        if minus is not None:
            values = values - self._values(*minus)
        finite = values[values.isfinite()] if values.numel() and not values.isfinite().all() else values
        low, high = map(float, torch.aminmax(finite)) if finite.numel() else (0.0, 0.0)
        even = 0.0 if low < 0 else 1 / max(1, values.shape[1])
        return reduced(values), {"top": full_scale(max(-low, high), even), "low": -1.0 if low < 0 else 0.0}

    def _values(self, number: int, index: MatrixIndex) -> Tensor:
        matrix = self.sheets[number].matrix
        assert matrix is not None
        return matrix(index).detach().to("cpu", torch.float32)


def packed(about: Mapping[str, Any], numbers: bytes = b"") -> bytes:
    """Return a message to the page: length of the JSON, JSON, float32 numbers."""
    head = json.dumps(about).encode()
    head += b" " * (-len(head) % 4)
    return struct.pack("<I", len(head)) + head + numbers


def reduced(values: Tensor) -> list[Tensor]:
    """Return a matrix and its halved copies, down to one tile.

    A cell of a copy has the number of the largest magnitude in its four cells.

    >>> reduced(torch.arange(6.0).view(2, 3))[0].shape
    torch.Size([2, 3])
    >>> [tuple(level.shape) for level in reduced(torch.zeros(700, 300))]
    [(700, 300), (350, 150), (175, 75)]
    """
    levels, is_signed = [values], bool((values < 0).any())
    while max(levels[-1].shape) > TILE:
        high = _halved(levels[-1], torch.maximum)
        low = _halved(levels[-1], torch.minimum) if is_signed else high
        levels.append(torch.where(high >= -low, high, low) if is_signed else high)
    return levels


def _halved(values: Tensor, larger: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return one number for each 2 x 2 cells.

    The last row or column of an odd size has no pair.
    """
    for _ in range(2):
        count = len(values) // 2 * 2
        pairs = larger(values[:count:2], values[1:count:2])
        values = torch.cat([pairs, values[count:]]).T
    return values


def _numbers(values: Tensor) -> Any:
    """Return nested lists of numbers with six significant digits, None for NaN."""
    if values.ndim:
        return [_numbers(part) for part in values]
    number = float(values)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _packed(values: Tensor, about: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    array = values.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4")
    return {"shape": list(array.shape), **about}, array.tobytes()


def _index(request: Mapping[str, Any], name: str, count: int) -> int:
    value = request.get(name, 0)
    whole(name, value, least=0)
    if value >= count:
        raise ArgumentError(f"{name}: expected a number below {count}, got {value}")
    return int(value)
