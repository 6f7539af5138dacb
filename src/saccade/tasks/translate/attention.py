"""What a translator attends to as it writes outputs that are given, and how much of the source they cover."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.tasks.batches import by_length
from saccade.tasks.translate.batches import Encoded, pad

__all__ = ["attends", "coverage", "weights_of"]

_TOKENS = 4000  # of pairs, padding included, read at once: all logits of their outputs are in memory
_LEAST = 1e-6  # attention that counts as none: weights that are exactly 0 would make all outputs alike


def weights_of(model: Any, pairs: Sequence[Encoded]) -> list[Tensor | None]:
    """Return where each token of each target and its end look, `(target, source)` on the CPU, ends included.

    None if the model does not attend.
    """
    from saccade import look

    found: list[Tensor | None] = [None] * len(pairs)
    device = next(model.parameters()).device
    for places in by_length([pair.size for pair in pairs], _TOKENS):
        batch = pad([pairs[place] for place in places]).to(device)
        with look.record(model, detach=True) as records:
            model(batch.source, batch.lengths, batch.target[:, :-1])
        if (recorded := model.alignment(records)) is None:
            break
        for place, weights in zip(places, recorded.cpu(), strict=True):
            source, target = pairs[place]
            rest = max(0, len(source) + 1 - weights.shape[1])  # what a model never looks at
            found[place] = F.pad(weights, (0, rest))[: len(target) + 1, : len(source) + 1]
    return found


def attends(model: Any) -> bool:
    """Whether a model attends to what it translates, found out on a source of its end alone."""
    with torch.inference_mode():
        return weights_of(model, [Encoded([], [])]) != [None]


def coverage(weights: Tensor) -> float:
    r"""Return how much of a source an output has read: 0 if all of it, the less the more was left out.

    .. math:: \sum_i \log \min\Big(\sum_j p_{ij},\ 1\Big)

    over the tokens i of the source, its end left out, and all tokens j that were written, the end among them. A token
    that got less than a millionth counts as if it had got that.

    Args:
        weights: p, `(target, source)`, ends included.

    Example:
        >>> round(coverage(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])), 4)  # log 1 + log 0.5
        -0.6931

    Source:
        Wu et al. 2016, "Google's Neural Machine Translation System", Eq. 14, without its β.
    """
    return float(weights[:, :-1].double().sum(0).clamp(_LEAST, 1.0).log().sum())
