"""Attention in linear memory without a compiler: the reference by blocks."""

from dataclasses import replace
from functools import partial

from saccade._call.call import Call
from saccade._definitions.numerics import wide
from saccade._definitions.structure import Grid
from saccade.backends import blockwise, reference
from saccade.backends.blockwise.engine import Weighed
from saccade.backends.chunked.additive import FusedAdditive
from saccade.backends.offers import Answer, Answers
from saccade.scores import Additive, exponentials


def prepare(call: Call) -> Call:
    if isinstance(call.score, Additive) and call.cache is None:
        return replace(call, cache=exponentials(wide(call.key.detach())))
    return call


def weigh(call: Call, grid: Grid) -> Weighed:
    """The reference's weights; additive scores by the identity."""
    if call.cache is not None and isinstance(call.score, Additive):
        call = replace(call, score=FusedAdditive(call.score.v, call.cache))
    return reference.weigh(call, grid)


# Scores and weights of a block stay in the cache.
ENGINE = blockwise.Engine("chunked", prepare, weigh, reference.read, 1 << 19)

run = partial(blockwise.run, ENGINE)


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    return blockwise.offer(ENGINE, call)
