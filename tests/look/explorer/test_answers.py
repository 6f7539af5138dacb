"""Answers of any host: numbered books, live input, the page as a file."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from look.explorer.books import opened, planes
from saccade.errors import ShapeError
from saccade.look._explorer.answers import Answers
from saccade.look._explorer.pages import exported


def of_text(text):
    """One sheet whose matrix has the length of the text in each cell."""
    [sheet] = planes(torch.full((3, 7), float(len(text)))).sheets
    return [sheet]


def answered(answers, **request):
    return opened(answers.message(request))


@pytest.fixture
def answers():
    return Answers(planes(torch.rand(3, 7)), of_text)


def test_a_manifest_says_whether_texts_are_read(answers):
    assert (answers.manifest()["book"], answers.manifest()["live"]) == (0, True)
    assert Answers(planes(torch.rand(3, 7))).manifest()["live"] is False


def test_a_text_adds_its_sheets_and_earlier_books_stay(answers):
    first, _ = answered(answers, piece="live", text="four")
    second, _ = answered(answers, piece="live", text="seven..")
    assert [first["sheet"], second["sheet"]] == [1, 2]
    assert second["manifest"] == json.loads(json.dumps(answers.manifest())) and second["manifest"]["book"] == 2
    assert len(first["manifest"]["sheets"]) == 2 and len(second["manifest"]["sheets"]) == 3
    assert np.all(answered(answers, piece="row", sheet=2)[1] == 7)
    assert np.all(answered(answers, piece="row", sheet=1, book=1)[1] == 4)
    assert "sheet: expected a number below 2" in answered(answers, piece="row", sheet=2, book=1)[0]["error"]


def test_the_latest_eight_texts_and_four_books_stay(answers):
    for length in range(1, 12):
        about, _ = answered(answers, piece="live", text="x" * length)
    assert len(about["manifest"]["sheets"]) == 9 and about["sheet"] == 8
    assert [answered(answers, piece="row", sheet=sheet)[1][0] for sheet in range(1, 9)] == list(range(4, 12))
    assert "error" not in answered(answers, piece="row", book=8)[0]
    for book in (7, -1, "8", True, [8], None, 10**30):
        assert answered(answers, piece="row", book=book)[0]["error"].startswith(
            "book: expected one of the last 4, got "
        )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "text: expected a text, got none"),
        (["a"], "text: expected a text, got none"),
        (" \n", "text: expected a text, got none"),
        ("x" * 2001, "text: expected at most 2,000 characters, got 2,001"),
    ],
)
def test_other_texts_are_refused_in_one_line(answers, text, words):
    about, _ = answered(answers, piece="live", text=text)
    assert set(about) == {"error"} and about["error"].startswith(words) and "\n" not in about["error"]
    assert answers.manifest()["book"] == 0


def test_the_longest_text_is_read_as_one_line(answers):
    seen = []
    reader = Answers(planes(torch.rand(3, 7)), lambda text: seen.append(text) or of_text(text))
    assert answered(reader, piece="live", text="a\nb\r\nc" + "x" * 1994)[0]["sheet"] == 1
    assert seen == ["a b c" + "x" * 1994]


def test_an_error_of_the_model_is_the_answer():
    def reading(text):
        raise ShapeError("inputs: expected 3 words, got 2")

    answers = Answers(planes(torch.rand(3, 7)), reading)
    assert answered(answers, piece="live", text="a b")[0] == {"error": "inputs: expected 3 words, got 2"}
    assert "live: expected a run" in answered(Answers(planes(torch.rand(3, 7))), piece="live", text="a")[0]["error"]


def test_texts_of_several_threads_are_all_there(answers):
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda length: answered(answers, piece="live", text="x" * length), range(1, 9)))
    values = [answered(answers, piece="row", sheet=sheet)[1][0] for sheet in range(1, 9)]
    assert sorted(values) == list(range(1, 9)) and answers.manifest()["book"] == 8


def test_the_page_is_the_exported_one_with_a_name():
    book = planes(torch.rand(3, 7))
    message = Answers(book).message({"piece": "page"})
    about, _ = opened(message)
    content = message[4 + int.from_bytes(message[:4], "little") :]
    assert about == {"name": "Planes.html"} and len(content) % 4 == 0
    assert content.decode().rstrip("\n") == exported(book).rstrip("\n")


def test_too_many_numbers_for_a_page_are_an_error(monkeypatch):
    monkeypatch.setattr("saccade.look._explorer.pages._LARGEST", 80)
    about, _ = answered(Answers(planes(torch.rand(3, 7))), piece="page")
    assert re.fullmatch(r"page: expected at most 0 MiB of numbers, got 0 MiB\. .*", about["error"])


@pytest.mark.parametrize("request_", [None, [], "page", 7])
def test_other_requests_than_objects_are_refused(answers, request_):
    about, _ = opened(answers.message(request_))
    assert about["error"].startswith("request: expected an object, got ")
