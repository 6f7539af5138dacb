import pytest
import torch

from saccade import look
from saccade.bench.row import Absent
from saccade.cli import main
from saccade.errors import ArgumentError
from studies import complexity
from studies.complexity import LAYERS, PASSES, STUDY, Findings, Options, Point, bytes_of, measure, prepared
from study_rows import complete, described, stored, written

POWERS = {"GRU": (1.0, 8.0), "convolution": (1.0, 2.0), "self-attention": (1.8, 0.05)}


def made_up(powers=POWERS, lengths=(128, 256, 362, 512, 724, 1024), error=0.001, width=64):
    """report.json of layers whose times are powers of the length: from their names to exponent and factor."""
    rows = [
        {
            "pass": way,
            "length": n,
            "rounds": 9,
            "layers": {
                name: {"seconds": 1e-6 * factor * n**power, "error": 1e-6 * error * factor * n**power, "bytes": n << 14}
                for name, (power, factor) in powers.items()
            },
        }
        for n in lengths
        for way in ("forward", "forward+backward")
    ]
    arguments = {"width": width, "heads": 4, "batch": 2}
    about = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "complexity", "command": "c", "arguments": arguments, "runs": {}, "rows": rows, **about}


@pytest.fixture
def content():
    """Layers that grow as table 1 says."""
    return made_up()


def test_growth_by_formula_reproduces_the_claim(content):
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


def test_large_errors_decide_nothing():
    assert Findings(made_up(error=2.0)).verdict.result == "not decided"


def test_the_page_has_the_crossing():
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


def test_a_disturbed_length_is_no_crossing(content):
    content["rows"][0]["layers"]["self-attention"]["seconds"] = 1.0  # the shortest, forward
    assert "from 569 positions on" in Findings(content).crossing("forward")
    for row in content["rows"][-2:]:
        row["layers"]["self-attention"]["seconds"] = 1e-6  # the longest
    found = Findings(content).crossing("forward")
    assert "takes less time than the GRU up to 1024 positions" in found and "would meet" not in found


def test_the_table_has_lengths_and_exponents(content):
    header, first, *_, exponents, formulas = Findings(content).table("forward")
    assert header[:2] == ["length", "GRU, ms"] and header[-1] == "self-attention, MiB"
    assert first[:2] == ["128", "1.02 ± 0.00"] and first[-1] == "2.0"
    assert exponents[1] == "1.00 ± 0.00" and exponents[-1] == "1.00 ± 0.00" and formulas[1] == "1.00"


@pytest.mark.parametrize("amount", [None, 4096])
def test_missing_or_little_memory_has_no_exponent(content, amount):
    for row in content["rows"]:
        row["layers"]["GRU"]["bytes"] = amount
    found = Findings(content)
    assert found.memory("forward", "GRU") is None and found.table("forward")[-2][4] == "-"
    assert found.table("forward")[1][4] == ("-" if amount is None else "0.0")


def at(way, length=5, width=8, **changed):
    return Point(way, length, **{"width": width, "batch": 2, "heads": 2, "device": "cpu", "threads": 1, **changed})


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_keeps_the_shape_and_learns(name):
    forward, training = (prepared(name, at(way)) for way in PASSES)
    output = forward()
    assert output.shape == (2, 5, 8) and not output.requires_grad
    gradients = training()
    module = LAYERS[name].make(at("forward"))
    assert [g.shape for g in gradients] == [torch.Size((2, 5, 8)), *(p.shape for p in module.parameters())]
    assert all(bool(g.abs().sum() > 0) for g in gradients[:2])


def test_attention_and_recurrence_meet_at_the_width():
    ours, theirs = LAYERS["self-attention"].products, LAYERS["GRU"].products
    assert ours(64, 64) == theirs(64, 64) and ours(63, 64) < theirs(63, 64) and ours(65, 64) > theirs(65, 64)


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own():
    grown = bytes_of("convolution", at("forward", length=1 << 14, width=64))
    assert 8 << 20 <= grown < 1 << 30  # its output alone is 8 MiB
    with pytest.raises(Absent, match="embed_dim = 9"):
        bytes_of("self-attention", at("forward", width=9))


def test_the_page_is_complete(tmp_path, content):
    words = ["1706.03762", "**reproduced**", "Width d = 64", "4 n d² + 2 n² d", "| 128 | 1.02", "Machine: device cpu"]
    complete(STUDY, content, tmp_path, words, "forward", "forward-backward")
    told = described(tmp_path / "forward.svg")["desc"]
    assert told.startswith("GRU: n^(1.00 ± 0.00): 1.024 at 128, 2.048 at 256")


def test_bars_of_the_plot_are_the_intervals_of_the_table(tmp_path, content, monkeypatch):
    drawn, draw = [], look.curves

    def kept(curves, *arguments, **options):
        drawn.append(curves)
        return draw(curves, *arguments, **options)

    monkeypatch.setattr(look, "curves", kept)
    written(STUDY, content, tmp_path)
    _, *rows = Findings(content).table("forward")
    for place, curve in enumerate(drawn[0], start=1):
        halves = [float(row[place].partition(" ± ")[2]) for row in rows[: len(curve.x)]]
        assert curve.errors == pytest.approx(halves, abs=0.1) and max(halves) > 0


WORDS = ["report", "complexity", "--lengths", "16", "8", "32", "--width", "8", "--seconds", "0.001", "--threads", "1"]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Memory from a formula, not from processes; which points were measured."""
    points = []

    def bytes_of(name, point):
        points.append((point.way, point.length, name))
        if name == "convolution":
            raise Absent("no room")
        return point.length << 20

    monkeypatch.setattr(complexity, "bytes_of", bytes_of)
    monkeypatch.chdir(tmp_path)
    return points


def test_it_is_made_once_row_by_row(measured, tmp_path, capsys):
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "by its formula" in out and out.endswith("report: reports/complexity\n")
    folder = tmp_path / "reports/complexity"
    content = stored(folder)
    assert content["arguments"]["lengths"] == [8, 16, 32] and content["arguments"]["threads"] == 1
    assert [(row["pass"], row["length"]) for row in content["rows"]][:3] == [
        ("forward", 8),
        ("forward+backward", 8),
        ("forward", 16),
    ]
    first = content["rows"][0]["layers"]
    assert first["GRU"]["seconds"] > 0 and first["convolution"]["absent"] == "no room"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(WORDS) == 0 and "is complete already" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before and len(measured) == 18


@pytest.mark.slow
def test_killed_between_rows_it_goes_on_where_it_was(measured, tmp_path, monkeypatch):
    whole, calls = complexity.prepared, []

    def killing(name, point):
        calls.append(name)
        if len(calls) == 7:  # the third row
            raise KeyboardInterrupt
        return whole(name, point)

    monkeypatch.setattr(complexity, "prepared", killing)
    assert main(WORDS) == 130
    rows = stored(tmp_path / "reports/complexity")["rows"]
    assert len(rows) == 2
    assert main(WORDS) == 0
    again = stored(tmp_path / "reports/complexity")["rows"]
    assert again[:2] == rows and len(again) == 6 and len(measured) == len(set(measured)) == 18


def test_heads_divide_the_width():
    with pytest.raises(ArgumentError, match="--heads: expected a divisor of --width = 256, got 3"):
        measure(Options(heads=3))


@pytest.mark.slow
def test_other_sizes_are_rejected(measured, tmp_path, capsys):
    main(WORDS)
    assert main([*WORDS[:-6], "--width", "16", *WORDS[-4:]]) == 2
    assert "made with --width 8, not 16" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--lengths 8 16 16", "--lengths: expected 3 or more, from 1 to 1048576, got 8 16 16"),
        ("--lengths 0 8 16", "--lengths: expected 3 or more"),
        ("--width 0", "--width: expected a number above 0, got 0"),
        ("--seconds nan", "--seconds: expected a number above 0"),
        ("--threads 0", "--threads: expected a number above 0"),
        ("--quick --width 8", "--quick: expected none of --lengths, --width, --batch, --heads, --seconds"),
    ],
)
def test_options_without_meaning_are_rejected(words, complaint, rejects):
    rejects(f"complexity {words}", complaint)
