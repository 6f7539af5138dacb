"""Nested tensors as one row of packed sequences, without padding.

    nested (B, H, j, D) ──values──▶ one row (H, ΣL, D) under masks.Packed ──rest──▶ results ──nested──▶ (B, H, j, Dv)

Masks, biases and gates count positions from the start of each sequence. They are translated into masks and biases of
positions in the row. Each sequence is a call of its own if a score or normalizer may mix the keys of a row. The same
holds if an input is not finite: 0 · NaN is NaN, and NaN in one sequence must not reach another.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from saccade import biases, masks
from saccade._call.call import NOTHING, Arguments
from saccade._call.validation import batch_of, kinds
from saccade._definitions.checks import ensure, same_device
from saccade._definitions.functions import OfPositions
from saccade._definitions.numerics import HALF, tracing, transforming, valueless
from saccade._definitions.structure import Definition, Extent, Grid, Pair, foreign
from saccade._dispatch.choose import Plan
from saccade.auxiliary import AUX_FIELDS, AuxOutput
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.masks.base import Contiguous
from saccade.normalizers import Entmax, Normalizer, Sigmoid, Softmax, Sparsemax
from saccade.scores import Location, Score

Output = Tensor | tuple[Tensor, AuxOutput]

_WAY_OUT = "Attend to each sequence of query.unbind() alone, or pad and pass masks.Lengths."
_TENSORS = "no tensor with entries of sequences, queries or keys beside nested tensors"
_POSITIONS = (
    "definitions of positions and numbers (Causal, Window, Prefix, Where, Alibi, RelativePosition, Position) beside "
    "nested tensors"
)


def nested(arguments: Arguments) -> bool:
    """Whether query, key or value is a nested tensor."""
    return any(isinstance(tensor, Tensor) and tensor.is_nested for tensor in arguments[:3])


def attention(arguments: Arguments, rest: Callable[[Arguments], Output]) -> Output:
    """Nested output and statistics by `rest`, the way of dense tensors."""
    rows = Rows(arguments)
    results = [output if isinstance(output, tuple) else (output, AuxOutput()) for output in map(rest, rows.calls())]
    outputs, statistics = zip(*results, strict=True)
    output = rows.nested(torch.cat(outputs, -2) if len(outputs) > 1 else outputs[0])
    return output if arguments.aux is None else (output, rows.of_statistics(statistics))


def plan(arguments: Arguments, rest: Callable[[Arguments], Plan]) -> Plan:
    """The plan of the packed row, or of the longest sequence if each runs alone."""
    return rest(max(Rows(arguments).calls(), key=lambda call: call.query.shape[-2] * call.key.shape[-2]))


class Positions(NamedTuple):
    """Positions in sequences, and the sequence of each query, `(ΣL,)`."""

    query: Tensor
    key: Tensor
    first_key: Tensor  # of the query's sequence
    q_lens: Tensor
    k_lens: Tensor

    def grid(self) -> Grid:
        """Lengths of each query's sequence `(ΣL, 1)` in place of the call's."""
        q_len, k_len = cast("tuple[int, int]", (self.q_lens[:, None], self.k_lens[:, None]))
        return Grid(q_len, k_len, 0, len(self.query), self.query.device)


class Rows:
    """Nested tensors as rows of packed sequences, and their way back."""

    _positions: Positions | None = None

    def __init__(self, arguments: Arguments) -> None:
        tensors = [_checked(name, getattr(arguments, name)) for name in ("query", "key", "value")]
        self.arguments, (self.query, self.key, self.value) = arguments, (tensor.values() for tensor in tensors)
        self.q_offsets, self.k_offsets, of_values = (tensor.offsets() for tensor in tensors)
        for name, offsets in (("key", self.k_offsets), ("value", of_values)):
            same_device(name, offsets, self.q_offsets.device, "query")
            if offsets.shape != self.q_offsets.shape:
                counts = f"{len(self.q_offsets) - 1} sequences, as query has, got {len(offsets) - 1}"
                raise ShapeError(f"{name}: expected {counts}")
        if of_values is not self.k_offsets:
            ensure(of_values == self.k_offsets, "value: expected sequences of the lengths of key, got others")
        self.batch = batch_of(self.query, self.key, self.value)
        self.readable = not (tracing() or transforming() or valueless(self.query))
        self.alike = self.q_offsets is self.k_offsets or (
            self.readable and not self.q_offsets.is_cuda and torch.equal(self.q_offsets, self.k_offsets)
        )
        aux = NOTHING if arguments.aux is None else arguments.aux
        kinds(arguments.score, arguments.normalizer, arguments.read, aux)
        if aux.weights:
            raise ArgumentError(f"aux.weights: expected statistics alone beside nested tensors, got True. {_WAY_OUT}")
        for name in ("score", "mask", "bias", "gate", "normalizer", "read"):
            self._check(name, getattr(arguments, name))

    def _check(self, name: str, part: Any) -> None:
        """Reject tensors of a batch, of queries or of keys, and masks of one length."""
        if isinstance(part, masks.Prepared):
            plain = "expected a plain mask beside nested tensors, got Prepared. Pass its .mask."
            raise ArgumentTypeError(f"{name}: {plain}")
        leaves = part.leaves() if isinstance(part, Definition) else [(part, "qk")] if isinstance(part, Tensor) else []
        for tensor, axes in leaves:
            sizes = dict(zip(reversed(axes), reversed(tensor.shape), strict=False))
            if tensor.ndim > len(self.batch) + len(axes) or any(sizes.get(axis, 1) != 1 for axis in "qk"):
                raise ArgumentError(f"{name}: expected {_TENSORS}, got shape {tuple(tensor.shape)}. {_WAY_OUT}")

    @property
    def positions(self) -> Positions:
        if self._positions is None:  # compilers know no cached_property
            q_offsets, k_offsets = self.q_offsets.long(), self.k_offsets.long()
            sequence, queries = _placed(q_offsets, self.query.shape[-2])
            _, keys = _placed(k_offsets, self.key.shape[-2])
            lengths = q_offsets.diff()[sequence], k_offsets.diff()[sequence]
            self._positions = Positions(queries, keys, k_offsets[sequence], *lengths)
        return self._positions

    def calls(self) -> list[Arguments]:
        """The packed row as one call, or a call for each sequence."""
        if len(self.q_offsets) == 1:  # no sequences, so the row is empty
            return [self.arguments._replace(query=self.query, key=self.key, value=self.value)]
        packed = self._packed()
        if not self._mixes() and (not self.readable or self._finite()):
            return [packed]
        q_lens, k_lens = (offsets.diff().tolist() for offsets in (self.q_offsets, self.k_offsets))
        sides = self.query.split(q_lens, -2), self.key.split(k_lens, -2), self.value.split(k_lens, -2)
        return [self.arguments._replace(query=q, key=k, value=v) for q, k, v in zip(*sides, strict=True)]

    def _mixes(self) -> bool:
        """Whether sequences in a row may have other results than alone."""
        _, _, _, score, mask, bias, gate, normalizer, *_ = self.arguments
        if not isinstance(score, Score) or not isinstance(normalizer, Normalizer) or isinstance(score, Location):
            return True
        if any(foreign(part) for part in (score, normalizer, mask, bias, gate) if isinstance(part, Definition)):
            return True
        # a weight of 0 of another sequence would be larger than a negative weight
        positive = isinstance(normalizer, Softmax | Sparsemax | Entmax | Sigmoid) and gate is None
        return not positive and self.arguments.aux is not None and self.arguments.aux.top > 0

    def _finite(self) -> bool:
        """Whether all inputs are finite. Waits for a GPU."""
        dtype = torch.float32 if self.query.dtype in HALF else None
        sums = [tensor.detach().sum(dtype=dtype) for tensor in (self.query, self.key, self.value)]
        return bool(sum(sums[1:], sums[0]).isfinite())

    def _packed(self) -> Arguments:
        _, _, _, _, mask, bias, gate, *_ = self.arguments
        packed: masks.Mask = masks.Packed(self.q_offsets, None if self.alike else self.k_offsets)
        return self.arguments._replace(
            query=self.query,
            key=self.key,
            value=self.value,
            mask=packed if mask is None else packed & self._translated(masks.as_mask(mask), "mask"),
            bias=None if bias is None else self._translated(biases.as_bias(bias), "bias"),
            gate=None if gate is None else self._translated(biases.as_gate(gate), "gate"),
        )

    def _translated(self, part: Any, name: str) -> Any:
        """A definition of positions in sequences as one of positions in the row."""
        if isinstance(part, Pair):
            return type(part).of(self._translated(part.first, name), self._translated(part.second, name))
        if isinstance(part, masks.Not):
            return ~self._translated(part.other, name)
        if isinstance(part, masks.Dense | biases.Dense | biases.Weights) or foreign(part):
            return part  # one entry for all pairs, or a call for each sequence
        if isinstance(part, OfPositions):
            return self._of_function(part)
        distance = isinstance(part, masks.Positioned | biases.Alibi | biases.RelativePosition)
        contiguous = isinstance(part, Contiguous) and not part.leaves()
        owner = f"{type(part).__module__.split('.')[1]}.{type(part).__name__}"
        if not (distance or contiguous) or isinstance(getattr(part, "align", None), Tensor):
            raise ArgumentTypeError(f"{name}: expected {_POSITIONS}, got {owner}. {_WAY_OUT}")
        if distance and self.alike:
            return part  # the same in the row
        if distance and part.align is None:
            message = f"align of {owner}: expected 'start', 'end' or an int, since queries and keys differ in length"
            if self.query.shape[-2] != self.key.shape[-2]:
                raise ArgumentError(f"{message}, got None")
            ensure(self.positions.q_lens == self.positions.k_lens, f"{message}, got None")
        extent = Extent.of(self.batch, self.query, self.key)
        part.check(extent) if contiguous else part.check(extent, name)
        return self._of_intervals(part) if contiguous else self._of_distance(part)

    def _of_intervals(self, mask: Contiguous) -> masks.Mask:
        at = self.positions
        start, end = mask.interval(at.grid(), at.query[:, None])
        start = 0 if start is None else at.first_key + _column(start)
        return masks.Intervals(start, self.key.shape[-2] if end is None else at.first_key + _column(end))

    def _of_distance(self, bias: biases.Alibi | biases.RelativePosition) -> biases.Bias:
        at = self.positions
        queries: Tensor = at.query + _column(masks.shift(bias.align, at.grid()))
        keys = at.key

        def alibi(i: Tensor, j: Tensor, slopes: Tensor) -> Tensor:
            return -(slopes[..., None, None] if slopes.ndim else slopes) * (keys[j] - queries[i]).abs()

        def relative(i: Tensor, j: Tensor, table: Tensor) -> Tensor:
            reach = table.shape[-1] // 2
            return table[..., (keys[j] - queries[i]).clamp(-reach, reach) + reach]

        if isinstance(bias, biases.Alibi):
            return biases.Position(alibi, bias.slopes)
        return biases.Position(relative, bias.table)

    def _of_function(self, part: Any) -> Any:
        (queries, keys, *_), function = self.positions, part.function
        if isinstance(part, masks.Where):
            return masks.Where(lambda i, j: function(queries[i], keys[j]))
        return biases.Position(lambda i, j, *tables: function(queries[i], keys[j], *tables), *part.arguments())

    def nested(self, row: Tensor, *, keys: bool = False, behind: int = 1) -> Tensor:
        """A row as a nested tensor, with so many dimensions behind its positions."""
        offsets = self.k_offsets if keys else self.q_offsets
        nested: Tensor = torch.nested.nested_tensor_from_jagged(row, offsets, jagged_dim=row.ndim - behind)
        return nested

    def of_statistics(self, results: tuple[AuxOutput, ...]) -> AuxOutput:
        """Statistics of all calls as nested tensors, with indices within sequences."""
        made: dict[str, Any] = {}
        for name in AUX_FIELDS:
            values = [getattr(aux, name) for aux in results]
            if name == "top" and values[0] is not None:
                weights, indices = (
                    _widest(side, fill) for side, fill in zip(zip(*values, strict=True), (0, -1), strict=True)
                )
                made[name] = self.nested(weights), self.nested(self._in_sequence(indices, results))
            elif values[0] is not None:
                row = torch.cat(values, -1)
                row = self._in_sequence(row, results) if name == "index" else row
                made[name] = self.nested(row, keys=name == "received", behind=0)
        return AuxOutput(**made)

    def _in_sequence(self, index: Tensor, results: tuple[AuxOutput, ...]) -> Tensor:
        """Indices of keys of the row as positions in their sequences."""
        if len(results) > 1 or not len(self.positions.key):
            return index
        return torch.where(index < 0, index, self.positions.key[index.clamp(min=0)])


def _checked(name: str, tensor: Any) -> Any:
    """A nested tensor without holes, ragged in front of its features."""
    if not getattr(tensor, "is_nested", False):
        got = "a dense one" if isinstance(tensor, Tensor) else type(tensor).__name__
        raise ArgumentTypeError(f"{name}: expected a nested tensor beside nested ones, got {got}. Nest all three.")
    if tensor.layout != torch.jagged:
        way_out = "Make it by torch.nested.nested_tensor(tensors, layout=torch.jagged)."
        raise ArgumentTypeError(
            f"{name}: expected a nested tensor of layout torch.jagged, got {tensor.layout}. {way_out}"
        )
    shape = tuple(tensor.shape)
    if tensor._ragged_idx != len(shape) - 2:
        expected = "(B, j, D) or (B, H, j, D), ragged in front of the features"
        raise ShapeError(f"{name}: expected {expected}, got {shape}. Write .transpose(1, 2) of (B, j, H, D).")
    tensor = tensor if tensor.lengths() is None else tensor.contiguous()
    offsets, length = tensor.offsets(), tensor.values().shape[-2]
    if not (tracing() or offsets.is_cuda):  # on a GPU masks.Packed checks them without a wait
        right = (offsets[:1] == 0) & (offsets[-1:] == length) & (offsets.diff() >= 0).all()
        ensure(right, f"{name}: expected offsets from 0 to {length}, its positions, that do not fall, got others")
    return tensor


def _placed(offsets: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """The sequence of each entry of a row, and the position in it."""
    index = torch.arange(length, device=offsets.device)
    sequence = torch.searchsorted(offsets, index, right=True) - 1
    return sequence, index - offsets[sequence]


def _column(value: Any) -> Any:
    """A tensor `(ΣL, 1)` as `(ΣL,)`."""
    return value[:, 0] if isinstance(value, Tensor) else value


def _widest(parts: tuple[Tensor, ...], fill: int) -> Tensor:
    """Rows of several widths behind each other, filled up."""
    width = max(part.shape[-1] for part in parts)
    return torch.cat([torch.nn.functional.pad(part, (0, width - part.shape[-1]), value=fill) for part in parts], -2)
