import pytest

from saccade.errors import ArgumentError
from saccade.reports.experts.report import Options, _variants
from saccade.reports.training import settings


def test_settings_are_one_recipe_but_for_their_losses(tmp_path):
    asked = Options(data="dates", experts=8, top_k=1)
    made = {one.name: settings(asked, one, 1, tmp_path, 1.0) for one in _variants(asked)}
    losses = {name: (one.experts, one.importance_weight, one.load_weight) for name, one in made.items()}
    assert losses == {
        "no experts": (0, None, None),
        "no loss": (8, 0.0, 0.0),
        "importance 0.2": (8, 0.2, 0.0),
        "load 0.2": (8, 0.0, 0.2),
        "importance 0.1, load 0.1": (8, 0.1, 0.1),
        "importance 0.01, load 0.01": (8, 0.01, 0.01),
        "importance 1, load 1": (8, 1.0, 1.0),
    }
    same = [{getattr(one, name) for one in made.values()} for name in ("learning_rate", "hidden_dim", "max_steps")]
    assert all(len(values) == 1 for values in same)


def test_quick_has_time_for_three():
    names = [one.name for one in _variants(Options(quick=True))]
    assert names == ["no experts", "no loss", "importance 0.1, load 0.1"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"experts": 1}, "--experts: expected a number from 2 to"),
        ({"experts": 4, "top_k": 4}, "--top-k: expected less than --experts = 4, and 1 or more, got 4"),
        ({"top_k": 0}, "--top-k: expected"),
        ({"seeds": 0}, "--seeds: expected"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**said)
