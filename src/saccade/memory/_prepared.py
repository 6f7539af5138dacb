"""Keys of a memory, checked and prepared by their score, with their mask."""

from typing import Any

from torch import Tensor

from saccade import scores
from saccade._call.user_subclasses import by_definition
from saccade._call.validation import batch_of, tensors
from saccade._definitions.checks import same_device
from saccade._definitions.numerics import autocasting, broadcast_shapes, tracing, transforming
from saccade._definitions.structure import Extent, Grid, aligned
from saccade._dispatch.passes import autocast
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.masks import as_mask


def prepared(
    key: Tensor, value: Any, score: Any, mask: Any
) -> tuple[Any, Tensor, Tensor, Tensor | None, Tensor | None, Any]:
    """Score, key, value, cache, mask and the preparing score of a `Memory`."""
    if autocasting(key):
        key, value, score = autocast(key, value, score)
    tensors(key, key, value, first="key")
    score = by_definition(score)
    batch, (k_len, k_dim) = batch_of(key, key, value), key.shape[-2:]
    q_dim = score.query_dim(k_dim) if isinstance(score, scores.Score) else k_dim
    extent = Extent(batch, 1, k_len, q_dim, k_dim, key.dtype, key.device, not (tracing() or transforming()))
    if isinstance(score, scores.Additive | scores.General | scores.Location):  # parameters that meet keys, not queries
        shapes = [tensor.shape[: tensor.ndim - len(axes)] for tensor, axes in score.leaves()]
        try:  # later queries may have more batch dimensions than the keys, as many as the score
            joint = tuple(broadcast_shapes(batch, *shapes))
        except RuntimeError:
            joint = batch  # the check says which shape does not fit
        score.check(extent._replace(batch=joint))
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
    rest, key, cache = score.prepare(key) if isinstance(score, scores.Score) else (score, key, None)
    return rest, key, value, cache, dense, score


class Renewed:
    """A memory to replace one with keys changed in place."""

    memory: Any = None


def version(key: Tensor, cache: Tensor | None) -> int | None:
    """Number of writes to a key; None if no cache depends on it."""
    if cache is None or tracing() or transforming() or key.is_inference():
        return None
    return key._version


def check_appended(name: str, ours: Tensor, theirs: Tensor, shared: int | None) -> None:
    """Raise unless new keys or values fit a memory's, or have size `shared`."""
    sizes = zip(ours.shape[:-2], theirs.shape[:-2], strict=False)
    alike = ours.ndim == theirs.ndim and all(new in (old, shared) for old, new in sizes)
    if not alike or ours.shape[-1] != theirs.shape[-1]:
        shapes = ((*tensor.shape[:-2], "n", tensor.shape[-1]) for tensor in (ours, theirs))
        expected, got = (f"({', '.join(map(str, shape))})" for shape in shapes)
        raise ShapeError(f"{name}: expected {expected} as in the memory, got {got}")
    if theirs.dtype != ours.dtype:
        raise ArgumentError(f"{name}: expected dtype {ours.dtype}, that of the memory, got {theirs.dtype}")
    same_device(name, theirs, ours.device, "the memory", "memory.key")


def check_offset(offset: Tensor, key: Tensor) -> None:
    """Raise unless an offset can be added to keys."""
    if not isinstance(offset, Tensor):
        raise ArgumentTypeError(f"offset: expected a tensor, got {type(offset).__name__}")
    if offset.dtype != key.dtype:
        raise ArgumentError(f"offset: expected dtype {key.dtype}, that of the keys, got dtype {offset.dtype}")
    same_device("offset", offset, key.device, "the memory", "memory.key")
    leading = zip(reversed(key.shape[:-2]), reversed(offset.shape[:-2]), strict=False)
    fits = all(1 in pair or pair[0] == pair[1] for pair in leading)
    if offset.shape[-2:] != key.shape[-2:] or offset.ndim < 2 or not fits:
        expected = f"(..., {key.shape[-2]}, {key.shape[-1]}), broadcastable with keys {tuple(key.shape)}"
        raise ShapeError(f"offset: expected {expected}, got shape {tuple(offset.shape)}")
