"""The built-in corpus: a date as one of twenty languages writes it, and the same date in ISO 8601.

    mercredi 18 juin 2025     ->  2025-06-18
    2019年2月15日              ->  2019-02-15
    יום רביעי, 18 ביוני 2025  ->  2025-06-18

Babel (Unicode's CLDR) gives the words: each language's long, medium and full form. A date belongs to one split,
whatever the language, so the dates of the test have been seen in none. Every example is a function of (split, index).

The languages are chosen so that no text means two dates: all forms show the day and a four-digit Gregorian year, and
the numeric ones (08.06.2025, 2025/06/08) put the day first or the year first, never the month. That leaves out Thai,
whose readers take a year without an era for a Buddhist one.

Source:
    Unicode Technical Standard 35, part 4 (https://unicode.org/reports/tr35/tr35-dates.html), through Babel
    (https://babel.pocoo.org).
"""

import datetime
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from saccade.data.generated import Generated
from saccade.data.rows import text_hash
from saccade.errors import SaccadeError, pip_install
from saccade.tasks.translate.data.corpus import Pair

__all__ = ["LANGUAGES", "Dates"]

LANGUAGES: Mapping[str, str] = {
    "ar": "Arabic",
    "cs": "Czech",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "zh": "Chinese",
}
FORMS = ("long", "medium", "full")
YEARS = range(1900, 2100)  # four digits in every form, and the two centuries that people mostly write of
HELD_OUT = 2000  # examples of validation, and of test: 100 a language


class Dates(Generated[Pair]):
    """Dates in twenty languages, split by date: about 90% of 1900-2099 to train on, 5% to validate, 5% to test.

    Training is endless (any index from 0 on draws a language, a form and a date); validation and test hold 2,000
    examples of as many dates, all languages in balance and in each its forms.

    Source:
        Unicode CLDR, through Babel.

    Example:
        >>> dates = Dates()
        >>> dates.example("train", 0) == dates.example("train", 0)
        True
        >>> dates.size("test"), dates.size("train")
        (2000, None)
        >>> write("fr", "full", datetime.date(2025, 6, 18))
        'mercredi 18 juin 2025'
    """

    def make(self, split: str, index: int) -> Pair:
        style, day = (index, index) if split != "train" else _draw(index)
        locale = _LOCALES[style % len(_LOCALES)]
        form = FORMS[style // len(_LOCALES) % len(FORMS)]
        days = _days()[split]
        date = days[day % len(days)]
        return Pair(write(locale, form, date), date.isoformat(), locale)

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        """What the examples are made of, in one string: another one means other data (as after a new CLDR)."""
        samples = "\n".join(write(locale, form, date) for locale in LANGUAGES for form in FORMS for date in _SAMPLES)
        from babel.core import get_cldr_version

        return f"dates {YEARS[0]}-{YEARS[-1]}, CLDR {get_cldr_version()}, {text_hash(samples):016x}"


def write(locale: str, form: str, date: datetime.date) -> str:
    """Write a date in the words of one language.

    Args:
        locale: a key of `LANGUAGES`.
        form: "long", "medium" or "full".
        date: in a year of `YEARS`.

    Returns:
        The text, as CLDR has it.

    Raises:
        SaccadeError: if Babel is not installed.

    Example:
        >>> write("de", "long", datetime.date(1999, 3, 15))
        '15. März 1999'
    """
    text, names = _pattern(locale, form)
    return text % {name: _field(locale, name, _PARTS[name[0]](date)) for name in names}


_LOCALES = tuple(LANGUAGES)
_SAMPLES = tuple(datetime.date(2000 + n, 1 + n % 12, 1 + n) for n in range(31))  # every day, month and weekday


def _month(date: datetime.date) -> datetime.date:
    return date.replace(2000, day=1)


def _weekday(date: datetime.date) -> datetime.date:
    return datetime.date.fromordinal(7 + date.weekday() - 6)  # the first day of all is a Monday


_PARTS: Mapping[str, Callable[[datetime.date], datetime.date]] = {
    "y": lambda date: date.replace(month=1, day=1),
    "M": _month,
    "L": _month,
    "d": lambda date: date.replace(2000, 1),
    "E": _weekday,
    "c": _weekday,
}
"""The first date with the same year, month, day of the month or weekday, for each letter of a pattern."""


@cache
def _pattern(locale: str, form: str) -> tuple[str, tuple[str, ...]]:
    """A form of a language as Python formats it, `%(d)s. %(MMMM)s %(y)s`, and the names of its fields."""
    try:
        from babel.dates import get_date_format
    except ImportError as error:
        raise SaccadeError(f"--data dates needs babel, which is not installed: {pip_install('train')}") from error
    style: Any = form  # Babel names its four forms
    text = str(get_date_format(style, locale).format)
    return text, tuple(re.findall(r"%\((\w+)\)s", text))


@cache
def _field(locale: str, name: str, date: datetime.date) -> str:
    """A field of a date, as "MMMM": a run reads 30,000 dates before its first step."""
    from babel.dates import DateTimeFormat

    return DateTimeFormat(date, _language(locale))[name]


@cache
def _language(locale: str) -> Any:
    """Babel's Locale, which takes longer to parse than a field to write."""
    from babel import Locale

    return Locale.parse(locale)


@cache
def _days() -> Mapping[str, tuple[datetime.date, ...]]:
    """The dates of each split, shuffled: a date's hash says where it belongs and in which order it comes."""
    first, last = datetime.date(YEARS[0], 1, 1).toordinal(), datetime.date(YEARS[-1], 12, 31).toordinal()
    hashed = sorted(
        (text_hash(date.isoformat()), date) for date in map(datetime.date.fromordinal, range(first, last + 1))
    )
    splits = {"validation": 0, "test": 1}
    held_out = {split: tuple(date for number, date in hashed if number % 20 == rest) for split, rest in splits.items()}
    return {"train": tuple(date for number, date in hashed if number % 20 > 1), **held_out}


def _draw(index: int) -> tuple[int, int]:
    """Two independent large numbers for one training example, without a generator's state."""
    return text_hash(f"style {index}"), text_hash(f"date {index}")
