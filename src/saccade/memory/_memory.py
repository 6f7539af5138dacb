"""`remember`: keys prepared once and read many times, kept all or as many as fit."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from saccade import normalizers, reads, scores
from saccade._call.call import SCALED_DOT, SOFT, SOFTMAX, Arguments, BackendState
from saccade._call.lazy_value import LazyValue, ValueFunction, lazy
from saccade._call.validation import kinds
from saccade._definitions.checks import ensure, whole, whole_dtype
from saccade._definitions.numerics import broadcast_shapes, tracing, transforming
from saccade._dispatch.passes import attention
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.biases import Factor
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.masks import Mask
from saccade.memory import _ring
from saccade.memory._buffers import Buffer, extended, with_room
from saccade.memory._prepared import Renewed, check_appended, check_device, check_offset, prepared, version


@dataclass(frozen=True, eq=False)
class Memory:
    """Prepared keys and their values. State goes in and comes out: every method returns a new memory and changes none.

    Made by `remember`. `len(memory)` is the number of keys. Two memories are equal only if they are one object.

    Args:
        score: what is left of the score to do for each query.
        key: `(..., Lk, D)`, as the score prepared them.
        value: `(..., Lk, Dv)`; without features where a function computes those that are read.
        cache: what the score prepared beside them `(..., Lk, C)`, or None; made again where keys changed in place.
        mask: which keys may be attended to, boolean `(..., 1, Lk)`, or None for all.
        prepare: the score that `remember` was given, which prepares the keys that are appended.
        positions: where the keys stand `(..., Lk)`, if the memory was told, or None; −1 of a slot without a key.
        lazily: what computes the values that are read, or None where they are given.
        capacity: how many keys a memory keeps that is written to by positions, or None of one that grows.
        state: what backends keep with these very tensors from read to read; another memory has another.
    """

    score: scores.Score | scores.ScoreFunction
    key: Tensor
    value: Tensor
    cache: Tensor | None = None
    mask: Tensor | None = None
    prepare: scores.Score | scores.ScoreFunction | None = field(default=None, repr=False)
    positions: Tensor | None = field(default=None, repr=False)
    lazily: LazyValue | None = field(default=None, repr=False)
    capacity: int | None = None
    _buffer: Buffer | None = field(default=None, repr=False)
    _room: _ring.Room | None = field(default=None, repr=False)
    _version: int | None = field(default=None, repr=False)  # of the key, when the cache was made of it
    # a function, not the class: a compiler traces no class that it meets as a default
    state: BackendState = field(default_factory=lambda: BackendState(), init=False, repr=False)

    def __len__(self) -> int:
        return self.key.shape[-2]

    def read(
        self,
        query: Tensor,
        *,
        mask: Mask | Tensor | None = None,
        bias: Factor | Tensor | None = None,
        gate: Factor | Tensor | None = None,
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        read: reads.Read | None = None,
        dropout_p: float = 0.0,
        aux: AuxRequest | None = None,
        backend: str = "auto",
    ) -> Any:
        """`attend` against this memory: the same arguments, the same result, nothing prepared again.

        Args: as for `attend`; `mask` acts together with the memory's own. None as normalizer or read is attend's
            default.

        Returns:
            The output `(..., Lq, Dv)`; with aux a pair of it and an `AuxOutput`.

        Raises:
            As `attend`.
        """
        normalizer, read = SOFTMAX if normalizer is None else normalizer, SOFT if read is None else read
        memory = self._current()
        memory_mask = self.mask
        if self.capacity is not None:
            assert self.positions is not None
            mask, bias, gate = _ring.placed(query, self.key, self.value, self.positions, memory_mask, mask, bias, gate)
            memory_mask = None
        value, state = (self.value, memory.state) if self.lazily is None else (self.lazily, None)
        return attention(
            Arguments(
                query, self.key, value, self.score, mask, bias, gate, normalizer, read, dropout_p, aux, backend,
                memory_mask, memory.cache, state,
            )
        )  # fmt: skip

    def append(self, key: Tensor, value: Tensor, mask: Mask | Tensor | None = None) -> "Memory":
        """This memory with more keys behind; two appends to one memory never see each other.

        Without gradients room is kept ahead, so that a step costs what one step needs; with gradients, concatenation.

        Args:
            key: `(..., n, Dk)`, unprepared, as `remember` takes them.
            value: `(..., n, Dv)`.
            mask: which of the new keys may be attended to, as for `remember`; None allows them all.

        Raises:
            ShapeError, ArgumentError: what does not fit the memory.
        """
        if self.capacity is not None:
            raise ArgumentError(
                f"memory: expected one that grows, got one of {self.capacity} slots; write(positions, key, value)"
            )
        new, current = self._prepared(key, value, mask), self._current()
        masked = self.mask is not None or new.mask is not None
        parts, buffer = extended(current._parts(masked), new._parts(masked), current._buffer)
        return replace(current._of(parts, masked), _buffer=buffer)

    def write(self, positions: Tensor, key: Tensor, value: Tensor, mask: Mask | Tensor | None = None) -> "Memory":
        """This memory with keys at these positions, those of the lowest positions forgotten where it is full: a ring.

        A memory keeps as many keys as it has, or as `remember(..., positions=..., capacity=...)` says: of each entry
        those of the highest positions, in their order. A position that is there is written over. Without gradients,
        what follows the last position costs what is new; anything else costs a copy of the memory. Earlier memories
        stay as they are.

        Args:
            positions: integers `(n,)`, or `(..., n)` of as many leading dimensions as the memory has; −1 writes
                nothing. Of equal ones the last counts.
            key: `(..., n, Dk)`, unprepared, as `remember` takes them.
            value: `(..., n, Dv)`.
            mask: which of the new keys may be attended to, as for `remember`; None allows them all.

        Returns:
            A memory of as many slots, whose `positions` say where each key stands; masks and biases of its reads
            compare these, and what has a dimension of keys, given or returned, is in the order of slots.

        Raises:
            ShapeError, ArgumentError: what does not fit the memory; positions below −1.

        >>> import torch
        >>> from saccade import remember
        >>> memory = remember(torch.zeros(3, 2), torch.zeros(3, 2))
        >>> memory = memory.write(torch.tensor([3]), torch.ones(1, 2), torch.ones(1, 2))
        >>> memory.positions, memory.value[:, 0]
        (tensor([1, 2, 3]), tensor([0., 0., 1.]))
        """
        new = self._prepared(key, value, mask)
        _ring.served(self.score)
        positions = _ring.checked(positions, new.key, new.value)
        capacity = len(self) if self.capacity is None else self.capacity
        held = torch.arange(len(self), device=self.key.device) if self.positions is None else self.positions
        masked = self.mask is not None or new.mask is not None
        olds, news = self._parts(masked), new._parts(masked)
        room = self._current()._room
        parts, room = _ring.written([*olds, held[..., None]], [*news, positions[..., None]], capacity, room)
        return replace(self._of(parts, masked), capacity=capacity, _buffer=None, _room=room)

    def _prepared(self, key: Tensor, value: Tensor, mask: Mask | Tensor | None) -> "Memory":
        """New keys, prepared like the memory's."""
        if self.positions is not None and self.capacity is None:
            raise ArgumentError(
                "memory: expected keys without positions of their own, got a module's; append by that module's append"
            )
        if self.lazily is not None:
            raise ArgumentError(
                "memory: expected values as a tensor to append to, got a function of keys that it was made with; "
                "remember all keys, with a function that knows them all"
            )
        new = _remembered(key, value, self.prepare, mask)
        shared = None if self.capacity is None else 1  # each entry has its own slots by now
        check_appended("key", self.key, new.key, shared)
        check_appended("value", self.value, new.value, shared)
        if shared is None:
            return new
        pairs = zip(self._parts(masked := new.mask is not None), new._parts(masked), strict=True)
        return new._of([part.expand(*ours.shape[:-2], -1, -1) for ours, part in pairs], masked)

    def _of(self, parts: list[Tensor], masked: bool) -> "Memory":
        """This memory with other parts; the last may be positions."""
        rest = parts[2:]
        cache = rest.pop(0) if self.cache is not None else None
        mask = rest.pop(0).mT if masked else None
        positions = rest.pop()[..., 0] if rest else self.positions
        count = version(parts[0], cache)
        return replace(self, key=parts[0], value=parts[1], cache=cache, mask=mask, positions=positions, _version=count)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """State of a copy, whose key counts its writes anew: the first read makes its cache again."""
        vars(self).update(state, _version=None if state["_version"] is None else -1)

    def _current(self) -> "Memory":
        """This memory with a cache of its current keys, which an optimizer may have changed in place."""
        count, learned = version(self.key, self.cache), self.key.is_leaf and self.key.requires_grad
        if count is None or self._version is None or (count == self._version and not learned):
            return self
        renewed = self.state.of(Renewed)
        memory: Memory | None = renewed.memory
        if memory is None or memory._version != count or learned:  # fused optimizers count no change
            assert isinstance(self.score, scores.Score)
            cache = self.score.prepare(self.key)[2]
            renewed.memory = memory = replace(self, cache=cache, _buffer=None, _room=None, _version=count)
        return memory

    def _parts(self, masked: bool) -> list[Tensor]:
        """All tensors that grow with the keys, along dimension −2."""
        cache = self._current().cache
        parts = [self.key, self.value] + ([] if cache is None else [cache])
        return [*parts, self.full_mask().mT] if masked else parts

    def full_mask(self) -> Tensor:
        """The mask `(..., 1, Lk)` with every batch dimension, all True where there is none."""
        shape = (*broadcast_shapes(self.key.shape[:-2], self.value.shape[:-2]), 1, len(self))
        if self.mask is None:
            return torch.ones(shape, dtype=torch.bool, device=self.key.device)
        return self.mask.expand(shape)

    def select(self, batch_index: Tensor) -> "Memory":
        """The memories at `batch_index` of the first batch dimension: how beams are reordered.

        Args:
            batch_index: integer `(n,)`; entries may repeat.

        Raises:
            ArgumentError: no batch dimension, or an index that is not a vector of integers.
        """
        rank = max(self.key.ndim, self.value.ndim) - 2
        if rank < 1:
            raise ArgumentError(
                f"batch_index: expected a memory with batch dimensions, got keys of shape {tuple(self.key.shape)}"
            )
        if not isinstance(batch_index, Tensor) or batch_index.ndim != 1:
            got = tuple(batch_index.shape) if isinstance(batch_index, Tensor) else type(batch_index).__name__
            raise ArgumentTypeError(f"batch_index: expected an integer tensor (n,), got {got}")
        whole_dtype("batch_index", batch_index)
        check_device("batch_index", batch_index, self.key)
        batch_index = batch_index.long()
        size = broadcast_shapes(self.key.shape[:-2], self.value.shape[:-2])[0]

        def chosen(tensor: Tensor, axes: tuple[str, ...] = ("k", "d")) -> Tensor:
            first = tensor.ndim - len(axes) - rank  # more than 0 where a score has the queries' dimensions in front
            return tensor.index_select(first, batch_index) if first >= 0 and tensor.shape[first] == size else tensor

        inside = (batch_index >= 0) & (batch_index < size)
        outside = f"batch_index: expected indices from 0 to {size - 1}, got some outside"
        ensure(inside, outside, values=not (tracing() or transforming()))
        score = self.score.map(chosen) if isinstance(self.score, scores.Score) else self.score
        prepare = self.prepare.map(chosen) if isinstance(self.prepare, scores.Score) else self.prepare
        cache, mask = (None if part is None else chosen(part) for part in (self._current().cache, self.mask))
        positions = self.positions
        if positions is not None and positions.ndim > 1 and positions.shape[0] == size:
            positions = positions.index_select(0, batch_index)
        key, value, lazily = chosen(self.key), chosen(self.value), self.lazily
        if lazily is not None and value is not self.value:
            lazily = lazily.select(batch_index)
        more = prepare, positions, lazily, self.capacity
        return Memory(score, key, value, cache, mask, *more, _version=version(key, cache))

    def shift(self, offset: Tensor) -> "Memory":
        r"""This memory with its keys moved by an offset.

        So a term of an additive score may differ from query to query, for example by the last weights, without a tensor
        of queries × keys × features.

            scores[..., i, j] = vᵀ tanh(q_i + k_j + f_j)

        Args:
            offset: f, `(..., Lk, D)`, in the keys' dtype; its leading dimensions are broadcast with theirs, and may be
                more, as one for each of several queries.

        Returns:
            A memory of the joint leading dimensions, to be read by queries that share f. What is appended to it is not
            moved.

        Raises:
            ArgumentError: a score other than `scores.Additive`, which does not add key and query, or another dtype.
            ShapeError: an offset that does not fit.

        Chorowski et al. 2015, "Attention-Based Models for Speech Recognition", equation 9.

        >>> import torch
        >>> from saccade import remember, scores
        >>> key, f, v = torch.randn(2, 4, 8), torch.randn(2, 4, 8), torch.randn(8)
        >>> moved = remember(key, key, score=scores.Additive(v)).shift(f)
        >>> torch.equal(moved.key, key + f)
        True
        """
        if not isinstance(self.score, scores.Additive):
            raise ArgumentError(f"score: expected scores.Additive to shift keys of, got {type(self.score).__name__}")
        check_offset(offset, self.key)
        # Of the sums, not e^{2k} times e^{2f}: as many exponentials are taken, and no product leaves the range.
        score, key, cache = self.score.prepare(self.key + offset)
        more = self.mask, self.prepare, self.positions, self.lazily, self.capacity
        return Memory(score, key, self.value, cache, *more, _version=version(key, cache))

    def truncate(self, n: int) -> "Memory":
        """The first n keys, as when a decoder steps back; of a memory of slots, the keys at positions below n.

        Raises:
            ArgumentError: n is negative or more than there are.
        """
        whole("n", n, least=0)
        if self.capacity is not None:
            assert self.positions is not None
            held, masked = self.positions.masked_fill(self.positions >= n, -1), self.mask is not None
            parts = _ring.kept([*self._parts(masked), held[..., None]], len(self))
            return replace(self._of(parts, masked), _room=None)
        if n > len(self):
            raise ArgumentError(f"n: expected an int from 0 to {len(self)}, the keys there are, got {n}")
        cache = None if self.cache is None else self.cache[..., :n, :]
        mask = None if self.mask is None else self.mask[..., :n]
        key, value = self.key[..., :n, :], self.value[..., :n, :]
        positions = None if self.positions is None else self.positions[..., :n]
        lazily = None if self.lazily is None else self.lazily.truncate(n)
        return replace(self, key=key, value=value, cache=cache, mask=mask, positions=positions, lazily=lazily)


def remember(
    key: Tensor,
    value: Tensor | ValueFunction,
    *,
    score: scores.Score | scores.ScoreFunction = SCALED_DOT,
    mask: Mask | Tensor | None = None,
    capacity: int | None = None,
    positions: Tensor | None = None,
) -> Memory:
    """Prepares keys once (projections, norms, exponentials), to be read at many steps: `remember(k, v).read(q)` is
    `attend(q, k, v)`.

    Args:
        key: `(..., Lk, Dk)`.
        value: `(..., Lk, Dv)`, or a function of which keys are read, as for `attend`: `value(index)` is called at each
            read. Such a memory can be read, selected from, truncated and shifted, but not appended to.
        score: as for `attend`.
        mask: which of these keys may be attended to: `masks.Lengths`, or boolean `(..., 1, Lk)`.
        capacity: how many keys to keep room for, without gradients; a hint, appending beyond it is fine. With
            positions, how many keys the memory keeps at all.
        positions: where the keys stand, integers `(Lk,)` or `(..., Lk)`, for a memory of a fixed number of slots that
            is written to by positions (`Memory.write`): a ring. None of one that grows.

    If you change keys in place (an optimizer step, for example), make the memory again: `scores.Cosine` and
    `scores.General` keep projected copies of the keys. `scores.Additive` notices the change and prepares them again.

    Returns:
        A `Memory`.

    Raises:
        ShapeError, ArgumentError: what does not fit.

    >>> import torch
    >>> from saccade import remember
    >>> memory = remember(torch.randn(2, 4, 8), torch.randn(2, 4, 3))
    >>> grown = memory.append(torch.randn(2, 1, 8), torch.randn(2, 1, 3))
    >>> grown.read(torch.randn(2, 1, 8)).shape, len(memory), len(grown)
    (torch.Size([2, 1, 3]), 4, 5)
    """
    whole("capacity", capacity, least=0, none=True)
    kinds(score, SOFTMAX, SOFT, AuxRequest())
    values = lazy(value, key)
    if positions is not None:
        if values is not None:
            raise ArgumentError("value: expected a tensor with positions=, got a function of keys")
        memory = _remembered(key, value, score, mask)
        _ring.served(memory.score)
        positions, masked = _ring.checked(positions, memory.key, memory.value), memory.mask is not None
        capacity = len(memory) if capacity is None else capacity
        parts = _ring.kept([*memory._parts(masked), positions[..., None]], capacity)
        return replace(memory._of(parts, masked), capacity=capacity)
    if values is not None and capacity is not None:
        raise ArgumentError(f"capacity: expected None, since nothing is appended to lazy values, got {capacity}")
    memory = _remembered(key, value if values is None else values.placeholder(key), score, mask)
    memory = memory if values is None else replace(memory, lazily=values)
    if capacity is None or capacity <= len(memory) or torch.is_grad_enabled() or tracing() or transforming():
        return memory
    buffer = with_room(memory._parts(memory.mask is not None), capacity)
    return replace(memory, _buffer=buffer)


def _remembered(key: Tensor, value: Any, score: Any, mask: Any) -> Memory:
    rest, key, value, cache, dense, prepare = prepared(key, value, score, mask)
    return Memory(rest, key, value, cache, dense, prepare, _version=version(key, cache))


__all__ = ["AuxOutput", "Memory", "remember"]
