"""Labels as classes and as strings: their numbers, the best of them, what is measured."""

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.strings import NOTHING
from saccade.tasks.glimpse.spelling import Spelling, Strings

DIGITS, CLASSES = Spelling(("1", "7"), 3), Spelling(("cat", "dog"))
SHARES = torch.tensor([[0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [0.5, 0.4, 0.1]], dtype=torch.float64)


def test_string_ends_with_its_symbol_unless_it_is_longest():
    assert DIGITS.numbers(["7", "17", "171"], "test") == [(1, 2, NOTHING), (0, 1, 2), (0, 1, 0)]
    assert CLASSES.numbers(["dog", "cat"], "test") == [1, 0]
    assert (DIGITS.classes, CLASSES.classes, DIGITS.most, CLASSES.most) == (3, 2, 14, 2)
    assert Spelling(tuple("0123456789"), 9).most == 1000


@pytest.mark.parametrize(("label", "said"), [("1717", "from 1 to 3 symbols"), ("", "from 1 to 3"), ("19", "got '9'")])
def test_a_label_that_is_none_of_the_run_s_is_refused(label, said):
    with pytest.raises(ArgumentError, match=f"--data: .*{said}"):
        DIGITS.numbers([label], "test")


def test_what_is_found_is_the_first_of_what_is_answered():
    shares = torch.rand(20, 3, 3, dtype=torch.float64).softmax(-1)
    best = [DIGITS.ranking(each).lines(1)[0].partition("\t")[0] for each in shares]
    assert DIGITS.found(shares) == best and DIGITS.found(shares[:0]) == []
    assert CLASSES.found(torch.tensor([[[0.2, 0.8]]])) == ["dog"]
    assert CLASSES.ranking(torch.tensor([[0.2, 0.8]])).lines(1) == ["dog\t0.8000"]


def test_a_string_is_told_with_what_it_was_chosen_from():
    ranking = Strings(("1", "7"), SHARES)
    assert ranking.lines(2) == ["7\t0.4667", "1\t0.1333"] and ranking.title == "7 0.47"
    assert ranking.said == ("7", "end") and ranking.labels == ("1", "7", "end")
    told = ranking.to_json(1)
    assert told["answers"] == [{"label": "7", "probability": 0.466667}]
    assert told["symbols"][1] == {"1": 0.3, "7": 0.1, "end": 0.6} and len(told["symbols"]) == 3


def test_strings_are_measured_whole_and_by_symbols():
    metrics, groups = DIGITS.measured(["17", "1", "7"], ["17", "171", "1"], ["", "", "x"])
    assert metrics == {"accuracy": pytest.approx(1 / 3), "symbol_error_rate": pytest.approx(3 / 6)}
    assert groups == {"accuracy": {"2 symbols": 1.0, "3 symbols": 0.0, "1 symbol": 0.0, "x": 0.0}}
    always = DIGITS.baseline(["17", "17", "1"], ["17", "1"], "test")
    assert always.about == "always 17"
    assert always.metrics == {"accuracy": 0.5, "symbol_error_rate": pytest.approx(1 / 3)}
    assert "macro_f1" in CLASSES.measured(["cat"], ["dog"], [""])[0]
    assert CLASSES.baseline(["dog"], ["cat"], "test").about == "always dog"
