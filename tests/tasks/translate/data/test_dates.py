"""The built-in corpus: deterministic, balanced, unambiguous, and split so that held-out dates are unseen."""

import calendar
import datetime
import itertools
import re
import sys
from collections import Counter

import pytest

from saccade.data.dataset import SPLITS
from saccade.errors import SaccadeError
from saccade.tasks.translate.data import dates as module
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.dates import FORMS, LANGUAGES, YEARS, Dates, write

DATES = Dates()


@pytest.mark.parametrize("form", FORMS)
def test_a_date_is_written_as_babel_writes_it(form: str) -> None:
    from babel.dates import format_date

    days = [datetime.date(1900 + 7 * n, 1 + n % 12, 1 + (5 * n) % 28) for n in range(24)]
    for locale in LANGUAGES:
        assert [write(locale, form, day) for day in days] == [format_date(day, form, locale) for day in days]


def test_languages_are_known_to_babel_by_these_names() -> None:
    from babel import Locale

    assert len(LANGUAGES) == 20
    assert {locale: Locale.parse(locale).english_name for locale in LANGUAGES} == dict(LANGUAGES)


def test_a_date_belongs_to_one_split() -> None:
    days = module._days()
    everything = list(itertools.chain.from_iterable(days.values()))
    assert len(everything) == len(set(everything)) == 73_049
    assert {date.year for date in everything} == set(YEARS)
    assert len(days["train"]) / len(everything) == pytest.approx(0.9, abs=0.01)
    assert min(len(days["validation"]), len(days["test"])) >= module.HELD_OUT
    for split in SPLITS:
        targets = {DATES.example(split, index).target for index in range(300)}
        assert targets <= {date.isoformat() for date in days[split]}


@pytest.mark.parametrize("split", ["validation", "test"])
def test_held_out_examples_are_balanced_and_of_different_dates(split: str) -> None:
    size = DATES.size(split)
    assert size == 2000
    pairs = [DATES.example(split, index) for index in range(size)]
    assert len({pair.target for pair in pairs}) == size
    assert Counter(pair.group for pair in pairs) == dict.fromkeys(LANGUAGES, 100)
    forms = Counter(
        (pair.group, form)
        for pair in pairs
        for form in FORMS
        if pair.source == write(pair.group, form, datetime.date.fromisoformat(pair.target))
    )
    assert min(forms[locale, form] for locale in LANGUAGES for form in FORMS) >= 33


def test_training_draws_every_language_and_never_ends() -> None:
    assert DATES.size("train") is None
    counts = Counter(DATES.example("train", index).group for index in range(4000))
    assert set(counts) == set(LANGUAGES)
    assert min(counts.values()) > 140  # 200 expected, standard deviation 14
    assert isinstance(DATES.example("train", 2**63), Pair)


def test_every_text_shows_the_four_digits_of_its_year_and_its_day() -> None:
    for index in range(2000):
        pair = DATES.example("test", index)
        year, _, day = pair.target.split("-")
        assert year in pair.source
        assert str(int(day)) in pair.source.replace(year, "", 1)


@pytest.mark.slow
def test_no_text_means_two_dates() -> None:
    """Of one year none does, and a text has no year but its own."""
    kinds = {(calendar.isleap(year), datetime.date(year, 1, 1).weekday()): year for year in YEARS}
    assert len(kinds) == 14  # all other years are like one of these, but for the four digits
    meanings: dict[str, datetime.date] = {}
    for year in kinds.values():
        days = [datetime.date(year, 1, 1) + datetime.timedelta(number) for number in range(365 + calendar.isleap(year))]
        for day, locale, form in itertools.product(days, LANGUAGES, FORMS):
            text = write(locale, form, day)
            assert meanings.setdefault(text, day) == day, text
            assert re.findall(r"\d{3,}", text) == [str(year)], text


def test_the_fingerprint_names_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    before = DATES.fingerprint
    assert before == Dates().fingerprint
    assert "1900-2099" in before
    assert "CLDR" in before
    monkeypatch.setattr(module, "write", lambda locale, form, date: f"{write(locale, form, date)}!")
    assert DATES.fingerprint != before


def test_without_babel_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module._pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "babel.dates", None)
    with pytest.raises(SaccadeError, match=r"pip install 'saccade-attention\[train\]'"):
        DATES.example("train", 0)
    with pytest.raises(SaccadeError, match=r"pip install 'saccade-attention\[train\]'"):
        _ = DATES.fingerprint
