"""Which characters of a date decide which characters of the same date in ISO 8601."""

import datetime
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.dates import FORMS, LANGUAGES, write

__all__ = ["Field", "deciding", "fields"]

_NAMES = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday"}
#: What each character of 2025-06-18 is of.
_WRITTEN = ("year",) * 4 + ("",) + ("month",) * 2 + ("",) + ("day",) * 2


class Field(NamedTuple):
    """A part of a text.

    Args:
        name: "year", "month", "day" or "weekday".
        start, end: its characters, `start <= i < end`.
    """

    name: str
    start: int
    end: int


def fields(locale: str, form: str, date: datetime.date) -> list[Field]:
    """Return the year, month and day of a date as a language writes it, and its weekday, in their order.

    Args:
        locale: a key of `LANGUAGES`.
        form: "long", "medium" or "full".
        date: in a year of the built-in dates.

    Raises:
        SaccadeError: if Babel is not installed.

    Example:
        >>> [text := write("fr", "full", datetime.date(2025, 6, 18))]
        ['mercredi 18 juin 2025']
        >>> [(name, text[start:end]) for name, start, end in fields("fr", "full", datetime.date(2025, 6, 18))]
        [('weekday', 'mercredi'), ('day', '18'), ('month', 'juin'), ('year', '2025')]
    """
    text = write(locale, form, date)  # which says it where Babel is not there
    from babel.dates import DateTimeFormat, get_date_format

    pattern: Any = get_date_format(form, locale)  # type: ignore[arg-type]
    values = DateTimeFormat(date, locale)
    found, written = list[Field](), ""
    for plain, name in re.findall(r"(.*?)(?:%\((\w+)\)s|$)", pattern.format, flags=re.S):
        written += plain.replace("%%", "%")
        part = values[name] if name else ""
        if name:
            found.append(Field(_NAMES[name[0]], len(written), len(written) + len(part)))
        written += part
    if written != text or unicodedata.normalize("NFC", text) != text:
        raise SaccadeError(f"babel: expected parts of {text!r}, got those of {written!r}")
    return found


def deciding(pair: Pair) -> list[range]:
    """Return which characters of the source decide each character of the target; a range of none for what is always
    the same.

    A year, a month and a day are decided by what the source has in their place, a word or a number. Not more of it is
    said: which letters of a name matter is for the names to know, and a weekday follows from the rest.

    Args:
        pair: of the built-in dates, or of rows of several.

    Raises:
        ArgumentError: if it is another.

    Example:
        >>> pair = Pair("2019年2月15日; mercredi 18 juin 2025", "2019-02-15 2025-06-18", "2")
        >>> ["".join(pair.source[place] for place in places) for places in deciding(pair)[:8]]
        ['2019', '2019', '2019', '2019', '', '2', '2', '']
        >>> ["".join(pair.source[place] for place in places) for places in deciding(pair)[-6:]]
        ['', 'juin', 'juin', '', '18', '18']
    """
    found, start = list[range](), 0
    sources, targets = pair.source.split("; "), pair.target.split(" ")
    if len(sources) != len(targets):
        raise _none(pair)
    for source, target in zip(sources, targets, strict=True):
        known = {field.name: field for field in _parsed(source, target, pair)}
        found += [range(0)] if found else []
        found += [_of(known.get(name), start) for name in _WRITTEN]
        start += len(source) + len("; ")
    return found


def _of(field: Field | None, start: int) -> range:
    """The characters of a field in a row of dates; none without a field."""
    return range(0) if field is None else range(start + field.start, start + field.end)


def _parsed(source: str, target: str, pair: Pair) -> Sequence[Field]:
    """The fields of one date, in whatever language and form it is written."""
    try:
        date = datetime.date.fromisoformat(target)
    except ValueError:
        raise _none(pair) from None
    ways = ((locale, form) for locale in LANGUAGES for form in FORMS)
    for locale, form in ways:
        if write(locale, form, date) == source:
            return fields(locale, form, date)
    raise _none(pair)


def _none(pair: Pair) -> ArgumentError:
    return ArgumentError(f"pair: expected built-in dates and their ISO 8601, got {pair.source!r}, {pair.target!r}")
