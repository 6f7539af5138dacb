"""Matrices of subwords as matrices of words."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade._definitions.numerics import divide
from saccade.errors import ArgumentError, ShapeError

__all__ = ["merge_words"]


def merge_words(matrix: Tensor, words: Sequence[int | None]) -> Tensor:
    r"""Return a matrix of subwords as a matrix of words.

    .. math:: M_{uv} = \frac{1}{|u|} \sum_{i \in u} \sum_{j \in v} A_{ij}

    A word receives the sum of its subwords (keys, columns), and attends as the mean of them (queries, rows). Rows that
    sum to 1 still do, if each subword is part of a word.

    Args:
        matrix: A `(..., L, L)`.
        words: the number of the word of each subword, from 0 on without gaps, as of a tokenizer's `word_ids()`. None
            for a token that is no part of a word, whose row and column are left out.

    Returns:
        `(..., W, W)`.

    Raises:
        ShapeError: another shape, or another number of words' numbers.
        ArgumentError: numbers with gaps, or a matrix of integers.

    Source:
        Clark et al. 2019, "What Does BERT Look At? An Analysis of BERT's Attention", section 4.1
        (https://arxiv.org/abs/1906.04341).

    Example:
        >>> merge_words(torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.0, 0.4], [0.1, 0.1, 0.8]]), [0, 0, 1])
        tensor([[0.5500, 0.4500],
                [0.2000, 0.8000]])
    """
    if matrix.ndim < 2 or matrix.shape[-2:] != (len(words), len(words)):
        raise ShapeError(f"matrix: expected (..., {len(words)}, {len(words)}) by words, got {tuple(matrix.shape)}")
    if not matrix.is_floating_point():
        raise ArgumentError(f"matrix: expected floating-point numbers, got {matrix.dtype}. Convert it by .float()")
    numbers = {number for number in words if number is not None}
    if numbers != set(range(len(numbers))):
        raise ArgumentError(f"words: expected numbers from 0 on without gaps, got {sorted(numbers)}")
    members = torch.tensor([[word == number for word in words] for number in range(len(numbers))])
    members = members.view(len(numbers), len(words)).to(matrix)
    return divide(members, members.sum(1, keepdim=True)) @ matrix @ members.mT
