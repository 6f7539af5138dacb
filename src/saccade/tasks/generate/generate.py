"""Writing as a run and its user say: searched for or drawn, whatever it is that was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.tasks.generate.beam import search
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.generate.request import Decoding
from saccade.tasks.generate.sampling import sample
from saccade.train.randomness import generator

__all__ = ["Search", "Tokens", "pursued", "write"]


class Tokens(NamedTuple):
    """The tokens that an output begins with: the one before it, those that are given; and the one that ends it."""

    begin: int
    end: int
    prefix: Sequence[int] = ()


@dataclass(frozen=True)
class Search:
    """What a run says of how its outputs are found, and how many are wanted.

    Args:
        beam_size: outputs pursued at once.
        length_penalty: see `saccade.tasks.generate.search`.
        count: how many outputs of each example are wanted.
        seed: of the run, which draws follow from if nobody names another.
        rank_all: whether all that are pursued shall come back, since something else ranks them.
    """

    beam_size: int
    length_penalty: float
    count: int
    seed: int
    rank_all: bool = False


def pursued(decoding: Decoding, asked: Search) -> int:
    """Return how many outputs of each example are pursued at once.

    >>> pursued(Decoding(), Search(5, 0.6, 1, seed=1)), pursued(Decoding(sample=True), Search(5, 0.6, 2, seed=1))
    (5, 2)
    """
    return asked.count if decoding.sample else max(asked.count, asked.beam_size)


def write(
    model: Any,
    state: Any,
    limits: Tensor,
    tokens: Tokens,
    decoding: Decoding,
    asked: Search,
    names: Sequence[tuple[int, str]],
) -> Hypotheses:
    """Return outputs of a batch of examples: the best, or draws.

    Args:
        model: see `saccade.tasks.generate.Autoregressive`.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have.
        tokens: begin, end and prefix.
        decoding: how it was asked for.
        asked: how the run searches, and for how many.
        names: what tells each example from others, its place and text: its draws follow from them.
    """
    shared: dict[str, Any] = {**tokens._asdict(), "min_length": decoding.min_length}
    if decoding.sample:
        shared |= {"temperature": decoding.temperature or 1.0, "top_p": decoding.top_p or 1.0}  # 0 is refused
        seed = asked.seed if decoding.seed is None else decoding.seed
        return sample(model, state, limits, _uniforms(seed, names, limits, asked.count), **shared)
    size = pursued(decoding, asked)
    shared |= {"beam_size": size, "length_penalty": asked.length_penalty}
    return search(model, state, limits, count=size if asked.rank_all else asked.count, **shared)


def _uniforms(seed: int, names: Sequence[tuple[int, str]], limits: Tensor, count: int) -> Tensor:
    """The numbers that draw each token: of every output they follow from the seed, its line and its place alone."""
    found = torch.zeros(len(names), count, 1 + int(limits.max()), dtype=torch.double)
    for row, name, limit in zip(found, names, limits.tolist(), strict=True):
        for number, own in enumerate(row):
            draws = generator(seed, "sample", number, *name)
            own[: limit + 1] = torch.rand(limit + 1, generator=draws, dtype=torch.double)
    return found.to(limits.device)
