import math

import numpy as np
import pytest
import torch

from saccade.cli import main
from studies import bottleneck as study
from studies.bottleneck import (
    ATTENTION,
    AUTOENCODER,
    PIXELS,
    PRINCIPAL,
    SIZES,
    STUDY,
    SYMBOLS,
    VECTOR,
    Copier,
    Findings,
    coded,
    copied,
    drawn,
)
from studies.frame.digits import open_data
from studies.frame.direct import Budget, size
from studies.frame.seeds import unpack
from study_rows import complete, described, published, stored, write_mnist
from tiers import every

CPU, BUDGET = torch.device("cpu"), Budget(150, 5.0)
LENGTHS = (10, 100, 1000)
SPENT = {"steps": 9, "seconds": 1.5, "parameters": 1000}
COPIED = {ATTENTION: (1.0, 0.99, 0.95), VECTOR: (0.9, 0.3, 0.1)}
ERRORS, NAMED = (0.05, 0.04, 0.03, 0.02, 0.015, 0.01), (0.4, 0.6, 0.8, 0.85, 0.88, 0.9)


def made_up(copied=COPIED, errors=ERRORS, named=NAMED, seeds=3):
    """report.json of shares that are copied by length, and of codes; seeds differ by a point."""
    images, linear = ["0f" * 2] * 10, {"part": "codes", "model": PRINCIPAL, "seed": 0, "error": 0.06, "right": 0.5}
    rows = [{"part": "codes", "model": PIXELS, "code": 0, "seed": 0, "error": 0.0, "right": 0.92, "shown": images}]
    rows += [{**linear, "code": code} for code in SIZES[False][1]]
    for seed in range(1, seeds + 1):
        for model, shares in copied.items():
            lengths = {
                str(length): {"sequences": 20, "right": share - 0.005 * seed, "bits": 3.0 * length * share - 1}
                for length, share in zip(LENGTHS, shares, strict=True)
            }
            rows.append({"part": "copying", "model": model, "seed": seed, "lengths": lengths, **SPENT})
        for code, error, right in zip(SIZES[False][1], errors, named, strict=True):
            about = {"part": "codes", "model": AUTOENCODER, "code": code, "seed": seed}
            about |= {"error": error + 1e-4 * seed, "right": right + 1e-3 * seed}
            rows.append({**about, **({"shown": images} if seed == 1 else {}), **SPENT})
    budget = {"max_steps": 9, "max_minutes": 1}
    runs = {
        str(place): {**{key: row[key] for key in ("model", "seed", *SPENT)}, "budget": budget}
        for place, row in enumerate(rows)
        if "steps" in row
    }
    arguments = {"data": "some digits", "width": 64, "side": 2}
    where = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "bottleneck", "command": "c", "arguments": arguments, "runs": runs, "rows": rows, **where}


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"copied": {**COPIED, ATTENTION: (1.0, 0.8, 0.5)}}, "contradicted"),  # it falls by more than half as much
        ({"copied": {**COPIED, VECTOR: (0.9, 0.9, 0.97)}}, "contradicted"),  # the vector is better, and rises
        ({"errors": (0.01, 0.01, 0.01, 0.01, 0.01, 0.02)}, "contradicted"),
        ({"named": (0.9, 0.8, 0.8, 0.8, 0.8, 0.8)}, "contradicted"),
        ({"copied": {**COPIED, VECTOR: (0.2, 0.1, 0.1)}}, "not decided"),  # it has not learned
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_a_model_that_has_not_learned_is_named():
    reason = Findings(made_up(copied={**COPIED, ATTENTION: (0.2, 0.1, 0.1)})).verdict.reason
    assert reason == "nothing can be concluded: attention: fewer than 30% of 10 tokens are copied; train it longer"


def test_both_models_have_same_parameters_within_a_tenth():
    attending, vector = (size(Copier(64, attends=attends)) for attends in (True, False))
    assert abs(attending / vector - 1) <= 0.1


def test_through_one_vector_nothing_else_passes():
    """Sequences whose reading ends in the same state are written alike; with attention they are not."""
    torch.manual_seed(1)
    tokens = torch.randint(SYMBOLS, (1, 7))
    for attends in (True, False):
        model = Copier(8, attends=attends)
        read = model.reader.forward
        model.reader.forward = lambda embedded, read=read: (read(embedded)[0], torch.ones(1, len(embedded), 8))
        assert torch.equal(model(tokens), model((tokens + 1) % SYMBOLS)) is not attends


def test_every_length_is_trained_on_in_as_many_tokens():
    counts = dict.fromkeys(SIZES[False][0], 0)
    for step in range(3000):
        tokens = drawn(SIZES[False][0], step, 1)
        counts[tokens.shape[1]] += tokens.numel()
    shares = [count / sum(counts.values()) for count in counts.values()]
    assert shares == pytest.approx(len(counts) * [1 / len(counts)], abs=0.05)
    assert torch.equal(drawn(SIZES[False][0], 5, 2), drawn(SIZES[False][0], 5, 2))


def test_a_guess_has_no_bit_and_a_perfect_model_all(monkeypatch):
    class Perfect(Copier):
        def forward(self, tokens):
            return super().forward(tokens) * 0 + 1e4 * torch.nn.functional.one_hot(tokens, SYMBOLS)

    class Guessing(Copier):
        def forward(self, tokens):
            return super().forward(tokens) * 0

    for kind, right, bits in ((Perfect, 1.0, 20 * math.log2(SYMBOLS)), (Guessing, 1 / SYMBOLS, 0.0)):
        monkeypatch.setattr(study, "Copier", kind)
        result = copied(VECTOR, 4, (20,), 1, Budget(1, 1.0), CPU)["lengths"]["20"]
        assert result["right"] == pytest.approx(right, abs=0.03) and result["bits"] == pytest.approx(bits, abs=1e-3)


@pytest.mark.slow
def test_a_model_learns_and_is_measured_at_every_length():
    untrained, trained = (copied(ATTENTION, 16, (4, 6), 1, Budget(steps, 5.0), CPU) for steps in (1, 150))
    assert list(trained["lengths"]) == ["4", "6"] and trained["steps"] == 150
    for length in ("4", "6"):
        assert trained["lengths"][length]["right"] > untrained["lengths"][length]["right"] + 0.3
        assert trained["lengths"][length]["bits"] > 3 + untrained["lengths"][length]["bits"]


@pytest.fixture(scope="module")
def digits():
    return open_data("digits")


def test_principal_components_are_the_nearest_plane(digits):
    result = coded(PRINCIPAL, 3, digits, 0, BUDGET, CPU)
    rows = digits.train.double().numpy()
    plane = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2][:3]
    test = digits.test.double().numpy() - rows.mean(0)
    assert result["error"] == pytest.approx(((test - test @ plane.T @ plane) ** 2).mean(), rel=1e-4)
    assert "steps" not in result and "shown" not in result


@pytest.mark.slow
def test_a_larger_code_keeps_more_and_pixels_keep_all(digits):
    small, large = (coded(AUTOENCODER, code, digits, 1, BUDGET, CPU) for code in (2, 32))
    whole = coded(PIXELS, 0, digits, 0, BUDGET, CPU)
    assert small["error"] > 1.5 * large["error"] > 0 == whole["error"]
    assert small["right"] < large["right"] and whole["right"] > 0.9 and large["steps"] == 150
    assert len(large["shown"]) == 10 and "shown" not in coded(AUTOENCODER, 2, digits, 2, Budget(1, 1.0), CPU)
    first = digits.test[int((digits.truth == 0).nonzero()[0])]
    shown = torch.tensor(unpack(whole["shown"][0], "counts")) / 15
    assert float((shown - first).abs().max()) <= 0.5 / 15 + 1e-6


def test_the_users_images_are_coded(tmp_path):
    result = coded(AUTOENCODER, 2, open_data(str(write_mnist(tmp_path / "m"))), 1, Budget(2, 1.0), CPU)
    assert 0 <= result["right"] <= 1 and len(result["shown"][9]) == 36


def test_the_page_is_complete(tmp_path):
    words = ["1409.1259", "**reproduced**", "The vector has 64 numbers", "some digits", "The 5 claims are judged"]
    words += ["| with attention it falls by less than half of that | 5.0 ± 0.0 points | reproduced |"]
    words += ["| through | 10 | 100 | 1000 |", "| one vector, bits | 26 ± 0 | 89 ± 0 | 299 ± 0 |"]
    words += ["| one vector, % right | 89.0 ± 1.2 | 29.0 ± 1.2 | 9.0 ± 1.2 |"]
    words += ["| 2 | 0.0502 ± 0.0002 | 0.0600 | 40.2 ± 0.2 | 50.0 |", "| all pixels | 0 | 0 | 92.0 | 92.0 |"]
    names = ("bottleneck", "bottleneck-bits", "bottleneck-digits")
    complete(STUDY, made_up(), tmp_path, words, *names)
    shares, bits, images = (described(tmp_path / f"{name}.svg")["desc"] for name in names)
    assert "attention: 99 at 10" in shares and "all there are: 33.22 (hollow) at 10" in bits
    assert images.startswith("7 rows of 10: the digits, 2 numbers")


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two steps of every training, at two lengths."""
    codes, few = {False: (2, 3), True: (2, 8, 64)}, Budget(2, 1.0)
    monkeypatch.setattr(study, "SIZES", {quick: ((4, 6), sizes, few, few) for quick, sizes in codes.items()})
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_quick_makes_every_row_once_and_the_page(small, tmp_path, capsys):
    words = ["report", "bottleneck", "--quick", "--seeds", "2", "--threads", "1"]
    assert main(words) == 0
    folder = tmp_path / "reports/bottleneck-quick"
    content = stored(folder)
    assert [row["model"] for row in content["rows"]] == [
        *("pixels", "principal components", "principal components", "principal components"),
        *2 * ["attention", "one vector", "autoencoder", "autoencoder", "autoencoder"],
    ]
    assert list(content["rows"][4]["lengths"]) == ["4", "6"] and content["arguments"]["side"] == 28
    assert "images train 1439" in content["arguments"]["data"] and len(content["runs"]) == 10
    assert "nothing can be concluded" in capsys.readouterr().out
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before
    assert "complete already" in capsys.readouterr().err
    assert main([*words, "--width", "8"]) == 2 and "made with --width 64, not 8" in capsys.readouterr().err


@pytest.mark.slow
def test_its_published_command_reads_other_digits(small, tmp_path):
    write_mnist(tmp_path / "mnist")
    assert main([*published("bottleneck-mnist"), "--seeds", "1", "--threads", "1", "--width", "128"]) == 0
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["bottleneck-mnist"]
    assert stored(tmp_path / "reports/bottleneck-mnist")["arguments"]["width"] == 128


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--width 7", "--width: expected an even number from 2 on, got 7"),
        ("--data no/such", "--data: "),
        ("--quick --max-steps 3", "--quick: expected no budget beside it"),
        ("--device tpu", "--device: expected one of auto, cpu"),
    ],
)
def test_options_without_meaning_are_rejected(words, message, rejects):
    rejects(f"bottleneck {words}", message)
