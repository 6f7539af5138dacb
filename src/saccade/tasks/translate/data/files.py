"""Pairs out of text files, whatever their form."""

from dataclasses import dataclass

from saccade.tasks.text.files import Splits
from saccade.tasks.translate.data.corpus import Pair

__all__ = ["Files"]


@dataclass(frozen=True)
class Files(Splits):
    """A corpus that is read from files as it is asked for."""

    def example(self, split: str, index: int) -> Pair:
        """Return one pair of a split; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        return Pair(*self.row(split, index), "")
