"""`remember`: keys prepared once and read many times."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from saccade import normalizers, reads, scores
from saccade._call.call import SCALED_DOT, SOFT, SOFTMAX, Arguments
from saccade._call.lazy_value import LazyValue, ValueFunction, lazy
from saccade._call.validation import kinds
from saccade._definitions.checks import ensure, same_device, whole, whole_dtype
from saccade._definitions.numerics import broadcast_shapes, tracing, transforming
from saccade._definitions.state import BackendState
from saccade._dispatch.passes import attention
from saccade.auxiliary import AuxRequest
from saccade.biases import Factor
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.masks import Mask
from saccade.memory import _ring
from saccade.memory._prepared import Renewed, check_appended, check_offset, prepared, version


@dataclass(frozen=True, eq=False)
class Memory:
    """Prepared keys and their values, made by `remember`.

    Every method returns a new memory and changes none. `len(memory)` is the number of keys. Two memories are equal only
    if they are one object.

    Args:
        score: the score of queries against prepared keys.
        key: `(..., Lk, D)`, as the score prepared them.
        value: `(..., Lk, Dv)`, without features if `lazily` computes the values.
        cache: `(..., Lk, C)`, prepared by the score beside the keys, or None. It is renewed if keys change in place.
        mask: the allowed keys, boolean `(..., 1, Lk)`, or None for all.
        prepare: the score of `remember`, which prepares the keys of `append`.
        positions: of the keys, `(..., Lk)`, −1 for a slot without a key, or None.
        lazily: the function that computes values, or None if they are tensors.
        capacity: the number of slots of a memory with positions, or None for a memory that grows.
        grown: whether `append` or `write` added keys.
        state: data that backends keep with these tensors from read to read.
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
    grown: bool = field(default=False, repr=False)
    _room: _ring.Room | None = field(default=None, repr=False)
    _version: int | None = field(default=None, repr=False)  # of the key at the time of the cache
    # a function, since a compiler traces no class as a default
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
        """`attend` against this memory, without preparing its keys again.

        Args: as for `attend`; `mask` acts together with that of the memory. None as normalizer or read
            is attend's default.

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
        """This memory with more keys behind.

        Two appends to one memory never see each other. Without gradients a buffer has room for later keys, so that the
        cost of a step does not grow with the memory. With gradients keys are concatenated.

        Args:
            key: `(..., n, Dk)`, unprepared, as `remember` takes them.
            value: `(..., n, Dv)`.
            mask: the allowed ones of the new keys, as for `remember`; None allows all.

        Raises:
            ShapeError, ArgumentError: arguments that do not fit the memory.
        """
        if self.capacity is not None:
            got = f"one of {self.capacity} slots. Use write(positions, key, value)."
            raise ArgumentError(f"memory: expected one that grows, got {got}")
        memory, new = self._current(), self._prepared(key, value, mask)
        masked = memory.mask is not None or new.mask is not None
        joined, room = _ring.extended(memory._parts(masked), new._parts(masked), memory._room)
        return replace(memory._of(joined, masked), grown=True, _room=room)

    def write(self, positions: Tensor, key: Tensor, value: Tensor, mask: Mask | Tensor | None = None) -> "Memory":
        """This memory with keys at these positions: a ring.

        A full memory forgets its lowest positions. It has as many slots as keys, or the `capacity` of
        `remember(..., positions=...)`. They hold the keys of the highest positions, in order, for each entry of the
        batch. A key at an old position replaces the key there. Without gradients, writing behind the last position
        costs as much as the new keys, and other writes cost a copy of the memory. Earlier memories do not change.

        Args:
            positions: integers `(n,)`, or `(..., n)` with the leading dimensions of the memory. −1 writes nothing. Of
                equal ones the last counts.
            key, value, mask: as for `append`.

        Returns:
            A memory of as many slots, with the position of each key in `positions`. Masks and biases of its reads
            compare positions. Arguments and results with a dimension of keys are in the order of slots.

        Raises:
            ShapeError, ArgumentError: arguments that do not fit the memory, or positions below −1.

        >>> import torch
        >>> from saccade import remember
        >>> memory = remember(torch.zeros(3, 2), torch.zeros(3, 2))
        >>> memory = memory.write(torch.tensor([3]), torch.ones(1, 2), torch.ones(1, 2))
        >>> memory.positions, memory.value[:, 0]
        (tensor([1, 2, 3]), tensor([0., 0., 1.]))
        """
        new = self._prepared(key, value, mask)
        _ring.served(self.score)
        written = _ring.checked(positions, new.key, new.value)
        capacity = len(self) if self.capacity is None else self.capacity
        held = torch.arange(len(self), device=self.key.device) if self.positions is None else self.positions
        masked = self.mask is not None or new.mask is not None
        olds, news = self._parts(masked), new._parts(masked)
        room = self._current()._room
        parts, room = _ring.written([*olds, held[..., None]], [*news, written[..., None]], capacity, room)
        return replace(self._of(parts, masked), capacity=capacity, grown=True, _room=room)

    def _prepared(self, key: Tensor, value: Tensor, mask: Mask | Tensor | None) -> "Memory":
        """More keys for this memory, prepared like the keys in it."""
        if self.positions is not None and self.capacity is None:
            expected = "keys without positions of their own"
            raise ArgumentError(f"memory: expected {expected}, got a module's. Append by that module's append.")
        if self.lazily is not None:
            expected = "expected values as a tensor to append to, got a function of keys"
            raise ArgumentError(f"memory: {expected}. Remember all keys, with one function for all.")
        new = _remembered(key, value, self.prepare, mask)
        shared = None if self.capacity is None else 1  # entries of a batch no longer share slots
        check_appended("key", self.key, new.key, shared)
        check_appended("value", self.value, new.value, shared)
        if shared is None:
            return new
        pairs = zip(self._parts(masked := new.mask is not None), new._parts(masked), strict=True)
        return new._of([part.expand(*ours.shape[:-2], -1, -1) for ours, part in pairs], masked)

    def _of(self, parts: list[Tensor], masked: bool) -> "Memory":
        """This memory with other parts, in the order of `_parts`, then positions."""
        rest = parts[2:]
        cache = rest.pop(0) if self.cache is not None else None
        mask = rest.pop(0).mT if masked else None
        positions = rest.pop()[..., 0] if rest else self.positions
        count = version(parts[0], cache)
        return replace(self, key=parts[0], value=parts[1], cache=cache, mask=mask, positions=positions, _version=count)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, with a cache for the first read to renew."""
        vars(self).update(state, _version=None if state["_version"] is None else -1)

    def _current(self) -> "Memory":
        """This memory with a cache of its keys after changes in place."""
        count, learned = version(self.key, self.cache), self.key.is_leaf and self.key.requires_grad
        if count is None or self._version is None or (count == self._version and not learned):
            return self
        renewed = self.state.of(Renewed)
        memory: Memory | None = renewed.memory
        if memory is None or memory._version != count or learned:  # fused optimizers do not count their changes
            assert isinstance(self.score, scores.Score)
            cache = self.score.prepare(self.key)[2]
            renewed.memory = memory = replace(self, cache=cache, _room=None, _version=count)
        return memory

    def _parts(self, masked: bool) -> list[Tensor]:
        """Tensors that grow with the keys, along dimension −2."""
        cache = self._current().cache
        parts = [self.key, self.value] + ([] if cache is None else [cache])
        return [*parts, self.full_mask().mT] if masked else parts

    def full_mask(self) -> Tensor:
        """The mask `(..., 1, Lk)` with every batch dimension, all True without one."""
        shape = (*broadcast_shapes(self.key.shape[:-2], self.value.shape[:-2]), 1, len(self))
        if self.mask is None:
            return torch.ones(shape, dtype=torch.bool, device=self.key.device)
        return self.mask.expand(shape)

    def select(self, batch_index: Tensor) -> "Memory":
        """The memories at `batch_index` of the first batch dimension.

        Beam search reorders its beams by it, for example.

        Args:
            batch_index: integer `(n,)`; entries may repeat.

        Raises:
            ArgumentError: no batch dimension, or an index that is not a vector of integers.
        """
        rank = max(self.key.ndim, self.value.ndim) - 2
        if rank < 1:
            expected = "expected a memory with batch dimensions"
            raise ArgumentError(f"batch_index: {expected}, got keys of shape {tuple(self.key.shape)}")
        if not isinstance(batch_index, Tensor) or batch_index.ndim != 1:
            got = tuple(batch_index.shape) if isinstance(batch_index, Tensor) else type(batch_index).__name__
            raise ArgumentTypeError(f"batch_index: expected an integer tensor (n,), got {got}")
        whole_dtype("batch_index", batch_index)
        same_device("batch_index", batch_index, self.key.device, "the memory", "memory.key")
        batch_index = batch_index.long()
        size = broadcast_shapes(self.key.shape[:-2], self.value.shape[:-2])[0]

        def chosen(tensor: Tensor, axes: tuple[str, ...] = ("k", "d")) -> Tensor:
            first = tensor.ndim - len(axes) - rank  # above 0 if a score has leading dimensions of the queries
            return tensor.index_select(first, batch_index) if first >= 0 and tensor.shape[first] == size else tensor

        inside = (batch_index >= 0) & (batch_index < size)
        outside = f"batch_index: expected indices from 0 to {size - 1}, got some outside"
        ensure(inside, outside)
        score = self.score.map(chosen) if isinstance(self.score, scores.Score) else self.score
        prepare = self.prepare.map(chosen) if isinstance(self.prepare, scores.Score) else self.prepare
        cache, mask = (None if part is None else chosen(part) for part in (self._current().cache, self.mask))
        positions = self.positions
        if positions is not None and positions.ndim > 1 and positions.shape[0] == size:
            positions = positions.index_select(0, batch_index)
        key, value, lazily = chosen(self.key), chosen(self.value), self.lazily
        if lazily is not None and value is not self.value:
            lazily = lazily.select(batch_index)
        more = prepare, positions, lazily, self.capacity, self.grown
        return Memory(score, key, value, cache, mask, *more, _version=version(key, cache))

    def shift(self, offset: Tensor) -> "Memory":
        r"""This memory with its keys moved by an offset.

        So a term of an additive score may differ from query to query, for example by the last weights, without a tensor
        of queries × keys × features.

            scores[..., i, j] = vᵀ tanh(q_i + k_j + f_j)

        Args:
            offset: f, `(..., Lk, D)`, in the keys' dtype. Its leading dimensions broadcast with those of the keys, and
                there may be more, for example one of several queries.

        Returns:
            A memory of the joint leading dimensions, to be read by queries that share f. It does not move the keys of
            later appends.

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
        # Exponentials of the sums: there are as many as of e^{2k} times e^{2f}, without overflow.
        score, key, cache = self.score.prepare(self.key + offset)
        return replace(self, score=score, key=key, cache=cache, _room=None, _version=version(key, cache))

    def truncate(self, n: int) -> "Memory":
        """The first n keys, or the keys at positions below n in a memory of slots.

        Raises:
            ArgumentError: n is negative or above the number of keys.
        """
        whole("n", n, least=0)
        if self.capacity is not None:
            assert self.positions is not None
            before, masked = self.positions.masked_fill(self.positions >= n, -1), self.mask is not None
            parts = _ring.kept([*self._parts(masked), before[..., None]], len(self))
            return replace(self._of(parts, masked), _room=None)
        if n > len(self):
            raise ArgumentError(f"n: expected an int from 0 to {len(self)}, the number of keys, got {n}")
        cache = None if self.cache is None else self.cache[..., :n, :]
        mask = None if self.mask is None else self.mask[..., :n]
        key, value = self.key[..., :n, :], self.value[..., :n, :]
        positions = None if self.positions is None else self.positions[..., :n]
        lazily = None if self.lazily is None else replace(self.lazily, k_len=n)
        memory = replace(self, key=key, value=value, cache=cache, mask=mask, positions=positions, lazily=lazily)
        return replace(memory, _room=None)  # it ends behind the last key


def remember(
    key: Tensor,
    value: Tensor | ValueFunction,
    *,
    score: scores.Score | scores.ScoreFunction = SCALED_DOT,
    mask: Mask | Tensor | None = None,
    capacity: int | None = None,
    positions: Tensor | None = None,
) -> Memory:
    """Prepare keys once (projections, norms, exponentials) to read them many times.

    `remember(k, v).read(q)` is `attend(q, k, v)`.

    Args:
        key: `(..., Lk, Dk)`.
        value: `(..., Lk, Dv)`, or a function of the index of keys, as for `attend`: `value(index)` is called at each
            read. Such a memory has no `append`.
        score: as for `attend`.
        mask: the allowed keys, `masks.Lengths` or boolean `(..., 1, Lk)`.
        capacity: the number of keys to keep room for, without gradients. It is a hint: a memory can grow beyond it.
            With positions it is the number of slots.
        positions: of the keys, integers `(Lk,)` or `(..., Lk)`. The memory then has a fixed number of slots, a ring,
            with `Memory.write`. None makes a memory that grows.

    If you change keys in place (an optimizer step, for example), make the memory again: `scores.Cosine` and
    `scores.General` keep projected copies of the keys. `scores.Additive` notices the change and prepares them again.

    Returns:
        A `Memory`.

    Raises:
        ShapeError, ArgumentError: arguments that do not fit.

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
    return replace(memory, _room=_ring.with_room(memory._parts(memory.mask is not None), capacity))


def _remembered(key: Tensor, value: Any, score: Any, mask: Any) -> Memory:
    rest, key, value, cache, dense, prepare = prepared(key, value, score, mask)
    return Memory(rest, key, value, cache, dense, prepare, _version=version(key, cache))
