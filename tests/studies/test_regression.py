import math

import numpy as np
import pytest

from saccade.cli import main
from studies import regression as module
from studies.regression import BEST, KERNEL, LEARNED, MEAN, NOISE, STUDY, Findings, drawn, estimate
from study_rows import complete, described, stored
from tiers import every

POWERS = {MEAN: (0.0, 0.5), BEST: (-0.8, 1.0), KERNEL: (-0.85, 1.4), LEARNED: (-0.7, 1.0)}


def made_up(changed=None, counts=(64, 128, 256, 512), error=0.01, seeds=4):
    """report.json of errors that are powers of the number of points: by name an exponent and a factor."""
    rows = [
        {"way": way, "n": n, "seed": s, "mse": factor * n**power * math.exp(error * (-1) ** s), "bandwidth": n**-0.2}
        for way, (power, factor) in {**POWERS, **(changed or {})}.items()
        for n in counts
        for s in range(1, seeds + 1)
    ]
    about = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "regression", "command": "c", "arguments": {}, "runs": {}, "rows": rows, **about}


@every(
    ("changed", "error", "result", "words"),
    [
        ({}, 0.01, "reproduced", "within 0.1: reproduced, n^(-0.800 ± 0.009); that of the mean stays, "),
        ({}, 0.01, "reproduced", f"it falls as n^(-0.850 ± 0.009), to {1.4 * 512**-0.05:.2f} times the best"),
        ({BEST: (-0.5, 1.0)}, 0.01, "contradicted", "within 0.1: contradicted, n^(-0.500"),
        ({BEST: (-1.0, 1.0)}, 0.01, "contradicted", "within 0.1: contradicted, n^(-1.000"),
        ({MEAN: (-0.4, 1.0)}, 0.01, "contradicted", "that of the mean stays, within n^(0.1): contradicted"),
        ({}, 1.0, "not decided", "within 0.1: not decided"),
        ({BEST: (-0.77, 1.0)}, 0.01, "reproduced", "within 0.1: reproduced, n^(-0.770"),
    ],
)
def test_the_numbers_decide(changed, error, result, words):
    verdict = Findings(made_up(changed, error=error)).verdict
    assert verdict.result == result and words in verdict.reason


def test_the_page_is_complete(tmp_path):
    content = made_up()
    content["rows"] = [row for row in content["rows"] if row["way"] != LEARNED or row["n"] < 500]
    words = ["**reproduced**: by the best bandwidth", "Machine: device cpu."]
    words += [
        "| points | mean | best bandwidth | leave-one-out | learned kernel | h, best bandwidth | h, leave-one-out |"
    ]
    words += ["| 512 | 0.50003 ± 0.00919 | 0.00680 ± 0.00012 |", "|  | 0.28717 ± 0.00000 |", "| power of n | 0.000 ±"]
    words += ["| by the theory | 0 | -0.80 | -0.80 |  | -0.20 | -0.20 |", "learned kernel 4."]
    complete(STUDY, content, tmp_path, words, "errors")
    assert "best bandwidth: n^(-0.80 ± 0.01)" in described(tmp_path / "errors.svg")["desc"]


def test_without_learned_kernels_there_is_no_column():
    content = made_up()
    content["rows"] = [row for row in content["rows"] if row["way"] != LEARNED]
    header, *_ = Findings(content).fields()["errors"]
    assert header == ["points", MEAN, BEST, KERNEL, "h, best bandwidth", "h, leave-one-out"]


def test_points_are_those_of_their_seed_and_count():
    x, y = drawn(400, 3)
    assert np.array_equal(x, drawn(400, 3)[0]) and not np.array_equal(x, drawn(400, 4)[0])
    rest = y - np.cos(2 * np.pi * x)
    assert rest.std() == pytest.approx(NOISE, rel=0.2) and 0 <= x.min() < x.max() <= 1


def test_the_best_bandwidth_beats_others_and_the_mean(tmp_path):
    found = {way: estimate(way, 200, 1, tmp_path, 2) for way in (MEAN, BEST, KERNEL)}
    assert found[MEAN]["mse"] == pytest.approx(0.5, rel=0.05)
    assert found[BEST]["mse"] <= found[KERNEL]["mse"] * (1 + 1e-6) < 0.02 and 0.01 < found[BEST]["bandwidth"] < 0.1


@pytest.mark.slow
def test_a_learned_kernel_is_an_ordinary_run(tmp_path):
    found = estimate(LEARNED, 40, 2, tmp_path, 3)
    assert found["steps"] == 3 and 0 < found["mse"] < 2
    assert (tmp_path / "learned-kernel-40-2/results.json").exists()


COUNTS = ["--counts", "16", "8", "32", "--learned", "1", "--steps", "2", "--threads", "1"]
WORDS = ["report", "regression", *COUNTS, "--seeds"]


@pytest.fixture
def estimated(monkeypatch, tmp_path):
    """Errors from a formula; the list of estimates, of which the eighth is interrupted once."""
    estimates = []

    def formula(way, count, seed, folder, steps):
        estimates.append((way, count, seed))
        if len(estimates) == 8:
            raise KeyboardInterrupt
        return {"mse": count**-0.8, "bandwidth": 0.1}

    monkeypatch.setattr(module, "estimate", formula)
    monkeypatch.chdir(tmp_path)
    return estimates


def test_a_killed_study_goes_on_and_more_seeds_add_rows(estimated, tmp_path, capsys):
    folder = tmp_path / "reports/regression"
    assert main([*WORDS, "2"]) == 130 and len(stored(folder)["rows"]) == 7
    assert main([*WORDS, "2"]) == 0
    out = capsys.readouterr().out
    assert "by the theory" in out and out.endswith("report: reports/regression\n")
    assert stored(folder)["arguments"]["counts"] == [8, 16, 32] and len(stored(folder)["rows"]) == 2 * 3 * 3 + 3
    assert main([*WORDS, "2"]) == 0 and "is complete already" in capsys.readouterr().err
    assert len(estimated) == 22 and len(set(estimated)) == 21
    assert main([*WORDS, "3"]) == 0 and len(stored(folder)["rows"]) == len(set(estimated)) == 30


@every(
    ("words", "message"),
    [
        ("--counts 8 16", "--counts: expected 3 or more, from 8 to 20000, got 8 16"),
        ("--counts 1 8 16", "--counts: expected 3 or more"),
        ("--seeds 0", "--seeds: expected a number above 0, got 0"),
        ("--learned -1", "--learned: expected a number from 0 on, got -1"),
        ("--quick --seeds 3", "--quick: expected none of --counts, --seeds, --learned, --steps beside it"),
    ],
)
def test_options_without_meaning_are_rejected(words, message, rejects):
    rejects(f"regression {words}", message)
