import pytest

from saccade.cli import main
from studies import scaling as study
from studies.frame.seeds import pack
from studies.scaling import GLIMPSES, HARD, MODELS, PATCH, SOFT, STUDY, Findings, operations, prepared
from study_rows import complete, run_of, stored
from tiers import every

SIDES = (28, 60, 100, 200, 400, 800)
POWERS = {"RAM": (0.0, 2.0), HARD: (0.5, 0.05), SOFT: (0.9, 0.01)}
POWERS |= {"CNN of the paper": (0.8, 0.001), "residual CNN": (1.0, 0.01)}
ERRORS = {60: 1, 100: 5, 200: 8}


def content(powers=POWERS, error=0.01, wrong=ERRORS):
    """A report of models whose times are powers of the pixels: from their names to exponent and factor."""
    rows = []
    for side in SIDES:
        amounts = {name: factor * side ** (2 * power) for name, (power, factor) in powers.items()}
        models = {
            name: {"seconds": 1e-3 * x, "error": 1e-3 * error * x, "flops": round(1e6 * x)}
            for name, x in amounts.items()
        }
        rows.append({"measured": "time", "side": side, "rounds": 9, "models": models})
    for side, count in wrong.items():
        about = {"paths": 10, "wrong": pack([count] * 20, "counts"), "error": count / 10}
        rows += [{"model": "ram", "seed": seed, "measured": "size", "side": side, **about} for seed in (1, 2, 3)]
    return {"rows": rows, "runs": {"ram-1": run_of("ram")}, "data": "translated", "arguments": {}, "command": "c"}


def test_costs_that_grow_as_claimed_reproduce_it():
    findings = Findings(content())
    assert findings.verdict.result == "reproduced" and findings.long == [200, 400, 800]
    assert findings.powers["RAM"].value == pytest.approx(0.0, abs=1e-9)
    assert findings.powers[SOFT].value == pytest.approx(0.9)
    assert "the time of RAM does not grow: reproduced, pixels^(0.00 ± 0.01) from 200 to 800" in findings.verdict.reason
    assert f"the operations of {SOFT} grow: reproduced, counted, pixels^0.90" in findings.verdict.reason
    assert "takes 42.0 (4" in findings.verdict.reason  # 0.01 / 0.05 · 800^0.8
    assert findings.verdict.reason.endswith("times the operations")


@every(
    ("changed", "error", "result"),
    [
        ({"RAM": (0.5, 0.01)}, 0.01, "contradicted"),
        ({SOFT: (0.0, 20.0)}, 0.01, "contradicted"),
        ({HARD: (0.9, 0.02)}, 0.01, "contradicted"),  # soft attention is cheaper
        ({}, 2.0, "not decided"),
    ],
)
def test_the_numbers_decide(changed, error, result):
    assert Findings(content({**POWERS, **changed}, error)).verdict.result == result


def test_a_model_that_guesses_on_larger_images_does_not_answer_them():
    findings = Findings(content(wrong={60: 1, 200: 10}))
    text = "ram, trained at 60 pixels a side, is better than a guess at 200: contradicted, 100.00 ± 0.00% wrong"
    assert findings.verdict.result == "contradicted" and text in findings.verdict.reason
    assert "no size is in the weights: each model answers images of every size: reproduced" in findings.verdict.reason


def test_the_tables():
    fields = Findings(content()).fields()
    assert fields["times"][0] == ["pixels a side", *POWERS] and len(fields["times"]) == len(SIDES) + 2
    assert fields["times"][-1][:2] == ["power of the pixels", "0.00 ± 0.01"]
    assert fields["operations"][-1] == ["power of the pixels", "0.00", "0.50", "0.90", "0.80", "1.00"]
    assert fields["errors"][1:] == [
        ["ram", "60", "10.00", ""],
        ["ram", "100", "50.00", "+40.00 ± 0.00 points (standard errors: seeds 0.00, images 0.00)"],
        ["ram", "200", "80.00", "+70.00 ± 0.00 points (standard errors: seeds 0.00, images 0.00)"],
    ]


def test_the_page_is_complete(tmp_path):
    words = ["1406.6247", "**reproduced**", "6 × 2,304 pixels", "| ram | 200 | 80.00 |", "power of the pixels"]
    complete(STUDY, content(), tmp_path, words, "scaling")


@every("name", MODELS)
def test_every_model_answers_images_of_any_size(name):
    assert [prepared(name, side)().shape for side in (28, 61)] == [(1, 10)] * 2


def test_operations_of_an_eye_are_those_of_its_glimpses():
    what, where = 3 * PATCH**2 * 128 + 128 * 256, 2 * 128 + 128 * 256
    core, chosen = 2 * 256 * 256, (GLIMPSES - 1) * 2 * 256
    assert operations("RAM", 28) == operations("RAM", 200) == 2 * (GLIMPSES * (what + where + core + 2560) + chosen)


def test_soft_attention_encodes_every_tile_and_hard_few():
    hard, soft = ([operations(name, side) for side in (60, 120)] for name in (HARD, SOFT))
    more = (120 // PATCH) ** 2 - (60 // PATCH) ** 2
    encoded = 2 * (PATCH**2 * 128 + 128 * 256 + 2 * 128 + 128 * 256)
    assert (soft[1] - soft[0]) - (hard[1] - hard[0]) >= more * encoded and hard[1] < soft[1] / 3


@pytest.mark.slow
def test_answers_are_timed_at_unseen_sizes(few_digits, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "_SIDES", (28, 40, 56))
    monkeypatch.setattr(study, "_EYES", ("tiles",))
    monkeypatch.chdir(tmp_path)
    words = "--data translated --max-steps 2 --seconds 0.001"
    assert main(["report", "scaling", *words.split()]) == 0
    assert "Millions of operations" in capsys.readouterr().out
    rows = stored(tmp_path / "reports/scaling-translated")["rows"]
    assert [row["side"] for row in rows] == [28, 40, 56, 60, 100, 200]
    assert list(rows[0]["models"]) == list(MODELS) and rows[0]["models"]["RAM"]["seconds"] > 0


@every(
    ("words", "message"),
    [
        ("--data digits", "--data: expected translated or cluttered, got digits"),
        ("--data translated --canvas 80", "--canvas: expected 60, which others are compared with, got 80"),
        ("--data translated --seconds 0", "--seconds: expected a number above 0"),
    ],
)
def test_options_without_meaning_are_rejected(words, message, rejects):
    rejects(f"scaling {words}", message)
