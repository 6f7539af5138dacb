"""Inputs that decide: words of dates, by other dates that differ there alone, and words of reviews, by their labels."""

import datetime

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.reviews import GOOD, Reviews
from saccade.tasks.text.words import Words
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.dates import FORMS, LANGUAGES, Dates, write
from saccade.tasks.translate.data.several import SeveralDates
from studies.frame.deciding import deciding, deciding_words, fields
from tiers import every


def words(pair):
    return ["".join(pair.source[place] for place in places) for places in deciding(pair)]


def test_years_days_and_numeric_months_are_numbers():
    numbers = 0
    for index in range(240):
        pair = Dates().example("test", index)
        found = words(pair)
        assert found[:4] == [pair.target[:4]] * 4 and found[4] == found[7] == ""
        assert int(found[8]) == int(found[9]) == int(pair.target[8:]) and found[5] == found[6] != ""
        if found[5].isdecimal():
            assert int(found[5]) == int(pair.target[5:7])
            numbers += 1
    assert 20 < numbers < 220


def parts(locale, form, date):
    text = write(locale, form, date)
    return {name: text[part.start : part.stop] for name, part in fields(locale, form, date).items()}


@every("form", FORMS)
@every("locale", LANGUAGES)
def test_a_date_of_another_year_month_or_day_differs_in_that_word(locale, form):
    date = datetime.date(2024, 2, 9)
    found = parts(locale, form, date)
    assert set(found) >= {"year", "month", "day"} and ("weekday" in found) == (form == "full")
    for name, other in (
        ("year", date.replace(year=1987)),
        ("month", date.replace(month=11)),
        ("day", date.replace(day=7)),
    ):
        changed = parts(locale, form, other)
        different = {field for field in changed if changed[field] != found[field]} - {"weekday"}
        assert different == {name}


def test_rows_of_dates_are_decided_date_by_date():
    row = next(
        pair for pair in (SeveralDates().example("test", index) for index in range(120, 180)) if pair.group == "3"
    )
    found, dates = deciding(row), row.target.split(" ")
    assert len(found) == len(row.target) and not found[10] and not found[21]
    starts = [0, *(place + 2 for place in range(len(row.source)) if row.source.startswith("; ", place))]
    for number, (start, date) in enumerate(zip(starts, dates, strict=True)):
        alone = deciding(Pair(row.source.split("; ")[number], date, "1"))
        assert [range(start + each.start, start + each.stop) for each in alone if each] == [
            each for each in found[11 * number : 11 * number + 10] if each
        ]


@pytest.mark.parametrize(
    ("source", "target"),
    [("a cat", "une date"), ("18 juin 2025", "2025-06-19"), ("1 mai 1990; 2 mai 1990", "1990-05-01")],
)
def test_what_is_no_date_is_refused(source, target):
    with pytest.raises(ArgumentError, match="pair: expected built-in dates and their ISO 8601, got '"):
        deciding(Pair(source, target, ""))


def test_the_deciding_words_of_reviews_tell_their_labels():
    """The label is that of the main opinion, turned by its negation; the other clause says the opposite."""
    forms = set()
    for index in range(300):
        review = Reviews().example("test", index)
        words = Words([]).pieces(review.text)
        places = deciding_words(words)
        [opinion] = places["opinion"]
        assert ((words[opinion] in GOOD) != bool(places["negation"])) == (review.label == "positive")
        assert bool(places["conjunction"]) == bool(places["other opinion"]) == (review.group == "turned")
        if places["conjunction"]:
            *denied, other = places["other opinion"]
            assert ((words[other] in GOOD) != bool(denied)) != (review.label == "positive")
        forms.add(" ".join(words[place] for place in (*places["conjunction"], *places["negation"])))
    assert {"although", "even though", "but", "yet", "not", "anything but", "although not"} <= forms


def test_other_reviews_have_no_deciding_words():
    with pytest.raises(ArgumentError, match="words: expected a built-in review, got 'the film was long'"):
        deciding_words(["the", "film", "was", "long"])
