import statistics

import pytest

from reports.pooling.conftest import VALUES, made_up
from saccade.reports.pooling.findings import Accuracy, Findings, summary


@pytest.mark.parametrize(
    ("changed", "more", "result", "words"),
    [
        ({}, {}, "reproduced", "sum → fixed dot: better; fixed dot → fixed MLP: better"),
        ({"fixed MLP": 0.79}, {}, "not decided", "fixed dot → fixed MLP: within the error"),
        ({"rnn-attention": 0.7}, {}, "contradicted", "self-attention → rnn-attention: worse"),
        (dict.fromkeys(VALUES, 0.8), {}, "not decided", "sum → fixed dot: within the error"),
        ({}, {"seeds": 1}, "not decided", "sum → fixed dot: within the error"),
        (dict.fromkeys(VALUES, 0.52), {}, "nothing can be concluded", "no model got clearly more than half right"),
    ],
)
def test_the_numbers_decide_step_by_step(changed, more, result, words):
    verdict = Findings(made_up(changed, **more)).verdict
    assert verdict.result == result and words in verdict.reason


def test_means_and_spreads_are_over_seeds():
    values = [0.8, 0.81, 0.85]
    assert Accuracy(values).mean == pytest.approx(0.82)
    assert Accuracy(values).deviation == pytest.approx(statistics.stdev(values))
    assert Accuracy([0.8]).text() == "80.00" and Accuracy([0.8, 0.8]).text() == "80.00 ± 0.00"
    assert Accuracy([0.8, 0.9]).above(Accuracy([0.7, 0.8])) == 0  # 0.1 by an error of 0.07
    assert Accuracy([0.7, 0.71]).above(Accuracy([0.8, 0.81])) == -1


def test_the_tables(content):
    found = Findings(content)
    header, first, second, *_ = found.table()
    assert header[:4] == ["model", "test accuracy", "beside the one above", "validation"]
    assert first == ["sum", "78.00 ± 0.10", "", "79.00 ± 0.10", "5", "2", "1,000"]
    assert second[:3] == ["fixed dot", "79.00 ± 0.10", "better"]
    _, first, second, *_ = found.negation()
    assert first == ["sum", "-1.00", "-1.00", "50%", "0%"]
    assert second == ["fixed dot", "-4.00", "+4.00", "100%", "100%"]
    assert found.pairs()[1][:3] == ["the movie was not good", "0.88 → 0.73", "0.88 → 0.12"]


def test_the_summary_ends_with_what_the_numbers_say(content):
    said = "reproduced: by the spread over seeds, step by step sum → fixed dot: better"
    assert summary(content).splitlines()[-1].startswith(said)
