"""Interface of autoregressive models, their outputs, and prefixes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from saccade.kernels.topk import Logits, topk_log_probs
from saccade.models.seq2seq import State

__all__ = ["Autoregressive", "Begun", "Hypotheses", "State", "begun"]


S = TypeVar("S", bound=State)


class Autoregressive(Protocol[S]):
    """A model that writes one token after another."""

    def step(self, token: Tensor, state: S) -> tuple[Logits | Tensor, S]:
        """Return the logits of the next token, and the next state.

        The logits are `(rows, vocabulary)`, after tokens `(rows,)`.

        `Logits` are not laid out, unless they are needed.
        """


@dataclass(frozen=True)
class Hypotheses:
    """Some outputs of each example.

    Args:
        tokens: `(batch, n, length)`, each without its end, the rest filled with the end token.
        lengths: `(batch, n)`, number of tokens, or -1 if an example has fewer than n outputs.
        scores: `(batch, n)`, in nats, or -inf without an output.
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor

    def lists(self) -> list[list[list[int]]]:
        """Return the token ids as lists: example, output, token."""
        rows = zip(self.tokens.tolist(), self.lengths.tolist(), strict=True)
        return [[ids[:length] for ids, length in zip(*row, strict=True) if length >= 0] for row in rows]

    def after(self, prefix: Sequence[int]) -> "Hypotheses":
        """Return the outputs with a prefix in front of each.

        >>> outputs = Hypotheses(torch.tensor([[[7, 2], [2, 2]]]), torch.tensor([[1, -1]]), torch.zeros(1, 2))
        >>> outputs.after([5, 6]).lists()
        [[[5, 6, 7]]]
        """
        front = torch.tensor(prefix, dtype=self.tokens.dtype, device=self.tokens.device)
        tokens = torch.cat([front.expand(*self.tokens.shape[:2], -1), self.tokens], -1)
        return Hypotheses(tokens, torch.where(self.lengths < 0, -1, self.lengths + len(prefix)), self.scores)


@dataclass(frozen=True)
class Begun(Generic[S]):
    """Outputs after the prefix that all of them begin with.

    Args:
        state: of the batch, a row an example.
        last: `(batch,)`, the last token.
        scores: `(batch,)`, log-probability of the prefix.
        limits: `(batch,)`, the most tokens that may follow.
        written: tokens of the prefix.
    """

    state: S
    last: Tensor
    scores: Tensor
    limits: Tensor
    written: int


def begun(model: Autoregressive[S], state: S, limits: Tensor, begin: int, prefix: Sequence[int]) -> Begun[S]:
    """Write a prefix, even beyond the limits of outputs.

    Args:
        model: called once for each token of the prefix.
        state: of the batch, before the first token.
        limits: `(batch,)`, the most tokens that each output may have.
        begin: the token before the first.
        prefix: tokens.
    """
    last, scores = torch.full_like(limits, begin), torch.zeros(len(limits), device=limits.device)
    for token in prefix:
        logits, state = model.step(last, state)
        scores = scores + topk_log_probs(logits, 1, token)[2]
        last = torch.full_like(limits, token)
    return Begun(state, last, scores, (limits - len(prefix)).clamp(min=0), len(prefix))
