import json
from dataclasses import replace

import pytest

from saccade.errors import ArgumentError
from saccade.reports.folder import ReportError
from saccade.reports.options import arguments
from saccade.reports.soft_hard.report import Options, SoftHard, _variants
from saccade.reports.training import opened, settings


def test_the_ways_of_a_translator_are_one_recipe_but_for_its_reads(tmp_path):
    variants = _variants(Options(data="dates", samples=3, entropy_bonus=0.5, reward_weight=0.25))
    made = {one.name: settings(Options(data="dates"), one, 1, tmp_path, 1.0) for one in variants}
    reads = {name: (one.read, one.baseline, one.samples, one.entropy_bonus) for name, one in made.items()}
    xu = {name: one for name, one in made.items() if name.endswith("reinforce, as in the paper")}
    assert {(one.charge, one.soft_share) for one in xu.values()} == {("whole", 0.5)} and len(xu) == 2
    assert {(one.charge, one.soft_share) for name, one in made.items() if name not in xu} == {("to-come", 0.0)}
    assert {one.reward_weight for one in xu.values()} == {0.25}
    assert {one.reward_weight for name, one in made.items() if name not in xu} == {1.0}
    assert {name: way for name, way in reads.items() if name.startswith("luong")} == {
        "luong soft": ("soft", "learned", 1, 0.0),
        "luong reinforce": ("reinforce", "learned", 3, 0.0),
        "luong reinforce, leave-one-out": ("reinforce", "leave-one-out", 3, 0.0),
        "luong reinforce, entropy bonus": ("reinforce", "learned", 3, 0.5),
        "luong reinforce, as in the paper": ("reinforce", "moving-average", 3, 0.5),
        "luong straight-through": ("straight-through", "learned", 1, 0.0),
    }
    same = {one.learning_rate for one in made.values()}, {one.hidden_dim for one in made.values()}
    assert [len(values) for values in same] == [1, 1] and len(made) == 12


def test_quick_has_time_for_one_translator():
    assert {one.model for one in _variants(Options(quick=True))} == {"rnnsearch"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"samples": 1}, "--samples: expected a number from 2 to 1000, got 1"),
        ({"entropy_bonus": 0.0}, "--entropy-bonus: expected a number above 0, got 0.0"),
        ({"reward_weight": -1.0}, "--reward-weight: expected a number above 0, got -1.0"),
        ({"seeds": 0}, "--seeds: expected"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**said)


def test_an_older_report_has_reward_weight_one(tmp_path):
    begun = Options(data="dates", output=str(tmp_path), max_steps=1)
    told = {**arguments(begun), "data": opened(begun).fingerprint}
    del told["reward_weight"]
    about = {"report": "soft-hard", "command": "", "arguments": told, "runs": {}, "rows": []}
    (tmp_path / "report.json").write_text(json.dumps(about))
    with pytest.raises(ReportError, match=r"made with --reward-weight 1\.0, not 0\.5"):
        SoftHard.make(replace(begun, reward_weight=0.5))
