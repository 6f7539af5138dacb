"""Pairs of texts as token ids, and a batch of them in rectangles."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.data.cleaning import WIDEST
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.text.special import BEGIN, END
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.tasks.translate.data.corpus import Pair

__all__ = ["Batch", "Encoded", "encode", "encode_fitting", "pad"]


class Encoded(NamedTuple):
    """The token ids of one pair, without begin and end."""

    source: list[int]
    target: list[int]

    @property
    def size(self) -> int:
        """The tokens it takes: its longer side, the end included."""
        return 1 + max(len(self.source), len(self.target))

    @property
    def order(self) -> tuple[int, int]:
        """What pairs are sorted by: their size, then that of the source."""
        return self.size, len(self.source)


def encode(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer) -> list[Encoded]:
    """Return the token ids of pairs."""
    sources = source.encode_batch([pair.source for pair in pairs])
    return list(map(Encoded, sources, target.encode_batch([pair.target for pair in pairs])))


def encode_fitting(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, longest: int) -> list[Encoded]:
    """Return the token ids of the pairs of which both sides have at most `longest` tokens.

    A side of more than 64 characters a token counts as longer, and is not cut into tokens.
    """
    short = [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= WIDEST * longest]
    return [pair for pair in encode(short, source, target) if pair.size <= longest + 1]


class Batch(NamedTuple):
    """Padded token ids.

    Args:
        source: ids `(batch, source_length)`, each sentence with its end, and the lengths, ends included.
        target: `(batch, target_length)`, each with its begin and its end.
    """

    source: Padded
    target: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.target.to(device))


def pad(pairs: Sequence[Encoded]) -> Batch:
    """Make a batch of pairs.

    >>> pad([Encoded([7, 8], [9]), Encoded([7], [9, 9])]).target
    tensor([[1, 9, 2, 0],
            [1, 9, 9, 2]])
    """
    sources = [[*pair.source, END] for pair in pairs]
    targets = [[BEGIN, *pair.target, END] for pair in pairs]
    return Batch(Padded(rectangle(sources), torch.tensor(list(map(len, sources)))), rectangle(targets))
