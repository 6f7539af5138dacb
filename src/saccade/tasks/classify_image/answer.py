"""What a model makes of an image, and what of the image decided it."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.look import record
from saccade.look.files import file_name
from saccade.look.gradients import grad_cam, saliency
from saccade.look.overlays import overlays
from saccade.numerics import divide
from saccade.tasks.classify_image.options import LookRequest
from saccade.tasks.image.dataset import pixels
from saccade.tasks.image.images import read_image
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.train.task import Form, Unreadable

__all__ = ["ImageAnswer", "Maps", "Pixels", "answers", "attends", "image_of", "maps_of"]


class Maps(NamedTuple):
    """What is drawn over an image: `(panels, rows, columns)`, a caption each, and the positions that attend."""

    by: str
    maps: Tensor
    captions: list[str]
    marks: list[tuple[int, int] | None]
    title: str


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
        maps: what is drawn over it; None where no picture is wanted.
    """

    image: Pixels | Unreadable
    ranking: Ranking | None
    count: int
    maps: "Maps | None" = None

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
        """Draw the maps over the image."""
        if self.maps is None or self.ranking is None or isinstance(self.image, Unreadable):
            return
        name = "image" if self.image.name == "-" else Path(self.image.name).stem
        title, path = f"{self.ranking.title}: {self.maps.title}", folder / f"{file_name(name)}-{self.maps.by}"
        yield from overlays(
            self.image.image, self.maps.maps, path, captions=self.maps.captions, marks=self.maps.marks, title=title
        )


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
        batch = pixels(image.image)[None].to(device)
        ranking = Ranking(labels, probabilities(model(batch)[0]))
        maps = maps_of(model, batch, ranking, look) if form == "pictures" else None
        found.append(ImageAnswer(image, ranking, count, maps))
    return found


def attends(model: Any) -> bool:
    """Whether positions of a model's maps of features attend to each other."""
    return hasattr(model, "attention_shape")


def maps_of(model: Any, image: Tensor, ranking: Ranking, look: LookRequest) -> Maps:
    """Return what is drawn over an image: see `LookRequest`.

    Args:
        model: a classifier, in evaluation mode.
        image: `(1, channels, height, width)` in [0, 1].
        ranking: what the model makes of it.
        look: what is wanted.
    """
    by = look.by or ("attention" if attends(model) else "gradient")
    if by == "attention":
        return _attention(model, image)
    label = ranking.best if look.label is None else ranking.labels.index(look.label)
    asked = torch.tensor([label])
    with torch.inference_mode(mode=False):  # a tensor that was made in it has no gradient
        leaf = image.clone()
        if by == "gradient":
            found, told = saliency(model, leaf, asked), "how much each pixel moves it"
        else:
            found, told = grad_cam(model, leaf, asked, model.last_layer), "where its last features speak for it"
    scaled = divide(found, found.amax()).cpu()
    return Maps(by, scaled, [ranking.labels[label]], [None], f"{told} ({by}), the most as 1")


def _attention(model: Any, image: Tensor) -> Maps:
    """What chosen positions attend to, over the mean of the heads, and what all of them do."""
    with record(model, detach=True) as records:
        shape = model.attention_shape(image)
    weights = records[-1][1].weights
    assert weights is not None
    rows, columns = shape
    mean = weights.mean(1)[0].cpu().unflatten(1, shape)
    places = [(row, column) for row in _thirds(rows) for column in _thirds(columns)]
    chosen = torch.stack([mean[row * columns + column] for row, column in places])
    maps = torch.cat([mean.mean(0, keepdim=True), chosen]) * rows * columns
    captions = ["all positions", *(f"row {row + 1}, column {column + 1}" for row, column in places)]
    return Maps("attention", maps, captions, [None, *places], "what positions attend to, in shares of an even one")


def _thirds(count: int) -> list[int]:
    """A place in the first and one in the last third of a side."""
    return sorted({count // 6, count - 1 - count // 6})
