"""Data sets seen otherwise: any split for training, and few training examples."""

from dataclasses import dataclass
from typing import Any

from saccade.data.dataset import spread

__all__ = ["AsTraining", "Few"]

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
