"""Outputs of a batch of inputs, searched or sampled, and answers that list them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.tasks.answered import Answered
from saccade.tasks.generate.beam import search
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.generate.sampling import sample
from saccade.tasks.text.special import BEGIN, END
from saccade.tasks.text.tokenizer import Tokenizer, one_line
from saccade.train.randomness import generator

__all__ = ["Output", "Sampling", "Search", "Written", "best_texts", "generate", "outputs_of"]


@dataclass(frozen=True)
class Sampling:
    """Options of sampling.

    Args:
        temperature, top_p: see `saccade.tasks.generate.sampling.draw`.
        seed: of the samples.
    """

    temperature: float
    top_p: float
    seed: int


@dataclass(frozen=True)
class Search:
    """Options of a search, or of sampling.

    Args:
        beam_size: outputs kept at once.
        length_penalty: see `saccade.tasks.generate.search`.
        count: number of outputs of each example.
        min_length: the fewest tokens of an output.
        prefix: tokens that every output begins with.
        sampling: options of sampling, or None for a search.
        rank_all: whether all outputs that are kept are returned, to be ranked again.
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
        """Number of outputs of each example in memory at once.

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
        score: for ranking: the log-probability over the length penalty, and other scores. Of a sample it is the
            log-probability. Probabilities are those among the tokens that may follow (`writable`).
        weights: attention weights of its tokens and its end, `(target, source)`, if they are read and there are any.
        tokens: the text of each token and a mark for the end, if they are read.
    """

    text: str
    ids: list[int]
    score: float
    weights: Tensor | None = None
    tokens: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the output for JSON."""
        rows = None if self.weights is None else [[round(weight, 6) for weight in row] for row in self.weights.tolist()]
        return {"text": self.text, "score": round(self.score, 6), "tokens": list(self.tokens), "weights": rows}


class Written(Answered):
    """An answer of texts; a dataclass adds their input.

    Example:
        >>> @dataclass(frozen=True, repr=False)
        ... class Spoken(Written):
        ...     outputs: Sequence[Output]
        ...     count: int
        >>> Spoken([Output("a", [4], 0.0)], 2).lines()
        ['a', '']
    """

    outputs: Sequence[Output]
    """The best texts, or samples."""

    count: int
    """Number of lines."""

    def lines(self) -> list[str]:
        """Return `count` texts, blank ones if there are fewer."""
        return [*(output.text for output in self.outputs[: self.count]), *[""] * (self.count - len(self.outputs))]


def generate(model: Any, state: Any, limits: Tensor, how: Search, names: Sequence[tuple[int, str]]) -> Hypotheses:
    """Return outputs of a batch of examples, the best or samples.

    Args:
        model: see `saccade.tasks.generate.Autoregressive`.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have.
        how: the search.
        names: number and name of each example, which its samples follow from.
    """
    shared: dict[str, Any] = {"begin": BEGIN, "end": END, "prefix": how.prefix, "min_length": how.min_length}
    if (drawn := how.sampling) is not None:
        uniforms = _uniforms(drawn.seed, names, limits, how.count)
        return sample(model, state, limits, uniforms, temperature=drawn.temperature, top_p=drawn.top_p, **shared)
    count = how.width if how.rank_all else how.count
    shared |= {"beam_size": how.width, "length_penalty": how.length_penalty}
    return search(model, state, limits, count=count, **shared)


def outputs_of(hypotheses: Hypotheses, target: Tokenizer) -> list[list[Output]]:
    """Return the outputs of each example as texts."""
    rows = zip(hypotheses.lists(), hypotheses.scores.tolist(), strict=True)
    return [
        [Output(one_line(target.decode(ids)), ids, score) for ids, score in zip(outputs, scores, strict=False)]
        for outputs, scores in rows
    ]


def best_texts(rows: Sequence[Sequence[Output]]) -> list[str]:
    """Return the text of the best output of each example, "" without one."""
    return [outputs[0].text if outputs else "" for outputs in rows]


def _uniforms(seed: int, names: Sequence[tuple[int, str]], limits: Tensor, count: int) -> Tensor:
    """Return random numbers of tokens by seed, name and number of the sample."""
    uniforms = torch.zeros(len(names), count, 1 + int(limits.max()), dtype=torch.double)
    for row, name, limit in zip(uniforms, names, limits.tolist(), strict=True):
        for number, sample_row in enumerate(row):
            draws = generator(seed, "sample", number, *name)
            sample_row[: limit + 1] = torch.rand(limit + 1, generator=draws, dtype=torch.double)
    return uniforms.to(limits.device)
