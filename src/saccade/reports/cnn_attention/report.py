"""The report `cnn-attention`: a convolutional network with self-attention and without, of as many parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import nn

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.cnn_attention.findings import WITH, WITHOUT, summary
from saccade.reports.cnn_attention.page import write_page
from saccade.reports.difference import packed
from saccade.reports.making import Design
from saccade.reports.options import Seeded
from saccade.reports.training import Part, Plan, Variant, make
from saccade.tasks.classify_image import ClassifyImage
from saccade.tasks.classify_image.data import BUILTIN, open_images
from saccade.tasks.image.batches import encode, stacked
from saccade.tasks.image.dataset import Dataset
from saccade.train.results import measure, undisturbed
from saccade.train.task import value

__all__ = ["VARIANTS", "CNNAttention", "Options"]

_AT_ONCE = 256  # images
VARIANTS: Sequence[Variant] = (Variant(WITHOUT, "cnn"), Variant(WITH, "cnn-attention", recipe="cnn-attention"))


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """What can be said about the report.

    >>> Options(data="shapes").seeds
    1
    """

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Labelled images, as `saccade train classify-image` takes them: a folder, an archive, or shapes."""


class CNNAttention:
    """Whether self-attention over a map of features is worth its parameters in a small convolutional network.

    Both networks are trained by one recipe; their parameters are equal within 2%. The difference of their accuracies
    has an error from the seeds and one from the images.

    Source:
        Bello et al. 2019, "Attention Augmented Convolutional Networks" (https://arxiv.org/abs/1904.09925).
    """

    sentence: ClassVar[str] = "a convolutional network with self-attention and without, of as many parameters"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train both networks with every seed, measure them on the test split, and write the page."""
        parts = [Part({"measured": "accuracy"}, _measured)]
        plan = Plan(lambda options: VARIANTS, lambda data, options: parts, "shapes", (), ClassifyImage, _opened)
        return make(Design("cnn-attention", write_page, summary), plan, options)


def _opened(options: Options) -> Dataset:
    data = open_images(options.data)
    if not data.size("test"):
        raise ArgumentError(f"--data: expected images in the test split of {options.data}, got none")
    return data


def _measured(task: ClassifyImage, model: nn.Module, seed: int) -> dict[str, Any]:
    """Accuracies, and which images of the test split were right: the error by images needs each of them."""
    size = task.data.size("test") or 0
    with undisturbed(model, seed, "test"):
        right = [bit for first in range(0, size, _AT_ONCE) for bit in _right(task, model, first, size)]
    validation = measure(task, model, "validation", seed)
    return {
        "images": len(right),
        "labels": len(task.known.labels),
        "accuracy": sum(right) / len(right),
        "validation": value(validation.metrics["accuracy"]),
        "right": packed(right),
    }


def _right(task: ClassifyImage, model: nn.Module, first: int, size: int) -> list[bool]:
    indices = range(first, min(first + _AT_ONCE, size))
    batch = stacked(encode(task.data, "test", task.known.labels, indices)).to(next(model.parameters()).device)
    found: list[bool] = (model(batch.images).argmax(-1) == batch.labels).tolist()
    return found
