"""Maps of the evidence for a class: attention, gradients and Grad-CAM."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade._definitions.numerics import divide
from saccade.errors import ArgumentError
from saccade.look import overlays, record
from saccade.look._files import file_name
from saccade.tasks.ensembles import check_drawn
from saccade.tasks.explaining import Subject
from saccade.tasks.image.dataset import pixels
from saccade.tasks.image.images import Pixels
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.looking import By, check_by

__all__ = ["LookRequest", "Maps", "attends", "draw_maps", "maps_of", "methods_of", "subject", "subjects"]


_OF_CLASSES = ("gradient", "grad-cam", "integrated-gradients")
_MEANINGS = {
    "gradient": "how much each pixel moves it",
    "grad-cam": "where its last features speak for it",
    "integrated-gradients": "what each pixel adds to it",
}


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of maps over an image.

    >>> LookRequest(by="grad-cam").label is None
    True
    """

    by: By | None = None
    """Method of the maps: attention weights of some positions, gradients by pixels,
    Grad-CAM of the last features, or integrated gradients of pixels.
    Default: attention, or gradient for a model without it."""

    label: str | None = None
    """Class of the gradients. Default: the most probable one."""

    faithful: bool = False
    """Measure how far the class depends on the pixels with the highest scores."""

    def check(self, model: Any, labels: tuple[str, ...], methods: Sequence[str] | None = None) -> None:
        """Reject an unknown class, and methods that a model does not have."""
        if self.label is not None and self.label not in labels:
            raise ArgumentError(f"--label: expected one of {', '.join(labels):.200}, got {self.label}")
        if self.label is not None and self.by not in _OF_CLASSES:
            raise ArgumentError(f"--label: expected only with --by {', '.join(_OF_CLASSES[:-1])} or {_OF_CLASSES[-1]}")
        methods = methods_of(model) if methods is None else methods
        check_drawn(model, self.by, methods)
        check_by(self.by, methods)


def methods_of(model: Any) -> list[str]:
    """Return the names of the methods of a classifier of images."""
    if hasattr(model, "members"):
        return ["gradient", "integrated-gradients"]
    layer = ["grad-cam"] * (layer_of(model) is not None)
    return [*["attention"] * attends(model), "gradient", *layer, "integrated-gradients"]


def layer_of(model: Any) -> nn.Module | None:
    """Return the module of the last map of features, if a model has one."""
    name = getattr(model, "last_layer", None)
    module: nn.Module | None = getattr(model, "conv", None) if name is None else model.get_submodule(name)
    return module


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
        maps = _attention(model, image)
        if not look.faithful:
            return maps
        scores = subject(model, image, ranking.labels, ranking.best).scores("attention", faithfulness=True)
        return maps._replace(title=f"{maps.title}; mean over all positions: {scores.remark}")
    label = ranking.best if look.label is None else ranking.labels.index(look.label)
    scores = subject(model, image, ranking.labels, label).scores(by, faithfulness=look.faithful)
    values, name = scores.values, ranking.labels[label]
    captions = [name]
    if by == "integrated-gradients":
        values, captions = torch.cat([values.relu(), (-values).relu()]), [f"for {name}", f"against {name}"]
    title = f"{_MEANINGS[by]} ({by}), the most as 1"
    title = f"{title}; {scores.remark}" if scores.remark else title
    return Maps(by, divide(values, values.amax()), captions, [None] * len(captions), title)


def subject(model: Any, image: Tensor, labels: Sequence[str], label: int) -> Subject:
    """Return an image `(1, channels, height, width)` in [0, 1] and one of its classes."""
    with torch.inference_mode(mode=False):
        inputs = image[0].clone()
    shape = inputs.shape

    @torch.no_grad()
    def probability(units: Tensor) -> Tensor:
        return probabilities(model(units.mT.unflatten(2, shape[1:])))[:, label].to(units.device)

    weights, cells = _weights(model, image) if attends(model) else (None, None)
    return Subject(
        model=model,
        inputs=inputs,
        features=lambda copies: model(copies)[:, None],
        output=None,
        targets=torch.tensor([label]),
        tokens=(),
        outputs=(labels[label],),
        cells=cells,
        score="logit",
        attended=None if weights is None else weights.mean(0, keepdim=True),
        layer=layer_of(model),
        missing=inputs.mean((1, 2)),
        units=inputs.flatten(1).mT[None],
        probability=probability,
    )


def subjects(model: Any, inputs: Sequence[Pixels], labels: tuple[str, ...], look: LookRequest) -> list[Subject]:
    """Return images, each with a class: the most probable one or the requested one."""

    def of_image(item: Pixels) -> Subject:
        image = pixels(item.image)[None].to(next(model.parameters()).device)
        label = int(model(image)[0].argmax()) if look.label is None else labels.index(look.label)
        return subject(model, image, labels, label)

    return list(map(of_image, inputs))


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


def _weights(model: Any, image: Tensor) -> tuple[Tensor, tuple[int, int]]:
    """Attention of all positions, the mean of the heads, and their rows and columns."""
    with record(model, detach=True) as records:
        shape = model.attention_shape(image)
    weights = records[-1][1].weights
    assert weights is not None
    return weights.mean(1)[0], shape


def _attention(model: Any, image: Tensor) -> Maps:
    """Attention of four positions, the mean of the heads."""
    weights, shape = _weights(model, image)
    rows, columns = shape
    mean = weights.cpu().unflatten(1, shape)
    down, across = (sorted({count // 6, count - 1 - count // 6}) for count in shape)  # in the outer thirds
    positions = [(row, column) for row in down for column in across]
    chosen = torch.stack([mean[row * columns + column] for row, column in positions])
    captions = [f"row {row + 1}, column {column + 1}" for row, column in positions]
    meaning = "what four positions attend to, in times of an even share"
    return Maps("attention", chosen * rows * columns, captions, [*positions], meaning, even=1.0)
