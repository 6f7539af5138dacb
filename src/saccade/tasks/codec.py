"""Interface of codecs: from examples to tensors."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from torch import nn

from saccade.train.task import Example

__all__ = ["Codec"]


class Codec(Protocol):
    """From examples to tensors: learned from a training split, and saved.

    For evaluations on other data it may have two more methods: `opening() -> dict`, options to open them with, and
    `adapted(data)`, which returns them as this codec reads them.
    """

    @property
    def options(self) -> Any:
        """Options of the run."""

    @classmethod
    def fit(cls, data: Any, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn from the training split, and return notes for the user too."""

    def save(self, folder: Path) -> None:
        """Write what `restore` reads."""

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read the codec of a run."""

    def encode(self, examples: Sequence[Any], split: str) -> list[Any]:
        """Return a sample (`tasks.batches.Sized`) of each example."""

    def collate(self, samples: Sequence[Any], step: int | None = None) -> Any:
        """Return a batch with `to(device)`, augmented if there is a training step."""

    def build(self, model: Any) -> nn.Module:
        """Return a freshly initialized model of a class."""

    def show(self, example: Any, name: str) -> Example:
        """Return an example for people."""

    def read(self, line: str, number: int) -> Any:
        """Return line `number` of the inputs for `Predictor.answer`."""

    @property
    def parts(self) -> Mapping[str, tuple[object, str]]:
        """Parts that members of an ensemble share by name, each with a description."""
