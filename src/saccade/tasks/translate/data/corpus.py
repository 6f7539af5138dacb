"""Pairs of texts."""

from dataclasses import dataclass
from typing import TypeAlias

from saccade.data.dataset import Dataset

__all__ = ["Corpus", "Pair"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source text, its target, and its group in reports, such as a language, or "".

    >>> Pair("15. März 1999", "1999-03-15", "de").target
    '1999-03-15'
    """

    source: str
    target: str
    group: str


Corpus: TypeAlias = Dataset[Pair]
