"""Greedy and beam search over any autoregressive model: a batch at a time, without Python for each example.

A model is searched through two things alone: its state, an explicit value that `select` reorders, and `step`, which
takes the last token of every row and the state to the logits of the next token and the next state.
"""

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

__all__ = ["Autoregressive", "Hypotheses", "State", "search"]


class State(Protocol):
    """What a model carries from one token to the next, for a batch of rows."""

    def select(self, batch_index: Tensor) -> Self:
        """Return the state of the rows `batch_index` `(rows,)`, in that order; a row may come several times."""


S = TypeVar("S", bound=State)


class Autoregressive(Protocol[S]):
    """A model that writes one token after another."""

    def step(self, token: Tensor, state: S) -> tuple[Tensor, S]:
        """Return the logits of the next token `(rows, vocabulary)` and the next state, after the tokens `(rows,)`."""


@dataclass(frozen=True)
class Hypotheses:
    """The best outputs of each example, best first.

    Args:
        tokens: `(batch, n, length)`, each without its end, the rest filled with the end token.
        lengths: `(batch, n)`, how many tokens each has; -1 where an example has fewer than n outputs.
        scores: `(batch, n)`, log-probabilities over length penalty; -inf where there is no output.
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor

    def lists(self) -> list[list[list[int]]]:
        """Return the token ids as lists: example, output, token."""
        rows = zip(self.tokens.tolist(), self.lengths.tolist(), strict=True)
        return [[ids[:length] for ids, length in zip(*row, strict=True) if length >= 0] for row in rows]


def search(
    model: Autoregressive[S],
    state: S,
    limits: Tensor,
    *,
    begin: int,
    end: int,
    beam_size: int = 1,
    length_penalty: float = 0.6,
) -> Hypotheses:
    r"""Find the most probable outputs by beam search; a beam of 1 is greedy decoding.

    Each example keeps its `beam_size` best unfinished outputs. One that ends while among them is finished, and the
    search of an example is over when `beam_size` are, or at its limit, where every output is made to end. What one
    example comes to does not depend on the others in the batch. Finished outputs are ranked by

    .. math:: \log p(y) \Big/ \left(\frac{5 + |y|}{6}\right)^\alpha

    Args:
        model: called once for each position.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have, its end not counted.
        begin: the token before the first.
        end: the token that ends an output.
        beam_size: how many outputs are pursued, and returned.
        length_penalty: \(\alpha\) above; 0 ranks by probability alone, which favours short outputs.

    Returns:
        The `beam_size` best outputs of each example.

    Source:
        Wu et al. 2016, "Google's Neural Machine Translation System", Eq. 14 (without coverage).
    """
    beams = _Beams.start(limits, begin, end, beam_size)
    if beam_size > 1:
        state = state.select(torch.arange(len(limits), device=limits.device).repeat_interleave(beam_size))
    for length in range(int(limits.max()) + 1):
        logits, state = model.step(beams.last.flatten(), state)
        parents = beams.advance(logits, length, length_penalty)
        if bool(beams.done.all()):
            break
        if beam_size > 1:
            state = state.select(beams.rows(parents))
    return Hypotheses(beams.ended, beams.ended_lengths, beams.ended_scores)


@dataclass
class _Beams:
    """The outputs under way and those that have ended; all tensors begin with (batch, beam)."""

    limits: Tensor
    end: int
    last: Tensor  # the last token of each
    paths: Tensor  # (batch, beam, longest), filled with the end token
    scores: Tensor
    ended: Tensor
    ended_lengths: Tensor
    ended_scores: Tensor
    count: Tensor  # (batch,), how many have ended

    @classmethod
    def start(cls, limits: Tensor, begin: int, end: int, size: int) -> "_Beams":
        shape, longest = (len(limits), size), int(limits.max())
        impossible = torch.full(shape, float("-inf"), device=limits.device)
        first = impossible.clone()
        first[:, 0] = 0.0  # all beams are alike in the beginning: only one of them counts
        paths = limits.new_full((*shape, longest), end)
        lengths = limits.new_full(shape, -1)
        last, count = limits.new_full(shape, begin), limits.new_zeros(len(limits))
        return cls(limits, end, last, paths, first, paths, lengths, impossible, count)

    @property
    def size(self) -> int:
        return self.last.shape[1]

    @property
    def done(self) -> Tensor:
        found: Tensor = self.count >= self.size
        return found

    def rows(self, parents: Tensor) -> Tensor:
        """The rows of the model's batch that beams `parents` of each example are at."""
        first = torch.arange(len(parents), device=parents.device) * self.size
        return (first[:, None] + parents).flatten()

    def advance(self, logits: Tensor, length: int, length_penalty: float) -> Tensor:
        """Take one more token each; returns which beam each new one continues."""
        size, words = self.size, logits.shape[-1]
        gains = logits.float().log_softmax(-1).view(-1, size, words)
        final = (self.limits <= length)[:, None, None]
        others = torch.arange(words, device=logits.device) != self.end
        totals = self.scores[..., None] + gains.masked_fill(final & others, float("-inf"))
        scores, places = totals.flatten(1).topk(2 * size)  # at most one end a beam: half of them go on
        parents, tokens = places // words, places % words
        self._finish(scores[:, :size], parents[:, :size], tokens[:, :size], length, length_penalty)
        self.scores, kept = scores.masked_fill(tokens == self.end, float("-inf")).topk(size)
        self.last, parents = tokens.gather(1, kept), parents.gather(1, kept)
        self.paths = self.paths.gather(1, parents[..., None].expand_as(self.paths)).clone()
        if length < self.paths.shape[-1]:
            self.paths[..., length] = self.last
        return parents

    def _finish(self, scores: Tensor, parents: Tensor, tokens: Tensor, length: int, length_penalty: float) -> None:
        """Rank those that end here among those that have ended, in the examples whose search goes on."""
        ends = (tokens == self.end) & ~self.done[:, None] & scores.isfinite()
        penalty = ((6 + length) / 6) ** length_penalty  # the end counts as a token
        ranked = (scores / penalty).masked_fill(~ends, float("-inf"))
        paths = self.paths.gather(1, parents[..., None].expand_as(self.paths))
        lengths = torch.where(ends, length, -1)
        self.ended_scores, best = torch.cat([self.ended_scores, ranked], 1).topk(self.size)
        self.ended = torch.cat([self.ended, paths], 1).gather(1, best[..., None].expand_as(self.paths))
        self.ended_lengths = torch.cat([self.ended_lengths, lengths], 1).gather(1, best)
        self.count = torch.where((self.limits <= length) | self.done, self.size, self.count + ends.sum(1))
