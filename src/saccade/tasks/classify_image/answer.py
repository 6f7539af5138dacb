"""What a model makes of an image, and what of the image decided it."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from saccade.tasks.classify_image.options import LookRequest
from saccade.tasks.image.dataset import pixels
from saccade.tasks.image.images import read_image
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.train.task import Form, Unreadable

__all__ = ["ImageAnswer", "Pixels", "answers", "image_of"]


class Pixels(NamedTuple):
    """An image to classify: its name, and `(channels, height, width)`, uint8."""

    name: str
    image: Tensor


@dataclass(frozen=True)
class ImageAnswer:
    """What a model makes of one image.

    Args:
        image: the image.
        ranking: its classes; None if it could not be read.
        count: how many classes were asked for.
    """

    image: Pixels | Unreadable
    ranking: Ranking | None
    count: int

    remark = ""

    def lines(self) -> list[str]:
        """Return the most probable classes, each with a tab and its probability; blank lines where there is none."""
        return [""] * self.count if self.ranking is None else self.ranking.lines(self.count)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Return the image's name, its most probable classes and the probabilities of all."""
        name = self.image.line if isinstance(self.image, Unreadable) else self.image.name
        told = {"answers": [], "probabilities": {}} if self.ranking is None else self.ranking.to_json(self.count)
        return {"file": name, **told}

    def draw(self, folder: Path) -> Iterator[Path]:
        """Draw what decided the answer over the image."""
        raise NotImplementedError


def image_of(line: str, shape: tuple[int, int, int]) -> Pixels:
    """Read a file, "-" being standard input, as an image of some channels, height and width.

    Raises:
        ArgumentError: naming the file, if it is no image.
    """
    name: str = "standard input" if line == "-" else line
    source: Any = sys.stdin.buffer if line == "-" else Path(line)
    return Pixels(line, read_image(source, name, channels=shape[0], size=shape[1:]))


def answers(
    model: Any,
    images: Sequence[Pixels | Unreadable],
    labels: tuple[str, ...],
    count: int,
    form: Form,
    look: LookRequest,
) -> list[ImageAnswer]:
    """Return what a model makes of each image.

    Args:
        model: a classifier, in evaluation mode.
        images: the images.
        labels: of the run.
        count: how many classes are wanted.
        form: what the answers will be written as.
        look: what is drawn.
    """
    device, found = next(model.parameters()).device, []
    for image in images:
        if isinstance(image, Unreadable):
            found.append(ImageAnswer(image, None, count))
            continue
        logits = model(pixels(image.image)[None].to(device))[0]
        found.append(ImageAnswer(image, Ranking(labels, probabilities(logits)), count))
    return found
