"""Images with captions as a batch takes them."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.image_encoder import Visual
from saccade.tasks.batches import rectangle
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.texts import seen_together
from saccade.tasks.text.special import BEGIN, END

__all__ = ["Batch", "Encoded", "pad"]


class Encoded(NamedTuple):
    """An image `(channels, height, width)`, uint8, or its features, and the ids of a caption, without begin and end."""

    seen: Tensor | Features | None
    """The same for all captions of an image; None where a store has features of it, read as a batch is made."""
    ids: list[int]
    name: str = ""
    """Of the image, by which captions of one image are known; "" where it is an image of its own."""
    size: int = 1
    """Each takes as much of a batch as any other."""

    order: int = 0
    """They are not sorted by length: images of long captions show more, and batch normalization would learn from
    batches of such alone what it never meets again."""


class Batch(NamedTuple):
    """Images, and their captions `(batch, length)`, each with its begin and its end.

    An image of several captions is there once.
    """

    source: Visual
    target: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.target.to(device))


def pad(
    found: Sequence[Encoded],
    store: FeatureStore | None = None,
    seed: int = 0,
    step: int = 0,
    *,
    mirrored: bool = False,
    shifted: int = 0,
) -> Batch:
    """Make a batch, of images that are mirrored and shifted at random, by draws of a seed and a step.

    All captions of an image are of what it is mirrored and shifted to.

    Features are taken as they are.

    >>> image = torch.zeros(1, 2, 2, dtype=torch.uint8)
    >>> pad([Encoded(image, [7, 8]), Encoded(image, [9])]).target
    tensor([[1, 7, 8, 2],
            [1, 9, 2, 0]])
    """
    source = seen_together(found, store, seed, step, mirrored=mirrored, shifted=shifted)
    return Batch(source, rectangle([[BEGIN, *one.ids, END] for one in found]))
