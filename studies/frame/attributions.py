"""Scores of inputs by all attributions of a subject, and by depth."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from saccade.look import attribute
from saccade.tasks.explaining import METHODS, Subject

__all__ = ["ATTENTION", "BLANKED", "FLOW", "METHODS", "NAMES", "ROLLOUT", "by_depth", "of_some", "scores_of"]

ATTENTION, ROLLOUT, FLOW, BLANKED = "attention", "rollout", "flow", "blank-out"
NAMES = {"gradient": "gradient-weighted attention", "integrated-gradients": "integrated gradients"}
"""Methods whose option is not their name."""


def scores_of(subject: Subject, methods: Sequence[str], missing: Tensor) -> dict[str, Tensor]:
    """Return scores of tokens for each output, `(outputs, tokens)` by the name of a method, and of blank-out.

    Blank-out is the fall of an output's probability if the vector `missing` replaces a token's.
    """
    scores = {NAMES.get(by, by): subject.scores(by).values for by in methods}  # type: ignore[arg-type]
    outputs = torch.arange(len(subject.outputs))
    copies = subject.inputs.expand(len(outputs), *subject.inputs.shape)
    erased = attribute.ablation(probabilities(subject), copies, target=outputs, baseline=missing)
    return {**scores, BLANKED: erased}


def probabilities(subject: Subject) -> Callable[[Tensor], Tensor]:
    """Return the probability of each output as a function of copies of the inputs."""
    return lambda copies: subject.log_probs(copies).exp()


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
    """Return raw attention, rollout and flow from a read of each layer's output to the words.

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
