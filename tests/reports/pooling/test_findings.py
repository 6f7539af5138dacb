import json
from pathlib import Path

import pytest

from reports.pooling.conftest import TEXTS, VALUES, made_up
from saccade.reports.pooling.findings import VECTORS, Findings, summary
from tiers import every

PUBLISHED = Path(__file__).resolve().parents[3] / "results/pooling-sst2/report.json"


@every(
    ("changed", "more", "result", "words"),
    [
        ({}, {}, "reproduced", "fixed dot is better than sum: reproduced, +1.00 ± "),
        ({"fixed MLP": 0.79}, {}, "not decided", "fixed MLP is better than fixed dot: not decided, +0.00 ± "),
        ({"rnn-attention": 0.7}, {}, "contradicted", "rnn-attention is better than self-attention: contradicted"),
        (dict.fromkeys(VALUES, 0.8), {}, "not decided", "fixed dot is better than sum: not decided"),
        ({}, {"spread": 0.02}, "not decided", "fixed dot is better than sum: not decided"),  # seeds differ by more
        ({}, {"seeds": 1}, "not decided", "one seed says nothing of how far others would differ"),
        ({}, {"lowers": 0.0}, "not decided", "denies weighs in rnn-attention: not decided, by +0.00"),
        ({}, {"lowers": -1.0}, "contradicted", "denies weighs in rnn-attention: contradicted, by -1."),
        (
            dict.fromkeys(VALUES, 0.52),
            {},
            "not decided",
            "nothing can be concluded: no model got clearly more than half",
        ),
    ],
)
def test_the_numbers_decide_step_by_step(changed, more, result, words):
    verdict = Findings(made_up(changed, **more)).verdict
    assert verdict.result == result and words in verdict.reason


def test_a_gain_has_the_error_of_seeds_and_of_sentences():
    found = Findings(made_up({"rnn-attention": 0.98}))
    seeds, sentences = found.gain("rnn-attention", "sum").parts
    assert seeds.error == pytest.approx((2 * 0.001**2 / 3) ** 0.5) and seeds.freedom == pytest.approx(4)
    # a fifth of the sentences are right with the one alone
    assert sentences.error == pytest.approx((0.2 * 0.8 / TEXTS) ** 0.5, rel=0.01) and sentences.count == TEXTS


def test_rows_without_sentences_have_the_largest_error(content):
    known = Findings(content).gain("rnn-attention", "sum")
    for row in content["rows"]:
        row.pop("right", None)
    found = Findings(content)
    bound = found.gain("rnn-attention", "sum")
    assert bound.value == pytest.approx(known.value) and bound.parts[0] == pytest.approx(known.parts[0])
    assert bound.parts[1].error == pytest.approx(((0.78 * 0.22 + 0.83 * 0.17) / TEXTS) ** 0.5)
    assert bound.parts[1].error > known.parts[1].error
    assert "the largest that it may be" in found.note and "the largest" not in Findings(made_up()).note


def test_weights_fall_beside_words_that_know_neighbours(content):
    found = Findings(content)
    header, dot, *_, attention, recurrent = found.weighed()
    assert header[1:3] == ["weight without a not", "with it"] and found.lowered("sum") is None
    assert dot == ["fixed dot", "0.500", "0.250", "+0.00 ± 0.00", "its own alone"]
    assert attention[3].startswith("+2.11 ± ") and attention[4] == recurrent[4] == "reproduced"
    for row in content["rows"]:
        for pair in row.get("pairs", []):
            pair.pop("relative", None)
    assert Findings(content).weighed() == []


def test_models_with_vectors_are_a_ladder_of_their_own(content):
    drawn = [{**row, "model": row["model"] + VECTORS} for row in content["rows"]]
    runs = {f"{name} v": {**run, "model": run["model"] + VECTORS} for name, run in content["runs"].items()}
    both = Findings({**content, "rows": content["rows"] + drawn, "runs": content["runs"] | runs})
    assert [ladder[0] for ladder in both.ladders] == ["sum", f"sum{VECTORS}"]
    assert both.table(1)[1][0] == f"sum{VECTORS}" and both.table(1)[2][2:4] == both.table(0)[2][2:4]
    assert len(both.claims()) == 2 * (6 + 2)


def test_the_tables(content):
    found = Findings(content)
    header, first, second, *_ = found.table()
    assert header[:5] == ["model", "test accuracy", "beside the one above", "it is better", "validation"]
    assert first == ["sum", "78.00 ± 0.10", "", "", "79.00 ± 0.10", "5", "2", "1,000"]
    assert second[:2] == ["fixed dot", "79.00 ± 0.10"] and second[2].startswith("+1.00 ± ")
    assert second[3] == "reproduced"
    _, first, second, *_ = found.negation()
    assert first == ["sum", "-1.00", "-1.00", "50%", "0%"]
    assert second == ["fixed dot", "-4.00", "+4.00", "100%", "100%"]
    assert found.pairs()[1][:3] == ["the movie was not good", "0.88 → 0.73", "0.88 → 0.12"]


def test_the_summary_ends_with_what_the_numbers_say(content):
    assert summary(content).splitlines()[-1].startswith("reproduced: fixed dot is better than sum: reproduced, +1.00")


def test_what_is_published_is_judged_over_seeds_and_sentences():
    found = Findings(json.loads(PUBLISHED.read_text(encoding="utf-8")))
    seeds, sentences = found.gain("rnn-attention", "sum").parts
    assert found.verdict.result == "not decided" and seeds.error > 0 < sentences.error
