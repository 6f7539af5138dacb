"""Deciding inputs of built-in data: characters of dates, words of reviews."""

import datetime
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.classify_text.data.reviews import BAD, GOOD, NEGATIONS, TURNS
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.dates import FORMS, LANGUAGES, write

__all__ = ["deciding", "deciding_words", "fields"]

_NAMES = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday"}
#: The field of each character of 2025-06-18.
_WRITTEN = ("year",) * 4 + ("",) + ("month",) * 2 + ("",) + ("day",) * 2


def fields(locale: str, form: str, date: datetime.date) -> dict[str, range]:
    """Return the characters of the year, month, day and weekday, in their order.

    Args:
        locale: a key of `LANGUAGES`.
        form: "long", "medium" or "full".
        date: in a year of the built-in dates.

    Raises:
        SaccadeError: if Babel is not installed.

    Example:
        >>> text = write("fr", "full", datetime.date(2025, 6, 18))
        >>> [text[part.start : part.stop] for part in fields("fr", "full", datetime.date(2025, 6, 18)).values()]
        ['mercredi', '18', 'juin', '2025']
    """
    text = write(locale, form, date)  # an error if Babel is missing
    from babel.dates import DateTimeFormat, get_date_format

    pattern: Any = get_date_format(form, locale)  # type: ignore[arg-type]
    values, parts, written = DateTimeFormat(date, locale), dict[str, range](), ""
    for plain, name in re.findall(r"(.*?)(?:%\((\w+)\)s|$)", pattern.format, flags=re.S):
        written += plain.replace("%%", "%")
        if name:
            parts[_NAMES[name[0]]] = range(len(written), len(written) + len(values[name]))
            written += values[name]
    if written != text or unicodedata.normalize("NFC", text) != text:
        raise SaccadeError(f"babel: expected parts of {text!r}, got those of {written!r}")
    return parts


def deciding(pair: Pair) -> list[range]:
    """Return the source characters that decide each target character, or none.

    The year, month and day of the source, words or numbers, decide those of the target. Which letters of a name matter
    is left open, and a weekday follows from the date.

    Args:
        pair: of the built-in dates, or of rows of several.

    Raises:
        ArgumentError: for another pair.

    Example:
        >>> pair = Pair("2019年2月15日; mercredi 18 juin 2025", "2019-02-15 2025-06-18", "2")
        >>> ["".join(pair.source[place] for place in places) for places in deciding(pair)[:8]]
        ['2019', '2019', '2019', '2019', '', '2', '2', '']
        >>> ["".join(pair.source[place] for place in places) for places in deciding(pair)[-6:]]
        ['', 'juin', 'juin', '', '18', '18']
    """
    parts, start = list[range](), 0
    sources, targets = pair.source.split("; "), pair.target.split(" ")
    if len(sources) != len(targets):
        raise _not_built_in(pair)
    for source, target in zip(sources, targets, strict=True):
        of_date = _fields_of(source, target, pair)
        shifted = {name: range(start + part.start, start + part.stop) for name, part in of_date.items()}
        parts += [range(0)] if parts else []
        parts += [shifted.get(name, range(0)) for name in _WRITTEN]
        start += len(source) + len("; ")
    return parts


def _fields_of(source: str, target: str, pair: Pair) -> dict[str, range]:
    """The fields of one date in any language and form."""
    try:
        date = datetime.date.fromisoformat(target)
    except ValueError:
        raise _not_built_in(pair) from None
    ways = ((locale, form) for locale in LANGUAGES for form in FORMS)
    way = next((way for way in ways if write(*way, date) == source), None)
    if way is None:
        raise _not_built_in(pair)
    return fields(*way, date)


def _not_built_in(pair: Pair) -> ArgumentError:
    return ArgumentError(f"pair: expected built-in dates and their ISO 8601, got {pair.source!r}, {pair.target!r}")


def deciding_words(words: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of deciding words of a built-in review, by kind.

    They are the opinion of the main clause, its negation, and the conjunction of two clauses. Each of them can turn the
    label if it is exchanged or left out. "other opinion" has the opinion of the other clause with its negation.

    Args:
        words: as of the tokenizer of `classify-text`, without punctuation.

    Raises:
        ArgumentError: for other texts.

    Example:
        >>> deciding_words("although the cast was brilliant the film is not very funny".split())
        {'opinion': [10], 'negation': [8], 'conjunction': [0], 'other opinion': [4]}
    """
    opinions = [position for position, word in enumerate(words) if word in (*GOOD, *BAD)]
    denied = _phrases(words, NEGATIONS)
    turns = [turn for turn in _phrases(words, TURNS) if not any(turn.start in part for part in denied)]
    if len(opinions) not in (1, 2) or len(turns) != len(opinions) - 1:
        raise ArgumentError(f"words: expected a built-in review, got {' '.join(words)!r}")
    negations: list[list[int]] = [[] for _ in opinions]
    for part in denied:
        negations[sum(position < part.start for position in opinions)] += part
    conjunction = [position for turn in turns for position in turn]
    subordinate = any(words[position] in ("although", "even") and position > opinions[0] for position in conjunction)
    main = 0 if subordinate else len(opinions) - 1
    other = [*negations[1 - main], opinions[1 - main]] if turns else []
    return {
        "opinion": [opinions[main]],
        "negation": negations[main],
        "conjunction": conjunction,
        "other opinion": other,
    }


def _phrases(words: Sequence[str], phrases: Sequence[str]) -> list[range]:
    """Places of phrases of one or more words, in order."""
    cut = [phrase.split() for phrase in phrases]
    return [
        range(start, start + len(phrase))
        for start in range(len(words))
        for phrase in cut
        if list(words[start : start + len(phrase)]) == phrase
    ]
