"""Views of data: any split for training, few training examples, data of a run."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.data.dataset import Lazy, spread
from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError

__all__ = ["AsTraining", "Few", "at_their_place"]

_COUNT = 2000  # training examples, enough to time steps


@dataclass(frozen=True)
class AsTraining:
    """Data with any split as the training split.

    Examples of training have their targets as tensors.
    """

    data: Any
    split: str

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.data, name)
        if not callable(value):
            return value
        return lambda *arguments: value(*(self.split if item == "train" else item for item in arguments))


@dataclass(frozen=True)
class Few:
    """Data with a few of their training examples, spread over them."""

    data: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def size(self, split: str) -> int | None:
        """Return the number of examples of a split."""
        size: int | None = self.data.size(split)
        return size if size is None or split != "train" else len(spread(size, _COUNT))

    def example(self, split: str, index: int) -> Any:
        """Return one example of a split."""
        size = self.data.size(split)
        return self.data.example(split, index if size is None or split != "train" else spread(size, _COUNT)[index])


def at_their_place(data: Lazy[Any], options: Any, builtin: Collection[str]) -> Lazy[Any]:
    """Return the data of a run. An error for missing data has path and way out."""

    def opened() -> Any:
        try:
            return data.get()
        except ArgumentError as error:
            if options.data in (OBJECTS, *builtin) or Path(options.data).exists():
                raise
            got = "got nothing there; give --data NEWPATH if they were moved"
            raise ArgumentError(f"--data: expected the data of this run at {options.data}, {got}") from error

    return Lazy(opened)
