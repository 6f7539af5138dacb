"""Built-in data with long sources: one to three dates in different languages.

    2019年2月15日; mercredi 18 juin 2025  ->  2019-02-15 2025-06-18

Here a longer source has more information. A model without attention has to encode all of it in one vector.
"""

from saccade.data.generated import Generated
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.dates import Dates
from saccade.train.randomness import derive

__all__ = ["COUNTS", "SeveralDates"]

COUNTS = {"1": "1 date", "2": "2 dates", "3": "3 dates"}
_ENDLESS = 2**40  # far more examples than any training sees
_BLOCK = 60  # held-out dates in which every language and form comes once


class SeveralDates(Generated[Pair]):
    """Rows of one to three of `Dates`, with the same splits.

    The group of a pair is the number of its dates.

    Example:
        >>> [SeveralDates().example("test", index).target.count(" ") for index in (0, 120)]
        [0, 2]
    """

    def make(self, split: str, index: int) -> Pair:
        size = self.size(split)
        count = 1 + (index // _BLOCK if size else derive(0, split, index)) % len(COUNTS)
        others = (derive(0, split, index, position) % (size or _ENDLESS) for position in range(1, count))
        dates = [Dates().example(split, number) for number in (index, *others)]
        return Pair("; ".join(date.source for date in dates), " ".join(date.target for date in dates), str(count))

    @property
    def held_out(self) -> int:
        return Dates().held_out

    @property
    def fingerprint(self) -> str:
        return f"one to {len(COUNTS)} of {Dates().fingerprint}"
