"""Questions about images as a batch takes them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.generative import Answers
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.texts import seen_together
from saccade.tasks.labels.answers import ClassAnswers

__all__ = ["Batch", "Encoded", "stacked"]


class Encoded(NamedTuple):
    """An image `(3, height, width)`, uint8, or its features, the ids of a question's words, and how probable each
    answer should be.
    """

    seen: Tensor | Features | None
    """The same for all questions about an image; None where a store has features of it, read as a batch is made."""
    ids: list[int]
    wanted: Mapping[str, float]
    name: str = ""
    """Of the image, by which questions about one image are known; "" where it is an image of its own."""
    size: int = 1
    """Each takes as much of a batch as any other."""
    order: int = 0


class Batch(NamedTuple):
    """Images, padded questions, and how probable each answer should be, `(batch, answers)`, or the answers' words.

    An image that several questions are about is there once.
    """

    visual: Visual
    question: Padded
    wanted: Tensor | Answers

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.visual.to(device), self.question.to(device), self.wanted.to(device))


def stacked(
    found: Sequence[Encoded],
    output: ClassAnswers | WrittenAnswers,
    store: FeatureStore | None = None,
    *,
    shifted: int = 0,
    seed: int = 0,
    step: int = 0,
) -> Batch:
    """Make a batch.

    Args:
        found: the questions.
        output: how answers are given.
        store: of features, by the names of images, of questions that come without them.
        shifted: pixels by which each image is shifted at random, at most; features are taken as they are.
        seed, step: what that is drawn from.

    Example:
        >>> one = Encoded(torch.full((3, 8, 8), 255, dtype=torch.uint8), [7, 8], {"yes": 1.0}, name="a.png")
        >>> batch = stacked([one, one._replace(ids=[9])], ClassAnswers(("no", "yes", "2")))
        >>> batch.visual.values.shape, batch.visual.about.tolist(), batch.question.lengths.tolist()
        (torch.Size([1, 3, 8, 8]), [0, 0], [2, 1])
        >>> batch.wanted[0].tolist()
        [0.0, 1.0, 0.0]
    """
    seen = seen_together(found, store, seed, step, shifted=shifted)
    lengths = torch.tensor([len(one.ids) for one in found])
    wanted = output.wanted([one.wanted for one in found])
    return Batch(seen, Padded(rectangle([one.ids for one in found]), lengths), wanted)
