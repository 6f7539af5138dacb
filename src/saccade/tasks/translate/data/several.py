"""The built-in corpus of long sources: one date, two or three in a row, each in a language of its own.

    2019年2月15日; mercredi 18 juin 2025  ->  2019-02-15 2025-06-18

A single date says the same however long it is written. Here a longer source says more, which is what a model without
attention has to hold in one vector. The dates are those of `saccade.tasks.translate.data.dates`, split as there.
"""

from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.dates import Dates
from saccade.train.randomness import derive

__all__ = ["COUNTS", "SeveralDates"]

COUNTS = {"1": "1 date", "2": "2 dates", "3": "3 dates"}
_ENDLESS = 2**40  # far more examples than any training sees
_BLOCK = 60  # held-out dates in which every language and form comes once


class SeveralDates:
    """Rows of one to three dates; the group of a pair is how many it has.

    Training is endless; validation and test hold 2,000 rows each, a third of them of each number of dates.

    Example:
        >>> SeveralDates().example("test", 0).target.count(" ")
        0
        >>> SeveralDates().example("test", 120).target.count(" ")
        2
    """

    note = ""

    def __init__(self) -> None:
        self._dates = Dates()

    def example(self, split: str, index: int) -> Pair:
        """Return example number `index` of a split: always the same one.

        Args:
            split: "train", "validation" or "test".
            index: from 0 on; below `size(split)` where that is a number.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        size = self.size(split)
        count = 1 + (index // _BLOCK if size else derive(0, split, index)) % len(COUNTS)
        others = (derive(0, split, index, place) % (size or _ENDLESS) for place in range(1, count))
        dates = [self._dates.example(split, number) for number in (index, *others)]
        return Pair("; ".join(date.source for date in dates), " ".join(date.target for date in dates), str(count))

    def size(self, split: str) -> int | None:
        """Return the number of examples in a split, None where it is endless.

        Raises:
            ArgumentError: if there is no such split.
        """
        return self._dates.size(split)

    @property
    def fingerprint(self) -> str:
        """What the examples are made of, in one string."""
        return f"one to {len(COUNTS)} of {self._dates.fingerprint}"
