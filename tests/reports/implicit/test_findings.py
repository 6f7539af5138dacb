import pytest

from reports.implicit.conftest import SHARES, made_up
from saccade.reports.implicit.findings import Findings, summary
from tiers import every


def test_where_all_claims_hold_it_is_reproduced(content):
    found = Findings(content)
    assert found.said == ["reproduced"] * 4 and found.verdict.result == "reproduced"
    assert [gain.value for gain in found.gains.values()] == pytest.approx([0.4, 0.3, 0.5, 0.4], abs=1e-3)


@every(
    ("changed", "result"),
    [
        ({"shares": {**SHARES, "bytenet": 0.95}}, "contradicted"),
        ({"shares": {**SHARES, "bytenet": 0.8}}, "not decided"),
        ({"attention": 0.3}, "contradicted"),
        ({"seeds": 1}, "not decided"),
        ({"right": 0.4}, "not decided"),
    ],
)
def test_the_verdict_follows_from_the_numbers(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_one_seed_is_said():
    reason = Findings(made_up(seeds=1)).verdict.reason
    assert reason.startswith("more of rnnsearch's Jacobian") and reason.count("one seed says nothing") == 1


def test_of_models_that_learned_little_nothing_is_concluded():
    reason = Findings(made_up(right=0.4)).verdict.reason
    assert reason.startswith("nothing can be concluded: ") and "rnnsearch 40.0%" in reason


def test_seeds_and_sentences_are_in_each_interval(content):
    parts = next(iter(Findings(content).gains.values())).parts
    assert [(part.name, part.count) for part in parts] == [("seeds", 3), ("sentences", 12)]


def test_tables_have_a_row_for_each_model_and_way(content):
    found = Findings(content)
    header, *rows = found.table()
    assert header[3:] == ["on the word", "most on the word", "on the very digit"]
    assert [row[:2] for row in rows] == [
        ["rnnsearch", "jacobian"],
        ["rnnsearch", "attention"],
        ["encoder-decoder", "jacobian"],
        ["bytenet", "jacobian"],
        ["an even share", ""],
    ]
    assert rows[0][2:4] == ["90.00 ± 0.00", "81.95 ± 1.00"] and rows[-1][3] == "25.00"
    assert found.reach()[1] == ["rnnsearch", "jacobian", "20.00 ± 0.00", "40.00 ± 0.00"]
    assert found.by_distance()[0][2:] == ["0-5", "6-10"] and found.by_distance()[1][2:] == [
        "75.00 ± 0.00",
        "25.00 ± 0.00",
    ]


def test_the_summary_ends_with_the_verdict(content):
    lines = summary(content).splitlines()
    assert lines[0].startswith("what moves outputs") and lines[-1].startswith(
        "reproduced: more of rnnsearch's Jacobian"
    )
