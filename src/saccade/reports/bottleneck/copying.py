"""Copying sequences through one vector, or through attention to all that was read: the models, and what they copy."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.models.positions import waves
from saccade.nn import Attention
from saccade.reports.direct import Budget, fit, size
from saccade.train.randomness import generator, seeded

__all__ = ["ATTENTION", "LENGTHS", "SYMBOLS", "VECTOR", "Copier", "copied", "drawn"]

ATTENTION, VECTOR = "attention", "one vector"
LENGTHS = (10, 20, 50, 100, 200, 500, 1000)
SYMBOLS = 10
"""Tokens are these many, drawn evenly and independently: a sequence of n carries n log2(10) bits."""
_TOKENS, _MOST = 8000, 32  # of a batch, and its sequences at most
_TESTED, _FEWEST = 2000, 20  # tokens of the test of each length, and its sequences at least
_RATE = 3e-3


class Copier(nn.Module):
    r"""A GRU that reads, and one that begins with its last state and writes.

    .. math::
        h_s = \mathrm{GRU}(E x_s + p_s, h_{s-1}) \qquad
        g_t = \mathrm{GRU}(p_t, g_{t-1}), \; g_0 = h_n \qquad
        y_t = \mathrm{MLP}(p_t + g_t, c_t)

    Through one vector \(c_t = h_n\), which the writing GRU reads at every step besides; with attention \(c_t\) is what
    \(p_t + g_t\) attends to of all \((h_s, E x_s + p_s)\). Positions p are sinusoidal. The writer is not told what it
    has written: tokens are independent, so that it would know nothing more, and a slip would put it out of place.

    Args:
        width: d, features of states and embeddings, even.
        attends: whether it attends.

    Source:
        Cho et al. 2014 for one vector (https://arxiv.org/abs/1406.1078); Bahdanau, Cho, Bengio 2015 and Luong, Pham,
        Manning 2015 for attention; Vaswani et al. 2017, section 3.5, for positions.

    Example:
        >>> Copier(8, attends=True)(torch.zeros(2, 5, dtype=torch.int64)).shape
        torch.Size([2, 5, 10])
    """

    def __init__(self, width: int, *, attends: bool) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(SYMBOLS, width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.writer = nn.GRU(width if attends else 2 * width, width, batch_first=True)
        read = 2 * width if attends else width
        self.attention = Attention(width, read, hidden_dim=width, score="dot") if attends else None
        self.output = nn.Sequential(nn.Linear(width + read, width), nn.ReLU(), nn.Linear(width, SYMBOLS))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of every token that it writes, `(batch, length, 10)`.

        Args:
            tokens: `(batch, length)`.
        """
        places = waves(torch.arange(tokens.shape[1], device=tokens.device), self.width).expand(len(tokens), -1, -1)
        embedded = self.embedding(tokens) + places
        states, last = self.reader(embedded)
        if self.attention is None:
            vector = last[0][:, None].expand_as(places)
            written, context = places + self.writer(torch.cat([places, vector], -1), last)[0], vector
        else:
            written = places + self.writer(places, last)[0]
            context = self.attention(written, torch.cat([states, embedded], -1))
        found: Tensor = self.output(torch.cat([written, context], -1))
        return found


def drawn(lengths: tuple[int, ...], step: int, seed: int) -> Tensor:
    """Return the sequences of a training step: of one length, drawn so that all lengths come to as many tokens.

    >>> drawn((10, 100), 0, 1).shape
    torch.Size([32, 10])
    """
    numbers = generator(seed, "copy", step)
    counts = [_sequences(length) for length in lengths]
    chances = torch.tensor([1 / (length * count) for length, count in zip(lengths, counts, strict=True)])
    place = int(torch.multinomial(chances, 1, generator=numbers))
    return torch.randint(SYMBOLS, (counts[place], lengths[place]), generator=numbers)


def _sequences(length: int) -> int:
    return max(1, min(_MOST, _TOKENS // length))


def copied(
    model: str, width: int, lengths: tuple[int, ...], seed: int, budget: Budget, device: torch.device
) -> dict[str, Any]:
    """Train a model on all lengths, and return what it copies of each.

    Args:
        model: `ATTENTION` or `VECTOR`.
        width: of its states: numbers of the vector.
        lengths: of training and test.
        seed: of weights, training and test; the sequences are the same for both models.
        budget: of the training.
        device: where.
    """
    with seeded(seed, "copy"):
        copier = Copier(width, attends=model == ATTENTION).to(device)

    def loss(step: int) -> Tensor:
        tokens = drawn(lengths, step, seed).to(device)
        return F.cross_entropy(copier(tokens).flatten(0, 1), tokens.flatten())

    spent = fit(copier, loss, budget, _RATE)
    found = {str(length): _tested(copier, length, seed, device) for length in lengths}
    return {"lengths": found, "parameters": size(copier), **vars(spent)}


@torch.no_grad()
def _tested(copier: Copier, length: int, seed: int, device: torch.device) -> dict[str, float]:
    r"""The share of tokens that are right, and the bits of a sequence that have come through at the least.

    .. math:: I(x; c) \ge \sum_t I(x_t; c) \ge n \log_2 10 + \mathbb E \sum_t \log_2 p(x_t \mid c)

    of independent tokens x and of all c that the writer reads.
    """
    count = max(_FEWEST, _TESTED // length)
    tokens = torch.randint(SYMBOLS, (count, length), generator=generator(seed, "test", length)).to(device)
    logits = copier(tokens)
    right = float((logits.argmax(-1) == tokens).double().mean())
    surprise = float(F.cross_entropy(logits.flatten(0, 1), tokens.flatten()))
    bits = length * (math.log2(SYMBOLS) - surprise / math.log(2))
    return {"sequences": count, "right": right, "bits": round(bits, 4)}
