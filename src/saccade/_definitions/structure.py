"""Definitions as trees of tensors, to slice, batch, differentiate, serialize.

A *definition* (a score, a mask, a whole call) is a frozen dataclass. The fields in its `axes` may hold tensors. `axes`
names a tensor's trailing dimensions; all dimensions before them are batch dimensions:

    q  the query's length (or 1)      k  the key's length (or 1)      any other name: another length

Backends use nothing else: a block of queries is every tensor of the tree narrowed along its "q" axis.
"""

import json
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from saccade._definitions.numerics import tracing, transforming
from saccade.errors import ArgumentError

Axes = tuple[str, ...]

_SCALARS = (bool, int, float, str)


class Leaf(NamedTuple):
    """A tensor of a tree, with the names of its trailing axes."""

    tensor: Tensor
    axes: Axes


class Definition:
    """Base of all definitions: a frozen dataclass with replaceable tensors.

    A class of the user's own need not be a dataclass: slicing leaves all attributes beside its `axes` as they are.

    Two definitions are equal if they have one class, the same tensor objects and equal other fields. `hash` agrees.
    Values of tensors play no part, so that a definition can be a key of a dictionary while it learns.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    axes: ClassVar[dict[str, Axes]] = {}
    sizes: ClassVar[tuple[str, ...]] = ()
    """Integer fields that shapes of results depend on."""
    is_registered: ClassVar[bool] = False
    """Whether the class is `registered`: its `leaves` are all tensors of its formula."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.is_registered = False  # a subclass may add other tensors
        if cls.__eq__ is Definition.__eq__ and cls.__hash__ is Definition.__hash__:  # else a dataclass makes its own
            cls.__eq__, cls.__hash__ = Definition.__eq__, Definition.__hash__  # type: ignore[method-assign]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._held() == other._held()

    def __hash__(self) -> int:
        return hash((type(self), self._held()))

    def _held(self) -> frozenset[tuple[str, Any]]:
        names = self.__match_args__ if self.is_registered else vars(self)
        return frozenset((name, _comparable(getattr(self, name))) for name in names)

    def walk(self) -> "list[Definition]":
        """The definitions of the tree, this one first."""
        parts: list[Definition] = [self]
        for name in self.__match_args__:
            part = getattr(self, name)
            if isinstance(part, Definition):
                parts += part.walk()
        return parts

    def leaves(self) -> list[Leaf]:
        """All tensors of the tree, in the order of the fields."""
        leaves: list[Leaf] = []
        axes = self.axes
        for name in self.__match_args__:
            value = getattr(self, name)
            if value is None or type(value) in _SCALARS:  # the usual case, and cheaper to check
                continue
            if isinstance(value, Definition):
                leaves.extend(value.leaves())
            elif name in axes and isinstance(value, Tensor):
                leaves.append(Leaf(value, axes[name]))
        return leaves

    def leaf_names(self, prefix: str = "") -> list[str]:
        """Names of the `leaves`, by fields from the root on: "alpha", "first_slopes"."""
        names: list[str] = []
        for name in self.__match_args__:
            value = getattr(self, name)
            if isinstance(value, Definition):
                names.extend(value.leaf_names(f"{prefix}{name}_"))
            elif isinstance(value, Tensor) and name in self.axes:
                names.append(prefix + name)
        return names

    def with_leaves(self, tensors: Iterator[Tensor]) -> Self:
        """The tree with other tensors, in the order of `leaves`."""
        new = object.__new__(type(self)) if self.is_registered else copy(self)
        for name in self.__match_args__:
            value = getattr(self, name)
            if value is None or type(value) in _SCALARS:
                pass
            elif isinstance(value, Definition):
                value = value.with_leaves(tensors)
            elif isinstance(value, Tensor) and name in self.axes:
                value = next(tensors)
            object.__setattr__(new, name, value)
        return new

    def map(self, function: Callable[[Tensor, Axes], Tensor]) -> Self:
        """The tree with `function(tensor, axes)` applied to every tensor."""
        leaves = self.leaves()
        tensors = [function(leaf.tensor, leaf.axes) for leaf in leaves]
        if all(new is leaf.tensor for new, leaf in zip(tensors, leaves, strict=True)):
            return self
        return self.with_leaves(iter(tensors))


_SHALLOW, _DEEP, _DEEPEST = 16, 64, 256
"""Depths of trees to leave, to balance, and to reject: levels take stack frames."""


class Pair(Definition):
    """Base of definitions by an associative operator, such as `first & second`."""

    first: Any
    second: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "_depth", 1 + max(_depth(self.first), _depth(self.second)))

    def check(self, *call: Any, **named: Any) -> None:
        """Raise a `SaccadeError` if one of both does not fit the call."""
        self.first.check(*call, **named)
        self.second.check(*call, **named)

    @classmethod
    def of(cls, first: Definition, second: Definition) -> Self:
        """The composed definition; a deep tree becomes a balanced one in its order.

        Operators that alternate cannot be balanced.
        """
        pair = cls(first, second)  # type: ignore[call-arg]
        if _depth(pair) <= _DEEP:
            return pair
        parts, waiting = list[Any](), list[Any]([pair])
        while waiting:
            part = waiting.pop()
            if type(part) is cls and _depth(part) > _SHALLOW:
                waiting.extend((part.second, part.first))
            else:
                parts.append(part)
        while len(parts) > 1:
            rest = parts[len(parts) // 2 * 2 :]
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [cls(first, second) for first, second in pairs] + rest  # type: ignore[call-arg]
        [pair] = parts
        if _depth(pair) > _DEEPEST:
            expected = f"at most {_DEEPEST} different operators nested in each other"
            raise ArgumentError(f"{cls.__name__}: expected {expected}, got more. Lay the inner ones out as one tensor")
        return pair


def _depth(tree: Definition) -> int:
    """Depth of a tree of pairs; 0 of other definitions."""
    depth = getattr(tree, "_depth", None)
    if depth is None:  # a copy has none
        parts = (getattr(tree, name) for name in tree.__match_args__)
        depth = 1 + max([-1, *[_depth(part) for part in parts if isinstance(part, Definition)]])
    return depth


def _comparable(value: Any) -> Any:
    """A value to compare and hash instead: tensors by identity."""
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    if isinstance(value, Tensor) or type(value).__hash__ is None:
        return Tensor, id(value)
    return value


class Grid(NamedTuple):
    """Queries and keys of a block: `rows` of q_len against all or some of k_len keys."""

    q_len: int  # of the whole call
    k_len: int
    start: int | Tensor  # the first query, or those of several blocks, (blocks, 1, 1)
    rows: int
    device: torch.device  # of the positions
    k_index: Tensor | None = None  # keys(), (1, width) or (blocks, 1, width); None: all keys
    filled: bool = False  # whether some positions are k_len or more, without a key
    rank: int = 0  # batch dimensions of the whole call
    entries: tuple[int, int, int] | None = None  # dimension of `rank`, first and number of its entries here; None: all
    behind: Tensor | None = None  # position behind the last key (..., 1, 1), if k_len does not give it
    alike: bool = False  # whether keys and queries of every block have the same distances

    @property
    def end(self) -> int | Tensor:
        """The position behind the last key, where "end" aligns the last query."""
        return self.k_len if self.behind is None else self.behind

    @property
    def width(self) -> int:
        return self.k_len if self.k_index is None else self.k_index.shape[-1]

    def queries(self) -> Tensor:
        """Positions of the queries, `(rows, 1)` or `(blocks, rows, 1)`."""
        return torch.arange(self.rows, device=self.device)[:, None] + self.start

    def keys(self) -> Tensor:
        """Positions of the keys, `(1, width)` or `(blocks, 1, width)`."""
        return torch.arange(self.k_len, device=self.device)[None] if self.k_index is None else self.k_index

    def first_block(self) -> "Grid":
        """The first of equal blocks, for functions of distances."""
        if not (self.alike and isinstance(self.start, Tensor) and self.k_index is not None):
            return self
        return self._replace(start=self.start[:1], k_index=self.k_index[:1])

    def present(self) -> Tensor | None:
        """Whether there is a key at each of `keys()`; None: everywhere."""
        return self.k_index < self.k_len if self.k_index is not None and self.filled else None

    def of_entries(self, tensor: Tensor) -> Tensor:
        """The block's entries of a tensor `(..., [blocks,] rows, width)` of the batch."""
        if self.entries is None:
            return tensor
        dim, first, count = self.entries
        tiled = isinstance(self.start, Tensor)
        at = tensor.ndim - 2 - tiled - self.rank + dim
        return tensor if at < 0 or tensor.shape[at] == 1 else tensor.narrow(at, first, count)

    def of_call(self, index: Tensor) -> Tensor:
        """Positions in the whole call of indices of the block's keys; −1 stays."""
        if self.k_index is None:
            return index
        if self.k_index.ndim == 2:
            return torch.where(index < 0, index, self.k_index[0][index.clamp(min=0)])
        blocks, _, width = self.k_index.shape
        first = torch.arange(blocks, device=self.device)[:, None] * width
        return torch.where(index < 0, index, self.k_index.flatten()[first + index.clamp(min=0)])


class Extent(NamedTuple):
    """Sizes, dtype and device for checks, and whether values may be read."""

    batch: tuple[int, ...]
    q_len: int
    k_len: int
    q_dim: int
    k_dim: int
    dtype: torch.dtype
    device: torch.device
    values: bool

    @classmethod
    def of(cls, batch: tuple[int, ...], query: Tensor, key: Tensor) -> "Extent":
        """Sizes of a call. Under compilers and transforms its values may not be read."""
        queries, keys, values = query.shape, key.shape, not (tracing() or transforming())
        return cls(batch, queries[-2], keys[-2], queries[-1], keys[-1], query.dtype, query.device, values)


def aligned(tensor: Tensor, axes: Axes, batch_rank: int) -> Tensor:
    """A view with exactly `batch_rank` batch dimensions, those in front of size 1.

    So a new batch dimension (vmap) goes in front of every tensor of a tree.
    """
    missing = batch_rank + len(axes) - tensor.ndim
    return tensor[(None,) * missing] if missing > 0 else tensor


_REGISTRY: dict[str, type[Definition]] = {}  # by module and name
D = TypeVar("D", bound=Definition)


def registered(cls: type[D]) -> type[D]:
    """Register a class of built-in definitions, for encoded trees."""
    _REGISTRY[f"{cls.__module__}:{cls.__name__}"] = cls
    cls.is_registered = True
    return cls


def foreign(tree: Definition) -> bool:
    """Whether a definition in the tree has a class of the user's own."""
    if not tree.is_registered:
        return True
    for name in tree.__match_args__:
        part = getattr(tree, name)
        if isinstance(part, Definition) and foreign(part):
            return True
    return False


def encodable(tree: Definition) -> bool:
    """Whether the tree can cross into an opaque operator: built-in parts alone."""
    if not tree.is_registered:
        return False
    values = [getattr(tree, name) for name in tree.__match_args__]
    return all(encodable(v) if isinstance(v, Definition) else isinstance(v, _PLAIN) for v in values)


_PLAIN = (Tensor, str, bool, int, float, type(None))


def encode(tree: Definition, numbers: list[float]) -> str:
    """The tree without its tensors, as JSON; its numbers are appended to `numbers`.

    By plain string operations, since torch.compile traces them, and may make symbols of numbers. In an exported program
    the text has all numbers that depend on no sizes, since a decomposition reads no values of tensors.
    """
    parts, exported = [], torch.compiler.is_exporting()
    for name in tree.__match_args__:
        value = getattr(tree, name)
        if isinstance(value, Definition):
            text = encode(value, numbers)
        elif isinstance(value, Tensor):
            text = '{"Tensor":0}'
        elif value is None:
            text = "null"
        elif isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, str):
            text = '"' + value + '"'
        elif name in tree.sizes:
            text = str(len(range(value)))  # counting makes a constant of a size, on which shapes depend
        else:
            text = '{"Float":' if isinstance(value, float | torch.SymFloat) else '{"Int":'
            if exported and (type(value) is float or (type(value) is int and not torch.compiler.is_dynamo_compiling())):
                text = text + '"' + str(value) + '"}'
            else:
                text = text + str(len(numbers)) + "}"
                numbers.append(value)
        parts.append('"' + name + '":' + text)
    return '{"' + type(tree).__module__ + ":" + type(tree).__name__ + '":{' + ",".join(parts) + "}}"


_PLACEHOLDER = torch.empty(0)


def decode(text: str, numbers: list[float]) -> Any:
    """The tree of `encode` with placeholders for tensors, for `with_leaves`."""
    return _built(json.loads(text), numbers)


def _built(value: Any, numbers: list[float]) -> Any:
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == "Tensor":
        return _PLACEHOLDER
    if name in ("Float", "Int"):
        number = float(content) if isinstance(content, str) else numbers[content]
        return number if name == "Float" else torch.sym_int(number)
    tree = object.__new__(_REGISTRY[name])
    for field, part in content.items():
        object.__setattr__(tree, field, _built(part, numbers))
    return tree
