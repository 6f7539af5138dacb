"""What a corpus is: pairs of texts in three splits."""

from dataclasses import dataclass
from typing import TypeAlias

from saccade.data.dataset import Dataset

__all__ = ["Corpus", "Pair"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source text, its target, and the group it is reported under (such as its language; "" for none).

    >>> Pair("15. März 1999", "1999-03-15", "de").target
    '1999-03-15'
    """

    source: str
    target: str
    group: str


Corpus: TypeAlias = Dataset[Pair]
"""Pairs of texts in three splits."""
