"""Which corpora there are, and what they are called on the command line."""

import difflib
from collections.abc import Mapping

from saccade.errors import ArgumentError
from saccade.tasks.translate.corpus import Corpus
from saccade.tasks.translate.dates import LANGUAGES, Dates

__all__ = ["BUILTIN", "group_names", "open_corpus"]

BUILTIN = {"dates": "dates as 20 languages write them, to ISO 8601 (2025-06-18); endless, made by Babel"}


def open_corpus(data: str) -> Corpus:
    """Return the corpus that --data names.

    Raises:
        ArgumentError: if there is none.

    Example:
        >>> open_corpus("dates").size("test")
        2000
    """
    if data == "dates":
        return Dates()
    near = difflib.get_close_matches(data, BUILTIN, 1)
    hint = f"did you mean {near[0]}?" if near else f"built in: {', '.join(BUILTIN)}"
    raise ArgumentError(f"--data: no data set {data}; {hint}")


def group_names(data: str) -> Mapping[str, str]:
    """Return what the groups of a corpus are called where they have longer names than the pairs carry."""
    return LANGUAGES if data == "dates" else {}
