"""Scores of inputs by all attributions of a subject, and by depth."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.look import attribute
from saccade.tasks.explaining import Subject
from saccade.tasks.looking import By

__all__ = ["ATTENTION", "BLANKED", "FLOW", "ROLLOUT", "blanked", "blanked_cells", "by_depth", "of_some", "scores_of"]

ATTENTION, ROLLOUT, FLOW, BLANKED = "attention", "rollout", "flow", "blank-out"
NAMES = {"gradient": "gradient-weighted attention", "integrated-gradients": "integrated gradients"}
"""Names of methods that differ from their option."""


def scores_of(subject: Subject, methods: Sequence[By]) -> dict[str, Tensor]:
    """Return scores by method, `(outputs, tokens)` or `(outputs, rows, columns)`."""
    return {NAMES.get(by, by): subject.scores(by).values for by in methods}


def blanked(subject: Subject, missing: Tensor) -> Tensor:
    """Return the fall of each output's probability without a token.

    A vector replaces that of the token. The result is `(outputs, tokens)`.
    """
    return _erased(subject, subject.inputs[None], missing, lambda copies: copies)


def blanked_cells(subject: Subject) -> Tensor:
    """Return falls of probabilities with a black cell, `(outputs, cells)`."""
    assert subject.cells is not None, "the model has cells in rows and columns"
    size = tuple(subject.inputs.shape[1:])
    side = (size[0] // subject.cells[0], size[1] // subject.cells[1])
    cells = F.unfold(subject.inputs[None], side, stride=side).mT
    return _erased(subject, cells, 0.0, lambda copies: F.fold(copies.mT, size, side, stride=side))


def _erased(subject: Subject, parts: Tensor, missing: Tensor | float, whole: Callable[[Tensor], Tensor]) -> Tensor:
    outputs = torch.arange(len(subject.outputs))
    copies = parts.expand(len(outputs), *parts.shape[1:])
    return attribute.ablation(
        lambda left: subject.log_probs(whole(left)).exp(), copies, target=outputs, baseline=missing
    )


def of_some(subject: Subject, outputs: Sequence[int]) -> Subject:
    """Return a subject with some of its outputs alone."""
    rows = torch.tensor(outputs)
    return replace(
        subject,
        features=lambda copies: subject.features(copies)[:, rows],
        targets=subject.targets[rows],
        outputs=tuple(subject.outputs[row] for row in outputs),
        attended=None if subject.attended is None else subject.attended[rows],
        readers=None if subject.readers is None else subject.readers[rows],
    )


def by_depth(layers: Sequence[Tensor], read: Tensor) -> dict[str, list[Tensor]]:
    """Return raw attention, rollout and flow from a read of each layer to the words.

    Args:
        layers: weights of self-attention, `(1, heads, length, length)`, first layer first.
        read: weights of the read, `(length,)`. It has no residual connection.

    Returns:
        By name a vector `(length,)` for each layer.

    Example:
        >>> layer = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
        >>> depths = by_depth([layer], torch.tensor([0.0, 1.0]))
        >>> depths["attention"], depths["rollout"], depths["flow"]
        ([tensor([1., 0.])], [tensor([0.5000, 0.5000])], [tensor([0.5000, 0.5000])])
    """
    mixed = [attribute.rollout([layer])[:, None] for layer in layers]
    top = read.expand(1, 1, len(read), -1)
    depths: dict[str, list[Tensor]] = {ATTENTION: [read @ layer[0].mean(0) for layer in layers], ROLLOUT: [], FLOW: []}
    for depth in range(1, 1 + len(layers)):
        depths[ROLLOUT].append(read @ attribute.rollout(layers[:depth])[0])
        depths[FLOW].append(attribute.flow([*mixed[:depth], top], residual=0.0, rows=[0])[0, 0])
    return depths
