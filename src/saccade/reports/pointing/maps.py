"""What is said to matter of an image's cells: by a model's weights, by its gradients, and by who knows the scene."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.auxiliary import AuxRequest
from saccade.look import saliency
from saccade.models.answerer import Reads
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded

__all__ = ["covered", "gradients", "weighed"]


def weighed(model: Any, visual: Visual, question: Padded, shape: tuple[int, int]) -> Tensor:
    """Return how much a model that attends weighs each cell, in the mean of all its reads, `(batch, rows, columns)`.

    Of one that reads a single cell these are the probabilities that it is chosen by, not the cell that is.

    Args:
        model: in evaluation mode.
        visual, question: of a batch.
        shape: rows and columns of cells.
    """
    reads = Reads(AuxRequest(weights=True))
    model.answers(visual, question, 1, reads)
    found: Tensor = torch.cat(reads.weights, 1).detach().mean(1).unflatten(-1, shape).cpu()
    return found


def gradients(model: Any, visual: Visual, question: Padded, first: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return how much the pixels of each cell move the logit of an answer, in the mean, `(batch, rows, columns)`.

    Args:
        model: in evaluation mode.
        visual, question: of a batch.
        first: the number of the answer, `(batch,)`.
        shape: rows and columns of cells.

    Source:
        `saccade.look.saliency`.
    """
    with torch.inference_mode(mode=False):  # whoever measures asks for no gradients
        asked, wanted = Padded(question.values.clone(), question.lengths.clone()), first.clone()
        pixels = saliency(lambda images: model(Visual(images), asked), visual.values.clone(), wanted)
    return F.adaptive_avg_pool2d(pixels, shape).cpu()


def covered(boxes: Sequence[Sequence[float]], shape: tuple[int, int], size: tuple[int, int]) -> Tensor:
    """Return the share of each cell that boxes which do not overlap cover, `(rows, columns)`.

    Args:
        boxes: left, top, right and bottom of each in pixels, the last two exclusive.
        shape: rows and columns of cells.
        size: height and width of the image in pixels.

    Example:
        >>> covered([(0, 0, 6, 4)], (2, 2), (8, 8))
        tensor([[1.0000, 0.5000],
                [0.0000, 0.0000]])
    """
    found = torch.zeros(shape)
    for left, top, right, bottom in boxes:
        down, across = _overlap(top, bottom, shape[0], size[0]), _overlap(left, right, shape[1], size[1])
        found += down[:, None] * across
    return found


def _overlap(first: float, last: float, count: int, size: int) -> Tensor:
    """The share of each of so many equal parts of a length that lies between two places."""
    edges = torch.arange(count + 1) * size / count
    return (edges[1:].clamp(max=last) - edges[:-1].clamp(min=first)).clamp(min=0) * count / size
