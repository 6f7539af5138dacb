import pytest

from reports.complexity.conftest import POWERS, made_up
from saccade.reports.complexity.findings import Findings, summary


def test_layers_that_grow_as_formulas_say_reproduce_claim(content):
    found = Findings(content)
    assert found.verdict.result == "reproduced"
    assert "forward, self-attention grows as its formula, n^1.79: reproduced, n^(1.80 ± 0.06)" in found.verdict.reason
    assert found.long == [256, 362, 512, 724, 1024]
    assert found.expected("GRU") == pytest.approx(1.0) and 1.75 < found.expected("self-attention") < 1.9


@pytest.mark.parametrize(
    ("changed", "result"),
    [
        ({"convolution": (0.7, 2.0)}, "contradicted"),  # it does not grow as its formula
        ({"self-attention": (1.0, 0.05)}, "contradicted"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up({**POWERS, **changed})).verdict.result == result


def test_what_is_within_the_error_decides_nothing():
    assert Findings(made_up(error=2.0)).verdict.result == "not decided"


def test_it_says_where_attention_falls_behind():
    assert "takes longer than the GRU from 569 positions on, 8.9 times the width" in Findings(made_up()).crossing(
        "forward"
    )
    slow = Findings(made_up({**POWERS, "self-attention": (1.8, 9.0)}))
    assert slow.crossing("forward").endswith("takes longer than the GRU from 128 positions on already")
    fast = Findings(made_up({**POWERS, "self-attention": (1.8, 0.005)})).crossing("forward")
    assert (
        "up to 1024 positions by the medians, there by a factor of 6.2; the fitted powers would meet at 10119" in fast
    )
    assert fast.endswith(", 158.1 times the width")
    never = Findings(made_up({**POWERS, "self-attention": (1.0, 1.0)})).crossing("forward")
    assert never.endswith("there by a factor of 8.0")


def test_a_length_that_was_disturbed_is_no_crossing(content):
    content["rows"][0]["layers"]["self-attention"]["seconds"] = 1.0  # the shortest, forward
    assert "from 569 positions on" in Findings(content).crossing("forward")
    for row in content["rows"][-2:]:
        row["layers"]["self-attention"]["seconds"] = 1e-6  # the longest
    found = Findings(content).crossing("forward")
    assert "takes less time than the GRU up to 1024 positions" in found and "would meet" not in found


def test_the_table_has_a_row_a_length_and_the_exponents(content):
    header, first, *_, exponents, formulas = Findings(content).table("forward")
    assert header[:2] == ["length", "GRU, ms"] and header[-1] == "self-attention, MiB"
    assert first[:2] == ["128", "1.02 ± 0.00"] and first[-1] == "2.0"
    assert exponents[1] == "1.00 ± 0.00" and exponents[-1] == "1.00 ± 0.00" and formulas[1] == "1.00"


@pytest.mark.parametrize("amount", [None, 4096])
def test_memory_that_is_not_known_or_too_little_has_no_exponent(content, amount):
    for row in content["rows"]:
        row["layers"]["GRU"]["bytes"] = amount
    found = Findings(content)
    assert found.memory("forward", "GRU") is None and found.table("forward")[-2][4] == "-"
    assert found.table("forward")[1][4] == ("-" if amount is None else "0.0")


def test_the_summary_ends_with_what_the_numbers_say(content):
    said = "reproduced: forward, self-attention grows faster than GRU: reproduced, by n^(0.80"
    assert summary(content).splitlines()[-1].startswith(said)
