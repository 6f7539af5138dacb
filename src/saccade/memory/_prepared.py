"""Keys prepared for a memory: checked, as their score wants them, with a mask of their own."""

from typing import Any, NamedTuple

from torch import Tensor

from saccade import scores
from saccade._call.user_subclasses import by_definition
from saccade._call.validation import batch_of, tensors
from saccade._definitions.numerics import autocasting, broadcast_shapes, tracing, transforming
from saccade._definitions.structure import Extent, Grid, aligned
from saccade._dispatch.passes import autocast
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.masks import as_mask

__all__ = ["Prepared", "Renewed", "check_appended", "check_device", "check_offset", "prepared", "version"]


class Prepared(NamedTuple):
    """What a memory is made of, as `Memory` has it."""

    score: scores.Score | scores.ScoreFunction
    key: Tensor
    value: Tensor
    cache: Tensor | None
    mask: Tensor | None
    prepare: scores.Score | scores.ScoreFunction


def prepared(key: Tensor, value: Any, score: Any, mask: Any) -> Prepared:
    """Keys as a score prepares them, with their values and their mask.

    Args: as for `remember`.

    Raises:
        ShapeError, ArgumentError: what does not fit.
    """
    if autocasting(key):
        key, value, score = autocast(key, value, score)
    tensors(key, key, value, first="key")
    score = by_definition(score)
    batch, (k_len, k_dim) = batch_of(key, key, value), key.shape[-2:]
    look = not (tracing() or transforming())
    q_dim = score.query_dim(k_dim) if isinstance(score, scores.Score) else k_dim
    extent = Extent(batch, 1, k_len, q_dim, k_dim, key.dtype, key.device, look)
    if isinstance(score, scores.Additive | scores.General | scores.Location):  # parameters that meet keys, not queries
        score.check(extent._replace(batch=reach(score, batch)))
    dense = None
    if mask is not None:
        mask = as_mask(mask)
        if not mask.keys_alone:
            raise ArgumentError(
                "mask: expected one of these keys alone, masks.Lengths or boolean (..., 1, Lk), got one of queries too "
                "(give that to read)"
            )
        mask.check(extent)
        dense = aligned(mask.dense(Grid(1, k_len, 0, 1, key.device)), ("q", "k"), len(batch))
        dense = dense.expand(*dense.shape[:-1], k_len)
    left, ready, cache = score.prepare(key) if isinstance(score, scores.Score) else (score, key, None)
    return Prepared(left, ready, value, cache, dense, score)


def reach(score: scores.Score, batch: tuple[int, ...]) -> tuple[int, ...]:
    """The keys' batch dimensions broadcast with the score's: the queries to come may have more than the keys."""
    shapes = [tensor.shape[: tensor.ndim - len(axes)] for tensor, axes in score.leaves()]
    try:
        return tuple(broadcast_shapes(batch, *shapes))
    except RuntimeError:
        return batch  # the check that follows says who does not fit


class Renewed:
    """The memory that takes the place of one whose keys were changed in place; its `BackendState` has it."""

    memory: Any = None


def version(key: Tensor, cache: Tensor | None) -> int | None:
    """How often a key was written to, None where no cache depends on it or torch does not count.

    >>> import torch
    >>> key = torch.zeros(2)
    >>> before = version(key, key)
    >>> version(key.add_(1), key) == before + 1, version(key, None)
    (True, None)
    """
    if cache is None or tracing() or transforming() or key.is_inference():
        return None
    return key._version


def check_appended(name: str, ours: Tensor, theirs: Tensor, shared: int | None) -> None:
    """Raises unless more keys or values fit those of a memory; a leading dimension may be `shared`, too."""
    sizes = zip(ours.shape[:-2], theirs.shape[:-2], strict=False)
    alike = ours.ndim == theirs.ndim and all(other in (own, shared) for own, other in sizes)
    if not alike or ours.shape[-1] != theirs.shape[-1]:
        expected, got = (
            f"({', '.join(map(str, (*tensor.shape[:-2], 'n', tensor.shape[-1])))})" for tensor in (ours, theirs)
        )
        raise ShapeError(f"{name}: expected {expected} as in the memory, got {got}")
    if theirs.dtype != ours.dtype:
        raise ArgumentError(f"{name}: expected dtype {ours.dtype}, that of the memory, got {theirs.dtype}")
    check_device(name, theirs, ours)


def check_offset(offset: Tensor, key: Tensor) -> None:
    """Raises unless an offset can be added to keys."""
    if not isinstance(offset, Tensor):
        raise ArgumentTypeError(f"offset: expected a tensor, got {type(offset).__name__}")
    if offset.dtype != key.dtype:
        raise ArgumentError(f"offset: expected dtype {key.dtype}, that of the keys, got dtype {offset.dtype}")
    check_device("offset", offset, key)
    lead, own = key.shape[:-2], offset.shape[:-2]
    fits = all(1 in pair or pair[0] == pair[1] for pair in zip(reversed(lead), reversed(own), strict=False))
    if offset.shape[-2:] != key.shape[-2:] or offset.ndim < 2 or not fits:
        expected = f"(..., {key.shape[-2]}, {key.shape[-1]}), broadcastable with keys {tuple(key.shape)}"
        raise ShapeError(f"offset: expected {expected}, got shape {tuple(offset.shape)}")


def check_device(name: str, tensor: Tensor, ours: Tensor) -> None:
    """Raises unless a tensor lies where those of a memory do."""
    if tensor.device != ours.device:
        got = f"got {tensor.device}; move it with .to(memory.key.device)"
        raise ArgumentError(f"{name}: expected device {ours.device}, that of the memory, {got}")
