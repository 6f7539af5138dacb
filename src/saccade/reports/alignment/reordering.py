"""How far weights are from the diagonal, and which words of a target are written in another order than the source's."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Block", "blocks", "by_words", "crossed", "diagonal", "off_diagonal"]


class Block(NamedTuple):
    """Neighbours of a target that are written in the order that is the reverse of the source's.

    Args:
        target: the words, by their places.
        source: where the largest weight of each of them is.
        sure: the least of the weights on these.
    """

    target: range
    source: tuple[int, ...]
    sure: float


def diagonal(weights: Tensor) -> Tensor:
    """Return where the source would be read for each target word if both ran at an even pace, `(target,)`.

    >>> diagonal(torch.zeros(3, 6)).tolist()
    [0.5, 2.5, 4.5]
    """
    target, source = weights.shape
    return (torch.arange(target, dtype=torch.float64) + 0.5) * (source / target) - 0.5


def off_diagonal(weights: Tensor, margin: float = 1.0) -> Tensor:
    """Return the share of each row that is farther from the diagonal than a number of source words, `(target,)`.

    Args:
        weights: `(target, source)`, at least 0.
        margin: how many source words.

    Example:
        >>> off_diagonal(torch.eye(4)).tolist(), off_diagonal(torch.eye(4).flip(0)).tolist()
        ([0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0])
    """
    distances = (torch.arange(weights.shape[1], dtype=torch.float64) - diagonal(weights)[:, None]).abs()
    far = torch.where(distances > margin, weights.double(), 0.0).sum(-1)
    total = weights.double().sum(-1)
    return torch.where(total > 0, far / total, 0.0)


def crossed(most: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of target words of which the first has its largest weight behind that of the second.

    Args:
        most: where the largest weight of each is.

    Example:
        >>> crossed([0, 3, 2, 1, 4])
        [(1, 2), (1, 3), (2, 3)]
    """
    return [(i, j) for i in range(len(most)) for j in range(i + 1, len(most)) if most[i] > most[j]]


def blocks(weights: Tensor) -> list[Block]:
    """Return the runs of neighbouring target words each of which has its largest weight before that of the last.

    Args:
        weights: `(target, source)`, at least 0.

    Example:
        >>> [(block.target, block.source) for block in blocks(torch.eye(5)[[0, 3, 2, 1, 4]])]
        [(range(1, 4), (3, 2, 1))]
    """
    largest = weights.max(-1)
    most: list[int] = largest.indices.tolist()
    return [
        Block(run, tuple(most[place] for place in run), float(largest.values[list(run)].min())) for run in _runs(most)
    ]


def _runs(most: Sequence[int]) -> Iterator[range]:
    """Runs of two or more that fall."""
    start = 0
    for end in range(1, len(most) + 1):
        if end == len(most) or most[end] >= most[end - 1]:
            if end - start > 1:
                yield range(start, end)
            start = end


def by_words(weights: Tensor, source: Sequence[str], target: Sequence[str]) -> tuple[Tensor, list[str], list[str]]:
    """Return weights of words out of those of pieces: sums over what a source word is of, means over a target word's.

    A word begins with each piece that begins with a space, as byte pairs have them.

    Args:
        weights: `(target, source)`.
        source: its pieces.
        target: its pieces.

    Example:
        >>> weights, source, target = by_words(torch.eye(3), ["the", " c", "at"], ["le", " ch", "at"])
        >>> weights.tolist(), source, target
        ([[1.0, 0.0], [0.0, 1.0]], ['the', 'cat'], ['le', 'chat'])
    """
    columns, rows = _numbers(source), _numbers(target)
    into = _members(columns).to(weights)
    onto = _members(rows).to(weights)
    found = (onto / onto.sum(0)).T @ weights @ into
    return found, _joined(source, columns), _joined(target, rows)


def _members(numbers: Sequence[int]) -> Tensor:
    """Which word each piece is of, `(pieces, words)`."""
    return torch.tensor(numbers)[:, None] == torch.arange(numbers[-1] + 1)


def _numbers(pieces: Sequence[str]) -> list[int]:
    """The number of the word that each piece is of."""
    number, found = -1, list[int]()
    for piece in pieces:
        number += number < 0 or piece.startswith(" ")
        found.append(number)
    return found


def _joined(pieces: Sequence[str], numbers: Sequence[int]) -> list[str]:
    words = [""] * (numbers[-1] + 1)
    for number, piece in zip(numbers, pieces, strict=True):
        words[number] += piece
    return [word.strip() for word in words]
