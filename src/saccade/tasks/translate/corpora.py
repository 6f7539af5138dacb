"""Which corpora there are, and what they are called on the command line."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.translate.corpus import Corpus
from saccade.tasks.translate.dates import LANGUAGES, Dates
from saccade.tasks.translate.folder import open_folder
from saccade.tasks.translate.several import COUNTS, SeveralDates
from saccade.tasks.translate.table import open_table

__all__ = ["BUILTIN", "group_names", "open_corpus"]

BUILTIN = {
    "dates": "dates as 20 languages write them, to ISO 8601 (2025-06-18); endless, made by Babel",
    "several-dates": "one to three dates in a row, each in a language of its own: what is longer says more",
}


def open_corpus(data: str, source: str | None = None, target: str | None = None) -> Corpus:
    """Return the corpus that --data names: a built-in one, a folder of aligned files, or a file of pairs.

    Args:
        data: a key of `BUILTIN`, or the path of a folder or file.
        source: the side to translate from: in a folder what its files end in; of a file of pairs, the first column, its
            language, which decides nothing here.
        target: the side to translate to.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("dates").size("test")
        2000
    """
    path = Path(data)
    if data not in BUILTIN and path.is_dir():
        return open_folder(path, source, target)
    for option, side in (("--source", source), ("--target", target)):
        if side is not None and data in BUILTIN:
            raise ArgumentError(f"{option}: expected none, as {data} says what its sides are; leave {side} out")
    if data == "dates":
        return Dates()
    if data == "several-dates":
        return SeveralDates()
    if path.is_file():
        return open_table(path)
    near = difflib.get_close_matches(data, BUILTIN, 1)
    hint = f"did you mean {near[0]}?" if near else f"built in: {', '.join(BUILTIN)}"
    raise ArgumentError(f"--data: no data set {data}, and no folder or file; {hint}")


def group_names(data: str) -> Mapping[str, str]:
    """Return what the groups of a corpus are called where they have longer names than the pairs carry."""
    return {"dates": LANGUAGES, "several-dates": COUNTS}.get(data, {})
