import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.labels.ranking import Ranking, label_numbers, probabilities

LABELS = ("a", "b", "c")
SHARES = torch.tensor([0.25, 0.125, 0.625], dtype=torch.float64)


def test_most_probable_come_first_with_their_probabilities():
    ranking = Ranking(LABELS, SHARES)
    assert ranking.order == [2, 0, 1] and ranking.best == 2 and ranking.title == "c 0.62"
    assert ranking.lines(2) == ["c\t0.6250", "a\t0.2500"] and len(ranking.lines(9)) == 3
    told = ranking.to_json(1)
    assert told == {
        "answers": [{"label": "c", "probability": 0.625}],
        "probabilities": {"a": 0.25, "b": 0.125, "c": 0.625},
    }
    assert json.loads(json.dumps(told)) == told


def test_of_two_that_are_as_probable_the_lower_number_comes_first():
    assert Ranking(LABELS, torch.tensor([0.25, 0.5, 0.25])).order == [1, 0, 2]
    assert Ranking(LABELS, torch.full((3,), 1 / 3)).best == 0


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=7))
def test_probabilities_are_the_softmax_in_double(logits):
    found = probabilities(torch.tensor(logits))
    assert found.dtype == torch.float64 and float(found.sum()) == pytest.approx(1)
    weights = torch.tensor(logits).double().exp()
    assert found.tolist() == pytest.approx((weights / weights.sum()).tolist())
    assert Ranking(tuple(map(str, logits)), found).best == int(torch.tensor(logits).argmax())


def test_labels_are_numbered_and_strange_ones_named():
    assert label_numbers(LABELS, ["c", "a", "c"], "train") == [2, 0, 2] and label_numbers(LABELS, [], "test") == []
    with pytest.raises(ArgumentError, match=r"--data: expected labels of the run \(a, b, c\), got 'x' in test"):
        label_numbers(LABELS, ["a", "x"], "test")
    with pytest.raises(ArgumentError) as error:
        label_numbers(tuple(map(str, range(1000))), ["y" * 1000], "test")
    assert len(str(error.value)) < 250
