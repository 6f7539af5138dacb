"""Keys prepared for a memory: checked, as their score wants them, with a mask of their own."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import scores
from saccade.attention import autocast
from saccade.derived import by_definition
from saccade.errors import ArgumentError
from saccade.masks import as_mask
from saccade.numerics import autocasting, tracing, transforming
from saccade.structure import Extent, Grid, aligned
from saccade.validate import batch_of, tensors

__all__ = ["Prepared", "prepared"]


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
        return tuple(torch.broadcast_shapes(batch, *shapes))
    except RuntimeError:
        return batch  # the check that follows says who does not fit
