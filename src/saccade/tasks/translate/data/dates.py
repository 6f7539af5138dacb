"""Built-in data: a date in one of twenty languages, and in ISO 8601.

    mercredi 18 juin 2025     ->  2025-06-18
    2019年2月15日              ->  2019-02-15
    יום רביעי, 18 ביוני 2025  ->  2025-06-18

Babel (Unicode's CLDR) gives the words of each language's long, medium and full form. A date belongs to one split in
all languages, so no date of the test is trained on.

The languages are chosen so that no text means two dates. All forms show the day and a four-digit Gregorian year.
Numeric forms (08.06.2025, 2025/06/08) put the day or the year first, never the month. That leaves out Thai, whose
readers take a year without an era for a Buddhist one.

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
    """Dates in twenty languages.

    About 90% of the days of 1900-2099 are for training, 5% for validation and 5% for test. Training is endless.
    Validation and test hold 2,000 examples of as many dates, with languages and forms in balance.

    Example:
        >>> dates = Dates()
        >>> dates.example("train", 0) == dates.example("train", 0), dates.size("test"), dates.size("train")
        (True, 2000, None)
    """

    def make(self, split: str, index: int) -> Pair:
        style, day = index, index
        if split == "train":
            style, day = text_hash(f"style {index}"), text_hash(f"date {index}")
        locale, form = [*LANGUAGES][style % len(LANGUAGES)], FORMS[style // len(LANGUAGES) % len(FORMS)]
        days = _days()[split]
        date = days[day % len(days)]
        return Pair(write(locale, form, date), date.isoformat(), locale)

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        samples = "\n".join(write(locale, form, date) for locale in LANGUAGES for form in FORMS for date in _SAMPLES)
        from babel.core import get_cldr_version

        return f"dates {YEARS[0]}-{YEARS[-1]}, CLDR {get_cldr_version()}, {text_hash(samples):016x}"


def write(locale: str, form: str, date: datetime.date) -> str:
    """Write a date in the words of a language.

    Args:
        locale: a key of `LANGUAGES`.
        form: "long", "medium" or "full".
        date: in a year of `YEARS`.

    Raises:
        SaccadeError: if Babel is not installed.

    Example:
        >>> write("de", "long", datetime.date(1999, 3, 15))
        '15. März 1999'
    """
    text, names = _pattern(locale, form)
    return text % {name: _field(locale, name, _PARTS[name[0]](date)) for name in names}


_SAMPLES = tuple(datetime.date(2000 + n, 1 + n % 12, 1 + n) for n in range(31))  # every day, month and weekday
_PARTS: dict[str, Callable[[datetime.date], datetime.date]] = {
    "y": lambda date: date.replace(month=1, day=1),
    "M": lambda date: date.replace(2000, day=1),
    "d": lambda date: date.replace(2000, 1),
    "E": lambda date: datetime.date.fromordinal(1 + date.weekday()),  # ordinal 1 is a Monday
}
_PARTS |= {"L": _PARTS["M"], "c": _PARTS["E"]}
"""The first date with the same part, for each letter of a pattern.

A part is the year, the month, the day of the month or the weekday.
"""


@cache
def _pattern(locale: str, form: str) -> tuple[str, tuple[str, ...]]:
    """Return a form of a language as a format, and the names of its fields.

    A format is for example `%(d)s. %(MMMM)s %(y)s`.
    """
    try:
        from babel.dates import get_date_format
    except ImportError as error:
        raise SaccadeError(f"--data dates needs babel, which is not installed: {pip_install('train')}") from error
    style: Any = form  # Babel names its four forms
    text = str(get_date_format(style, locale).format)
    return text, tuple(re.findall(r"%\((\w+)\)s", text))


@cache
def _field(locale: str, name: str, date: datetime.date) -> str:
    """Return a field of a date, such as "MMMM".

    A run reads 30,000 dates before its first step.
    """
    from babel.dates import DateTimeFormat

    return DateTimeFormat(date, _language(locale))[name]


@cache
def _language(locale: str) -> Any:
    """Return Babel's Locale. Parsing one takes longer than writing a field."""
    from babel import Locale

    return Locale.parse(locale)


@cache
def _days() -> Mapping[str, tuple[datetime.date, ...]]:
    """The dates of each split, shuffled by their hashes."""
    first, last = datetime.date(YEARS[0], 1, 1).toordinal(), datetime.date(YEARS[-1], 12, 31).toordinal()
    dates = map(datetime.date.fromordinal, range(first, last + 1))
    splits: dict[str, list[datetime.date]] = {"validation": [], "test": [], "train": []}
    for number, date in sorted((text_hash(date.isoformat()), date) for date in dates):
        splits[("validation", "test", "train")[min(2, number % 20)]].append(date)
    return {split: tuple(part) for split, part in splits.items()}
