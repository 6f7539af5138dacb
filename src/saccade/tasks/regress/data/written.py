"""Numbers and dates of people: decimal commas, thousands, units, days first.

    3,14    119,746.50    1 200 €    $1,200    62%    31.12.2020    12/31/2020

One cell alone is often unclear: 1,200 is 1200 or 1.2. The cells of its column decide, then those of other columns.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from saccade.data.columns import CellError
from saccade.data.dataset import inventory
from saccade.data.tables import is_readable, number_of

__all__ = ["DECIMALS", "Written", "find_written", "left_out"]

DECIMALS = (".", ",")
"""Marks of decimals."""

_MOSTLY = 0.9  # share of the cells of a column that are numbers or dates
_CURRENCY = (
    r"[A-Z]{0,2}\$|[€£¥₹₽₩₺₪₫฿₴₦¢]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|kr|zł|Kč|Ft|Rs\.?|Fr\."
)
_PARTS = re.compile(
    rf"([-+−]?) ?(?:({_CURRENCY}) ?)?([-+−]?)([\d.,'’ ]*\d[.,]?(?:[eE][-+]?\d+)?) ?({_CURRENCY}|%)?",
    re.ASCII,
)
_BODIES = {
    decimal: re.compile(
        rf"(?:\d+|[1-9]\d{{0,2}}([{other}'’ ])\d{{3}}(?:\1\d{{3}})*)?(?:[{decimal}]\d*)?(?:[eE][-+]?\d+)?",
        re.ASCII,
    )
    for decimal, other in zip(DECIMALS, reversed(DECIMALS), strict=True)
}
_GAPS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes", "’": "apostrophes"}
_DATE = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{4}|\d{1,2})(?:[ T](\d{1,2}:\d{2}(?::\d{2})?))?", re.ASCII)
_PIVOT = 69  # two digits of a year from here on are of the 20th century, as by POSIX


class Written(NamedTuple):
    """Format of the numbers or the dates of a column.

    Args:
        decimal: mark of decimals, "." or ",".
        unit: a currency or "%", "" for none.
        first: "year", "month" or "day", which dates begin with. "" for numbers.

    Example:
        >>> Written(",", "€").read("1.200,50 €"), Written(first="day").read("31.12.2020"), Written().read("old")
        ('1200.50', '2020-12-31', 'old')
    """

    decimal: str = "."
    unit: str = ""
    first: str = ""

    def read(self, text: str) -> str:
        """Return a number with a decimal point, or a date in ISO 8601. Other texts stay."""
        if self.first:
            return _date(text, self.first) or text
        number, unit = _number(text, self.decimal) or (text, self.unit)
        return number if unit in ("", self.unit) else text

    def write(self, text: str) -> str:
        """Return a number with a decimal point as `read` reads it. Other texts stay.

        >>> Written(",").write("1.234")
        '1,234'
        """
        return text.replace(".", self.decimal) if not self.first and is_readable(number_of, text) else text


def find_written(
    columns: Mapping[str, Sequence[str]], decimal: str | None = None
) -> tuple[dict[str, Written], list[str]]:
    """Return how columns are written, with notes.

    Columns of numbers with decimal points, of dates in ISO 8601 and of other texts are left out.

    Args:
        columns: texts of each column without blanks.
        decimal: mark of decimals from an option. Default: by the cells.

    Raises:
        CellError: if the numbers or dates of a column have two meanings, or two units.

    Example:
        >>> find_written({"price": ["3,14", "2,5"], "city": ["Ulm", "Bonn"]})
        ({'price': Written(decimal=',', unit='', first='')}, ['column price: decimal commas'])
    """
    texts = {name: Counter(" ".join(text.split()) for text in cells) for name, cells in columns.items()}
    marks = {name: [mark for mark in DECIMALS if _fits(counts, mark)] for name, counts in texts.items()}
    single = {name: fitting[0] for name, fitting in marks.items() if len(fitting) == 1}
    clear = {mark for name, mark in single.items() if re.search("[.,]", "".join(texts[name]))}
    usual = decimal or (next(iter(clear)) if len(clear) == 1 else None)
    result, notes = dict[str, Written](), defaultdict[str, list[str]](list)
    for name, counts in texts.items():
        note, written = "", None
        if decimal is not None and decimal not in marks[name]:
            marks[name] = []
        if marks[name]:
            mark, hint = (marks[name][0], "") if len(marks[name]) == 1 else _decimal(name, counts, usual)
            written, note = _numbers(name, counts, mark)
            note = f"{note}{hint}" if note else ""
        elif first := _first(name, counts):
            written, note = Written(first=first), f"dates with the {first} first"
        if written is not None:
            result[name] = written
            notes[note].append(name)
    return result, [
        f"column{'s' * (len(names) > 1)} {inventory(names)}: {note}" for note, names in notes.items() if note
    ]


def left_out(name: str) -> str:
    """Return the way out of an error of a column.

    >>> left_out("id")
    '; leave it out by --features="-id"'
    """
    return f'; leave it out by --features="-{name}"'


def _number(text: str, decimal: str) -> tuple[str, str] | None:
    """Return a number with a decimal point, and its unit. None: another text."""
    parts = _PARTS.fullmatch(" ".join(text.split()))
    if parts is None or not _BODIES[decimal].fullmatch(parts[4]) or (parts[1] and parts[3]) or (parts[2] and parts[5]):
        return None
    digits = re.sub(rf"[^\d{decimal}eE+-]", "", parts[4]).replace(decimal, ".")
    sign = (parts[1] or parts[3]).replace("−", "-")
    return f"{sign}{digits}", parts[2] or parts[5] or ""


def _fits(counts: Counter[str], decimal: str) -> bool:
    """Return whether nearly all cells are numbers with a mark of decimals."""
    fitting = sum(count for text, count in counts.items() if _number(text, decimal))
    return bool(counts) and fitting >= _MOSTLY * counts.total()


def _decimal(name: str, counts: Counter[str], usual: str | None) -> tuple[str, str]:
    """Return the mark of decimals of cells that fit both marks, and a hint."""
    numbers = [text for text in counts if any(_number(text, mark) for mark in DECIMALS)]
    differing = [text for text in numbers if _number(text, ".") != _number(text, ",")]
    commas, points = ([text for text in differing if mark in text] for mark in ",.")
    if usual is not None or not commas:
        return usual or ".", ""
    if not points and len(commas) < len(numbers):  # 1,200 beside 950
        return ".", f"; --decimal , reads {commas[0]} as {_number(commas[0], ',')[0]}"  # type: ignore[index]
    thousands, decimals = (_number(commas[0], mark)[0] for mark in DECIMALS)  # type: ignore[index]
    got = f"got {commas[0]}, which is {thousands} or {decimals}"
    raise CellError(name, f"expected numbers of one meaning, {got}; --decimal . or --decimal , chooses")


def _numbers(name: str, counts: Counter[str], decimal: str) -> tuple[Written | None, str]:
    """Return the format of numbers and a note. None: with decimal points alone."""
    numbers = {text: number for text in counts if (number := _number(text, decimal))}
    units = {unit: text for text, (_, unit) in numbers.items()}
    if len(units.keys() - {""}) > 1 or ("%" in units and len(units) > 1):
        first, other = list(units.values())[:2]
        raise CellError(name, f"expected numbers of one unit, got {first} and {other}; convert them{left_out(name)}")
    if decimal == "." and all(is_readable(number_of, text) for text in numbers):
        return None, ""
    unit = next(filter(None, units), "")
    gaps = {gap: _GAPS[gap] for text in numbers for gap in re.findall(rf"(?<=\d)[^\d{decimal}eE](?=\d{{3}})", text)}
    about = [
        "decimal commas" * (decimal == "," and any("," in text for text in numbers)),
        *(f"{called} between thousands" for called in dict.fromkeys(gaps.values())),
        "percent, 62% is 62" if unit == "%" else f"numbers in {unit}" * bool(unit),
    ]
    return Written(decimal, unit), ", ".join(filter(None, about))


def _first(name: str, counts: Counter[str]) -> str:
    """Return the part that dates begin with, "" for other texts."""
    shares = {
        first: sum(count for text, count in counts.items() if _date(text, first)) for first in ("year", "day", "month")
    }
    first = max(shares, key=lambda first: shares[first])
    dates = [text for text in counts if _date(text, first)]
    if not dates or shares[first] < _MOSTLY * counts.total() or all(map(_is_iso, dates)):
        return ""
    unclear = [text for text in dates if "." not in text and _date(text, "day") != _date(text, "month")]
    if shares["day"] == shares["month"] and unclear:
        days, months = (_date(unclear[0], part) for part in ("day", "month"))
        got = f"got {unclear[0]}, which is {days} or {months}"
        raise CellError(name, f"expected dates of one meaning, {got}; write them as {days}{left_out(name)}")
    return first


def _is_iso(text: str) -> bool:
    return is_readable(datetime.fromisoformat, text)


def _date(text: str, first: str) -> str:
    """Return a date in ISO 8601, "" for another text."""
    parts = _DATE.fullmatch(" ".join(text.split()))
    if parts is None or (len(parts[1]) == 4) != (first == "year"):
        return ""
    order = {"year": (1, 3, 4), "day": (4, 3, 1), "month": (4, 1, 3)}[first]
    year, month, day = (int(parts[group]) for group in order)
    if len(parts[order[0]]) <= 2:
        year += 1900 if year >= _PIVOT else 2000
    clock = parts[5] or "00:00"
    try:
        time = datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}T{'0' * (clock[1] == ':')}{clock}")
    except ValueError:
        return ""
    return (time if parts[5] else time.date()).isoformat()
