"""Greedy decoding and beam search of batches, for autoregressive models."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.kernels.topk import Logits, topk_log_probs
from saccade.tasks.generate.model import Autoregressive, Begun, Hypotheses, S, begun

__all__ = ["search"]

_FAR = 1e30  # penalties beyond it, or below its inverse, and scores by them are no numbers of float32


def search(
    model: Autoregressive[S],
    state: S,
    limits: Tensor,
    *,
    begin: int,
    end: int,
    beam_size: int = 1,
    length_penalty: float = 0.6,
    count: int | None = None,
    min_length: int = 0,
    prefix: Sequence[int] = (),
) -> Hypotheses:
    r"""Find the most probable outputs by beam search; a beam of 1 is greedy decoding.

    Each example keeps its `beam_size` best unfinished outputs. An output that ends while among them is finished. The
    search of an example is over when `beam_size` outputs are finished, when no unfinished output can rank among the
    `count` best any more, or at its limit, at which every output ends. Its rows are then dropped from the batch. The
    outputs of an example do not depend on other examples. Finished outputs are ranked by

    .. math:: \log p(y) \Big/ \left(\frac{5 + |y|}{6}\right)^\alpha

    and equal ones stay in the order in which they ended.

    Args:
        model: called once for each position.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have, its end not counted.
        begin: the token before the first.
        end: the token that ends an output.
        beam_size: number of outputs that are kept.
        length_penalty: \(\alpha\) above; 0 ranks by probability alone, which favours short outputs.
        count: number of outputs to return. Default: all that are kept.
        min_length: the fewest tokens of an output, if its limit allows so many.
        prefix: tokens that every output begins with, even beyond its limit. They count in its length and its score.

    Returns:
        The `count` best outputs of each example, best first, with the scores that rank them.

    Source:
        Wu et al. 2016, "Google's Neural Machine Translation System", Eq. 14 (without coverage).
    """
    count = beam_size if count is None else min(count, beam_size)
    start = begun(model, state, limits, begin, prefix)
    state, beams = start.state, _Beams.start(start, end, beam_size, count, length_penalty, min_length)
    if beam_size > 1:
        state = state.select(beams.examples[:, None].expand(-1, beam_size), None)
    for length in range(beams.longest + 1):
        logits, state = model.step(beams.last.flatten(), state)
        parents = beams.advance(logits, length)
        left = len(parents) - int(beams.done.sum())  # the one place where the host waits for the device
        if not left:
            break
        if beam_size > 1 or left < len(parents):
            # Rows are copied as soon as any is to be dropped: that costs far less than one more step of these rows.
            state = state.select(*beams.keep(parents, left))
    outputs = _best(beams.moves, len(limits), count, end)
    return outputs.after(prefix) if prefix else outputs


class _Move(NamedTuple):
    """Tokens added at a position, `(examples, beam)`, for unfinished examples."""

    examples: Tensor  # (examples,), which of the batch they are
    tokens: Tensor
    parents: Tensor  # which beam of the position before each token continues
    ended: Tensor  # scores of the outputs that end here, else -inf
    origins: Tensor  # which beam of the position before they end


@dataclass
class _Beams:
    """Unfinished outputs `(examples, beam)` of unfinished examples."""

    end: int
    count: int
    least: int  # no limit is below it
    longest: int  # nor any above this
    shortest: int  # before so many tokens no output may end
    penalties: Tensor  # by length
    examples: Tensor  # (examples,), which of the batch they are
    limits: Tensor
    last: Tensor  # the last token of each
    scores: Tensor
    leaders: Tensor  # scores of the best that have ended
    done: Tensor  # (examples,)
    moves: list[_Move] = field(default_factory=list)

    @classmethod
    def start(cls, begun: Begun[S], end: int, size: int, count: int, alpha: float, min_length: int) -> "_Beams":
        batch, device, shortest = len(begun.limits), begun.limits.device, min_length - begun.written
        least, longest = (int(limit) for limit in begun.limits.aminmax())
        lengths = range(begun.written, begun.written + longest + 1)
        by_length = [((6 + length) / 6) ** alpha for length in lengths]
        wide = not _FAR**-1 < min(by_length) <= max(by_length) < _FAR
        penalties = torch.tensor(by_length, device=device, dtype=torch.float64 if wide else torch.float32)
        leaders = torch.full((batch, size), float("-inf"), device=device)
        scores = leaders.clone()
        scores[:, 0] = begun.scores  # all beams are alike in the beginning: only one of them counts
        last, done = begun.last[:, None].expand(-1, size), torch.zeros(batch, dtype=torch.bool, device=device)
        return cls(
            end=end,
            count=count,
            least=least,
            longest=longest,
            shortest=shortest,
            penalties=penalties,
            examples=torch.arange(batch, device=device),
            limits=begun.limits,
            last=last,
            scores=scores,
            leaders=leaders,
            done=done,
        )

    @property
    def size(self) -> int:
        return self.last.shape[1]

    def advance(self, logits: Logits | Tensor, length: int) -> Tensor:
        """Add a token to each output, and return the beam that each new output continues."""
        totals, words = self._candidates(logits, length)
        totals, order = totals.flatten(1).sort(descending=True, stable=True)  # equal ones stay in their order
        totals, order = totals[:, : 2 * self.size], order[:, : 2 * self.size]  # at most one end a beam: half go on
        parents, tokens = order // words.shape[-1], words.flatten(1).gather(1, order)
        ends = tokens == self.end
        ended = self._finish(totals[:, : self.size], ends[:, : self.size], length)
        origins = parents[:, : self.size]
        self.scores, kept = totals.masked_fill(ends, float("-inf")).sort(descending=True, stable=True)
        self.scores, kept = self.scores[:, : self.size], kept[:, : self.size]
        self.last, parents = tokens.gather(1, kept), parents.gather(1, kept)
        self.moves.append(_Move(self.examples, self.last, parents, ended, origins))
        self.done = self._over(length)
        return parents

    def _candidates(self, logits: Logits | Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Scores and tokens of continuations `(examples, beam, n)`, the best among them."""
        # Of one beam at most `size` outputs go on, and one ends; where there is one beam, its best does either.
        barred = length < self.shortest
        width = 1 if self.size == 1 and not barred else min(self.size + 1, _vocabulary(logits))
        *top, ends = topk_log_probs(logits, width, self.end)
        best, words = (part.view(-1, self.size, width) for part in top)
        if barred:
            best = best.masked_fill(words == self.end, float("-inf"))
        if length >= self.least:
            final = (self.limits <= length)[:, None, None]
            ending = torch.full_like(best, float("-inf"))
            ending[..., 0] = ends.view(-1, self.size)
            best, words = torch.where(final, ending, best), torch.where(final, self.end, words)
        return self.scores[..., None] + best, words

    def _finish(self, scores: Tensor, ends: Tensor, length: int) -> Tensor:
        """Scores of the outputs that end at this position."""
        ends = ends & ~self.done[:, None]
        ranked = scores.to(self.penalties) / self.penalties[length]  # the end counts as a token
        ranked = ranked.masked_fill(~ends, float("-inf"))
        self.leaders = torch.cat([self.leaders, ranked], 1).topk(self.size).values
        return ranked

    def _over(self, length: int) -> Tensor:
        """Return whether the search of each example is over."""
        over = self.done | (self.leaders[:, -1] > float("-inf"))
        if length >= self.least:
            over = over | (self.limits <= length)
        if self.count < self.size:
            # Probabilities only fall: no unfinished output can come to a better score than with the largest penalty.
            highest = torch.maximum(self.penalties[self.limits], self.penalties[min(length + 1, self.longest)])
            over = over | (self.leaders[:, self.count - 1] >= self.scores[:, 0] / highest)
        return over

    def keep(self, parents: Tensor, left: int) -> tuple[Tensor, Tensor | None]:
        """Drop finished examples, and return the arguments of `State.select`."""
        rows = torch.arange(len(parents), device=parents.device)[:, None] * self.size + parents
        if left == len(parents):
            return rows, None
        going = self.done.byte().argsort(stable=True)[:left]
        for name in ("examples", "limits", "last", "scores", "leaders", "done"):
            setattr(self, name, getattr(self, name)[going])
        return rows[going], going


def _vocabulary(logits: Logits | Tensor) -> int:
    return len(logits.weight) if isinstance(logits, Logits) else logits.shape[-1]


def _best(moves: list[_Move], batch: int, count: int, end: int) -> Hypotheses:
    """Return the `count` best outputs of each example, read from last to first."""
    size, device = moves[0].tokens.shape[1], moves[0].tokens.device
    ended, origins = _all(moves, "ended", batch, float("-inf")), _all(moves, "origins", batch, 0)
    tokens, parents = _all(moves, "tokens", batch, end), _all(moves, "parents", batch, 0)
    scores, ranks = ended.movedim(1, 0).flatten(1).sort(descending=True, stable=True)
    scores, ranks = scores[:, :count], ranks[:, :count]
    lengths = torch.where(scores.isfinite(), ranks // size, -1)
    beams = origins.movedim(1, 0).flatten(1).gather(1, ranks)
    outputs = torch.full((*lengths.shape, max(0, int(lengths.max()))), end, device=device)
    for position in reversed(range(outputs.shape[-1])):
        inside = position < lengths
        outputs[..., position] = torch.where(inside, tokens[position].gather(1, beams), end)
        beams = torch.where(inside, parents[position].gather(1, beams), beams)
    return Hypotheses(outputs, lengths, scores)


def _all(moves: list[_Move], name: str, batch: int, blank: float) -> Tensor:
    """Return a part of all moves, `(position, batch, beam)`."""
    parts = [getattr(move, name) for move in moves]
    whole: Tensor = parts[0].new_full((len(moves), batch, parts[0].shape[1]), blank)
    for position, (move, part) in enumerate(zip(moves, parts, strict=True)):
        whole[position, move.examples] = part
    return whole
