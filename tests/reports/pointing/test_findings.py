import math
import statistics

import pytest

from reports.pointing.conftest import made_up
from saccade.reports.difference import unpacked_shares
from saccade.reports.pointing.findings import Findings, summary
from saccade.reports.pointing.measuring import ANY, OTHERS, RANDOM, WEIGHTS
from tiers import every


def test_what_is_lost_is_beside_chance():
    found = Findings(made_up())
    assert found.pointing("soft", WEIGHTS).value == pytest.approx(0.4, abs=0.05)
    assert found.pointing("soft", WEIGHTS, RANDOM).value == pytest.approx(0.6, abs=0.05)
    assert found.lost("soft", WEIGHTS, "change", beside=ANY).value == pytest.approx(0.2, abs=0.005)
    assert found.lost("soft", OTHERS, "change", beside=ANY).value == pytest.approx(-0.15, abs=0.005)
    for key, error in (("change", 0.005), ("right", 0.05)):
        assert found.lost("soft", WEIGHTS, key).value == pytest.approx(0.3, abs=error)
        each = [found.lost("soft", WEIGHTS, key, place).value for place in range(4)]
        assert found.lost("soft", WEIGHTS, key).value == pytest.approx(sum(each) / 4)
        assert found.lost("soft", RANDOM, key).value == 0
    assert found.above_guess("soft").value == pytest.approx(0.25, abs=0.05)


def test_variance_over_seeds_is_of_each_difference():
    found = Findings(made_up())
    changes = []
    for row in found.rows["soft"]:
        any_things, weights = (
            statistics.fmean(share for shares in row["erased"][by]["change"] for share in unpacked_shares(shares))
            for by in (ANY, WEIGHTS)
        )
        changes.append(any_things - weights)
    expected = math.sqrt(statistics.variance(changes) / 3)
    assert found.lost("soft", WEIGHTS, "change", beside=ANY).parts[0].error == pytest.approx(expected)


def test_looking_anywhere_reproduces_nothing():
    verdict = Findings(made_up(hits=0.3, taken=0.2)).verdict  # both far above cells at random
    assert verdict.result == "not decided"
    known = Findings(made_up(hits=0.3, taken=0.2))
    assert known.pointing("soft", WEIGHTS, RANDOM).result == "reproduced"
    assert known.lost("soft", WEIGHTS, "change").result == "reproduced"


def test_only_what_attends_is_claimed_of():
    found = Findings(made_up())
    assert [claim.model for claim in found.claims] == ["soft", "soft", "reinforce", "reinforce"]
    assert found.verdict.result == "reproduced" and WEIGHTS not in found.orders("fixed vector")


@every(
    ("changed", "result"),
    [
        ({"hits": 0.02}, "contradicted"),
        ({"taken": 0.05}, "contradicted"),
        ({"taken": 0.2}, "not decided"),
        ({"seeds": 1}, "not decided"),
        ({"accuracy": 0.35}, "not decided"),
        ({"accuracy": 0.55}, "not decided"),  # above a guess of the answers, who sees the image alone
        ({"accuracy": 0.35, "seeds": 1}, "not decided"),
    ],
)
def test_verdicts(changed, result):
    verdict = Findings(made_up(**changed)).verdict
    assert verdict.result == result
    assert ("one seed says nothing" in verdict.reason) is (changed == {"seeds": 1})


def test_a_model_that_learned_nothing_is_left_out_and_said_to_be():
    found = Findings(made_up({"soft": 0.8, "reinforce": 0.35, "fixed vector": 0.8}))
    assert found.verdict.result == "reproduced"
    assert "left out, since not shown to be beyond the best guess: reinforce" in found.verdict.reason
    assert [row[-1] for row in found.claimed()[1:]] == ["reproduced"] * 2 + ["not shown to have learned"] * 2
    others = Findings(made_up({"soft": 0.35, "reinforce": 0.35, "fixed vector": 0.8}))
    assert others.verdict.result == "not decided"  # the fixed vector does not attend


def test_tables_and_summary_have_every_model_and_order():
    found = Findings(made_up())
    assert [row[0] for row in found.models()[1:]] == ["soft", "reinforce", "fixed vector"]
    assert len(found.pointed()) == 1 + 2 + 2 + 1 and len(found.erased()) == 1 + 4 * (6 + 6 + 5)
    first = found.erased()[1]
    assert first[:2] == ["soft, by its weights", "1"] and first[3].startswith("+")
    assert float(first[4].split()[0]) == pytest.approx(30, abs=0.5)  # of 70 before
    text = summary(made_up())
    assert "fixed vector, by gradients" in text and "reproduced: soft: its heaviest cell" in text
    assert found.whole().startswith("before anything is erased: soft ") and found.whole().count("% right") == 3
