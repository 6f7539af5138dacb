"""Maps of the evidence for a class: attention, gradients and Grad-CAM."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.numerics import divide
from saccade.errors import ArgumentError
from saccade.look import grad_cam, overlays, record, saliency
from saccade.look._files import file_name
from saccade.tasks.image.images import Pixels
from saccade.tasks.labels.ranking import Ranking

__all__ = ["LookRequest", "Maps", "attends", "draw_maps", "maps_of"]


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of maps over an image.

    >>> LookRequest(by="grad-cam").label is None
    True
    """

    by: Literal["attention", "gradient", "grad-cam"] | None = None
    """Method: attention weights of some positions (attention),
    gradients of the class by each pixel (gradient), or Grad-CAM of the last features (grad-cam).
    Default: attention, or gradient for a model without it."""

    label: str | None = None
    """Class of the gradients. Default: the most probable one."""

    def check(self, model: Any, labels: tuple[str, ...]) -> None:
        """Reject an unknown class, and attention of a model without it."""
        if self.label is not None and self.label not in labels:
            raise ArgumentError(f"--label: expected one of {', '.join(labels):.200}, got {self.label}")
        if self.label is not None and self.by not in ("gradient", "grad-cam"):
            raise ArgumentError("--label: expected only with --by gradient or grad-cam")
        if self.by == "attention" and not attends(model):
            raise ArgumentError("--by: expected gradient or grad-cam of a model that does not attend, got attention")


class Maps(NamedTuple):
    """Maps over an image, with a caption each, and marked positions.

    Maps are `(panels, rows, columns)`. `even` is the value of each cell in a uniform map, 0 if maps are no shares.
    """

    by: str
    maps: Tensor
    captions: list[str]
    marks: list[tuple[int, int] | None]
    title: str
    even: float = 0.0


def attends(model: Any) -> bool:
    """Whether positions of a model's maps of features attend to each other."""
    return hasattr(model, "attention_shape")


def maps_of(model: Any, image: Tensor, ranking: Ranking, look: LookRequest) -> Maps:
    """Return the maps of an image by a classifier in evaluation mode.

    The image is `(1, channels, height, width)` in [0, 1].
    """
    by = look.by or ("attention" if attends(model) else "gradient")
    if by == "attention":
        return _attention(model, image)
    label = ranking.best if look.label is None else ranking.labels.index(look.label)
    target = torch.tensor([label])
    if by == "gradient":
        values, meaning = saliency(model, image, target), "how much each pixel moves it"
    else:
        values, meaning = grad_cam(model, image, target, model.last_layer), "where its last features speak for it"
    scaled = divide(values, values.amax()).cpu()
    return Maps(by, scaled, [ranking.labels[label]], [None], f"{meaning} ({by}), the most as 1")


def draw_maps(image: Pixels, title: str, maps: Maps, folder: Path, *, json: bool) -> list[Path]:
    """Draw maps over an image, and return the files."""
    name = "image" if image.name == "-" else Path(image.name).stem
    return overlays(
        image.image,
        maps.maps,
        folder / f"{file_name(name)}-{maps.by}",
        captions=maps.captions,
        marks=maps.marks,
        title=f"{title}: {maps.title}",
        scale="share of the largest" if not maps.even else "times an even share",
        even=maps.even,
        json=json,
    )


def _attention(model: Any, image: Tensor) -> Maps:
    """Attention of four positions, the mean of the heads."""
    with record(model, detach=True) as records:
        shape = model.attention_shape(image)
    weights = records[-1][1].weights
    assert weights is not None
    rows, columns = shape
    mean = weights.mean(1)[0].cpu().unflatten(1, shape)
    down, across = (sorted({count // 6, count - 1 - count // 6}) for count in shape)  # in the outer thirds
    positions = [(row, column) for row in down for column in across]
    chosen = torch.stack([mean[row * columns + column] for row, column in positions])
    captions = [f"row {row + 1}, column {column + 1}" for row, column in positions]
    meaning = "what four positions attend to, in times of an even share"
    return Maps("attention", chosen * rows * columns, captions, [*positions], meaning, even=1.0)
