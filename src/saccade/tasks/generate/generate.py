"""Generating as a run and its user say: searched for or drawn, whatever it is that was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.tasks.generate.beam import search
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.generate.sampling import sample
from saccade.tasks.text.special import BEGIN, END
from saccade.tasks.text.tokenizer import Tokenizer, one_line
from saccade.train.randomness import generator

__all__ = ["Output", "Sampling", "Search", "best_texts", "generate", "outputs_of"]


@dataclass(frozen=True)
class Sampling:
    """How outputs are drawn.

    Args:
        temperature: see `saccade.tasks.generate.sample`.
        top_p: see there.
        seed: what the draws follow from.
    """

    temperature: float
    top_p: float
    seed: int


@dataclass(frozen=True)
class Search:
    """How outputs are found, and how many are wanted.

    Args:
        beam_size: outputs kept at once.
        length_penalty: see `saccade.tasks.generate.search`.
        count: how many outputs of each example are wanted.
        min_length: tokens that an output has at the least.
        prefix: tokens that every output begins with.
        sampling: how they are drawn; None where they are searched for.
        rank_all: whether all that are kept shall come back, since something else ranks them.
    """

    beam_size: int = 1
    length_penalty: float = 0.6
    count: int = 1
    min_length: int = 0
    prefix: Sequence[int] = ()
    sampling: Sampling | None = None
    rank_all: bool = False

    @property
    def width(self) -> int:
        """How many outputs of each example are kept at once.

        >>> Search(beam_size=5).width, Search(beam_size=5, count=2, sampling=Sampling(1.0, 1.0, 1)).width
        (5, 2)
        """
        return self.count if self.sampling else max(self.count, self.beam_size)


@dataclass(frozen=True)
class Output:
    """One output for an example.

    Args:
        text: in one line.
        ids: its tokens, without an end.
        score: what it is ranked by: its log-probability over the length penalty, with what else counts; of a sample its
            log-probability.
        weights: where each of its tokens and its end looked, `(target, source)`; None if not asked for or the model
            does not attend.
        tokens: the text of each token; empty if not asked for.
    """

    text: str
    ids: list[int]
    score: float
    weights: Tensor | None = None
    tokens: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the output as JSON has it."""
        rows = None if self.weights is None else [[round(weight, 6) for weight in row] for row in self.weights.tolist()]
        return {"text": self.text, "score": round(self.score, 6), "tokens": list(self.tokens), "weights": rows}


def generate(model: Any, state: Any, limits: Tensor, how: Search, names: Sequence[tuple[int, str]]) -> Hypotheses:
    """Return outputs of a batch of examples: the best, or draws.

    Args:
        model: see `saccade.tasks.generate.Autoregressive`.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have.
        how: they are found.
        names: what tells each example from others, its place and text: its draws follow from them.
    """
    shared: dict[str, Any] = {"begin": BEGIN, "end": END, "prefix": how.prefix, "min_length": how.min_length}
    if (drawn := how.sampling) is not None:
        uniforms = _uniforms(drawn.seed, names, limits, how.count)
        return sample(model, state, limits, uniforms, temperature=drawn.temperature, top_p=drawn.top_p, **shared)
    count = how.width if how.rank_all else how.count
    shared |= {"beam_size": how.width, "length_penalty": how.length_penalty}
    return search(model, state, limits, count=count, **shared)


def outputs_of(found: Hypotheses, target: Tokenizer) -> list[list[Output]]:
    """Return the outputs of each example as texts."""
    rows = zip(found.lists(), found.scores.tolist(), strict=True)
    return [
        [Output(one_line(target.decode(ids)), ids, score) for ids, score in zip(outputs, scores, strict=False)]
        for outputs, scores in rows
    ]


def best_texts(found: Sequence[Sequence[Output]]) -> list[str]:
    """Return the text of the best output of each example, "" where there is none."""
    return [outputs[0].text if outputs else "" for outputs in found]


def _uniforms(seed: int, names: Sequence[tuple[int, str]], limits: Tensor, count: int) -> Tensor:
    """The numbers that draw each token: of every output they follow from the seed, its line and its place alone."""
    found = torch.zeros(len(names), count, 1 + int(limits.max()), dtype=torch.double)
    for row, name, limit in zip(found, names, limits.tolist(), strict=True):
        for number, own in enumerate(row):
            own[: limit + 1] = torch.rand(
                limit + 1, generator=generator(seed, "sample", number, *name), dtype=torch.double
            )
    return found.to(limits.device)
