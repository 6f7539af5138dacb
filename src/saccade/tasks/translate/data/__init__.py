"""Which corpora there are, and what they are called on the command line."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from saccade.data import Blank, Column, Examples, Row, load
from saccade.data.dataset import no_such_data
from saccade.data.layouts.aligned import aligned
from saccade.data.layouts.tmx import tmx
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.data.dates import LANGUAGES, Dates
from saccade.tasks.translate.data.several import COUNTS, SeveralDates
from saccade.tasks.translate.data.trees import LENGTHS, Trees

__all__ = ["BUILTIN", "group_names", "open_corpus"]

BUILTIN = {
    "dates": "dates in 20 languages, translated to ISO 8601 (2025-06-18); generated on the fly by Babel",
    "several-dates": "one to three dates in a row, each in another language; generated on the fly",
    "trees": "sentences of a small English grammar, translated to their syntax trees; generated on the fly",
}


def open_corpus(
    data: str,
    source: str | None = None,
    target: str | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
) -> Corpus:
    """Return the corpus that --data names: a built-in one, a folder of aligned files, a file of pairs, or tables.

    Args:
        data: a key of `BUILTIN`, or the path of a folder or file.
        source: the side to translate from: in a folder what its files end in, of parquet the column; of a file of
            pairs, the first column, its language, which decides nothing here.
        target: the side to translate to.
        objects: the pairs themselves, where `data` says that they are Python objects.
        names: what splits are called.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("dates").size("test")
        2000
    """
    names = names or SplitNames()
    if data in BUILTIN:
        return _builtin(data, source, target, names)
    if source and target and source.lower() == target.lower():
        raise ArgumentError(f"--target: expected another side than --source, got {target} for both")
    columns = [Column(name, (*filter(None, [side]), name)) for name, side in (("source", source), ("target", target))]
    layouts = [partial(layout, source=source, target=target) for layout in (tmx, aligned)]
    rows = load(
        data, columns, names, objects, layouts=layouts, nested="translation", blank=_BLANK, what="pairs", more=True
    )
    if rows is None:
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Examples(rows, lambda row: Pair(**row, group=""))


_HOLDS = "files of both sides such as train.de and train.en, or tables such as train.tsv (.csv, .jsonl, .parquet)"
_BLANK = Blank[Row](lambda row: not (row["source"] and row["target"]), "pairs, which have a blank side", ("train",))
_BUILTIN: Mapping[str, Callable[[], Corpus]] = {"dates": Dates, "several-dates": SeveralDates, "trees": Trees}


def _builtin(data: str, source: str | None, target: str | None, names: SplitNames) -> Corpus:
    names.refuse(data)
    for option, side in (("--source", source), ("--target", target)):
        if side is not None:
            raise ArgumentError(f"{option}: expected none, as {data} says what its sides are; leave {side} out")
    return _BUILTIN[data]()


def group_names(data: str) -> Mapping[str, str] | None:
    """Return what the groups of a built-in corpus are called, None of other corpora, whose pairs carry none."""
    return {"dates": LANGUAGES, "several-dates": COUNTS, "trees": LENGTHS}.get(data)
