import pytest

from reports.implicit.conftest import SHARES, made_up
from saccade.reports.implicit.findings import Findings, summary


def test_where_all_claims_hold_it_is_reproduced(content):
    found = Findings(content)
    assert found.said == ["reproduced"] * 4 and found.verdict.result == "reproduced"
    assert [claim.found.value for claim in found.claims] == pytest.approx([0.4, 0.3, 0.5, 0.4], abs=1e-3)


@pytest.mark.parametrize(
    ("changed", "result"),
    [
        ({"shares": {**SHARES, "bytenet": 0.95}}, "contradicted"),
        ({"shares": {**SHARES, "bytenet": 0.8}}, "not decided"),
        ({"attention": 0.3}, "contradicted"),
        ({"seeds": 1}, "not decided"),
        ({"right": 0.4}, "nothing can be concluded"),
    ],
)
def test_the_verdict_follows_from_the_numbers(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_one_seed_is_said():
    assert Findings(made_up(seeds=1)).verdict.reason.startswith(
        "one seed decides nothing; more of rnnsearch's Jacobian"
    )


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
