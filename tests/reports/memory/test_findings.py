import math
import statistics

import pytest

from reports.memory.conftest import FAILS, NOTHING, SEQUENCES, WIDTH, holds, made_up
from saccade.reports.memory.findings import CONTENT, LOCATION, LSTM, NEAR, NTM, Claim, Findings, summary
from tiers import every


def test_errors_are_those_of_the_sequences():
    found = Findings(holds())
    assert (found.unit, found.trained, found.longest) == ("vectors", 20, 120)
    assert found.lengths == [20, 40, 80, 120] and found.groups == ["1-20", "20", "40", "80", "120"]
    lstm = found.error(LSTM, 120)
    assert lstm.value == pytest.approx(statistics.fmean(row["120"]["bit_error"] for row in found.rows[LSTM]))
    # independent bits: of three seeds the mean over a sequence varies by this
    assert lstm.parts[1].error == pytest.approx(math.sqrt(0.45 * 0.55 / (3 * WIDTH * 120 * SEQUENCES)), rel=0.3)
    assert found.more(LSTM, NTM, 120).value == pytest.approx(lstm.value) and found.error(NTM, 120).value == 0


def test_a_rise_is_that_of_the_same_trainings_over_other_sequences():
    found = Findings(made_up((0.1, 0.1, 0.1, 0.3), FAILS))
    rise = found.rise(NTM)
    each = [row["120"]["bit_error"] - row["20"]["bit_error"] for row in found.rows[NTM]]
    assert rise.value == pytest.approx(statistics.fmean(each))
    assert rise.parts[0].error == pytest.approx(statistics.stdev(each) / math.sqrt(3))
    assert rise.parts[1].error == pytest.approx(
        math.hypot(*(found.error(NTM, length).parts[1].error for length in (120, 20)))
    )
    assert not Findings(holds(seeds=1)).rise(LSTM).is_known


@every(
    ("content", "result"),
    [
        (holds(), "reproduced"),
        (holds(seeds=1), "not decided"),
        (made_up((0.0, 0.0, 0.0, 0.002), FAILS), "reproduced"),
        (made_up((0.0, 0.0, 0.0, NEAR), FAILS), "not decided"),  # as much as may be, give or take
        (made_up((0.0, 0.0, 0.1, 0.2), FAILS), "contradicted"),  # better than the LSTM, and not near its own
        (made_up(NOTHING, NOTHING), "not decided"),  # the LSTM generalizes, too
        (made_up((0.05, 0.05, 0.05, 0.05), (0.0, 0.0, 0.0, 0.01)), "contradicted"),  # it is the better one
        (made_up((0.04, 0.04, 0.04, 0.04), (0.3, 0.3, 0.3, 0.2)), "contradicted"),  # it fails, and not by length
        (made_up((0.3, 0.3, 0.3, 0.3), FAILS), "not decided"),
    ],
)
def test_verdicts(content, result):
    assert Findings(content).verdict.result == result


def test_claim_that_rise_is_small_is_judged_by_what_is_left():
    found = Findings(made_up((0.0, 0.0, 0.0, 0.2), FAILS))
    near = found.claims[1]
    assert near.margin.value == pytest.approx(NEAR - near.found.value) and found.claimed()[2][-1] == "contradicted"
    assert near.margin.error == near.found.error and near.found.value == pytest.approx(0.2, abs=0.01)
    above = Claim("", near.found)
    assert above.margin is near.found


def test_what_the_lstm_did_not_learn_is_said():
    assert "which it was trained on" not in Findings(holds()).verdict.reason
    reason = Findings(made_up(NOTHING, (0.3, 0.4, 0.4, 0.45))).verdict.reason
    assert reason.endswith("of the bits wrong at 20 vectors, which it was trained on")
    none = Findings(made_up((0.3,) * 4, FAILS)).verdict.reason
    assert none.startswith("nothing can be concluded: the NTM has ")
    assert none.endswith("train it longer")


def test_addressing_is_worse_better_or_not_decided():
    content = made_up((0.02, 0.1, 0.1, 0.1), FAILS, **{CONTENT: FAILS, LOCATION: (0.02, 0.0, 0.0, 0.0)})
    header, alone, moved = Findings(content).addressing()
    assert header[1:] == ["at 20 vectors more than by both", "at 120 vectors more than by both"]
    assert alone[0] == CONTENT and alone[2].endswith("(worse)") and moved[2].endswith("(better)")
    assert moved[1].endswith("(not decided)")


def test_tables_have_a_row_a_model_and_a_column_a_length():
    found = Findings(holds())
    header, first, *others = found.table()
    assert header == ["model", "1-20", "20", "40", "80", "120", "at 120 more than ntm"]
    assert first == [NTM, *5 * ["0.00 ± 0.00"], ""] and all(row[-1].startswith("+") for row in others)
    assert found.bits()[1] == [NTM, *5 * ["0.00 ± 0.00"]] and len(found.models()) == len(found.rows) + 1
    text = summary(holds())
    assert "bits wrong on test in percent" in text and "\nreproduced: the LSTM has more bits wrong at 120" in text
