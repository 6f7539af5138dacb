import pytest

from saccade import look
from saccade.cli import main
from saccade.errors import ArgumentError
from studies import complexity
from studies.complexity import STUDY, Findings, Options, measure
from studies.frame import layers
from studies.frame.layers import ATTENTION, CONVOLUTION, DILATED, GRU, LAYERS, PASSES, TEXTBOOK
from study_rows import complete, described, stored, written
from tiers import every

POWERS = {GRU: (1.0, 8.0), CONVOLUTION: (1.0, 2.0), TEXTBOOK: (1.9, 0.06), ATTENTION: (1.8, 0.05)}
LENGTHS = (32, 128, 256, 362, 512, 724, 1024)
WIDTH = 64


def made_up(powers=POWERS, error=0.001, gains=(1.0, 1.5, 1.6, 1.8), busy=0.0):
    """report.json of layers whose times are powers of the length: from their names to exponent and factor."""
    counts = {
        name: {
            "multiplications": [int(layer.products(n, WIDTH)) for n in LENGTHS],
            "chain": [10 * n if name == GRU else 5 for n in LENGTHS],
        }
        for name, layer in LAYERS.items()
    }
    inputs = {GRU: [[9, 9]], CONVOLUTION: [[3, 5]], DILATED: [[3, 9]], ATTENTION: [[9, 9]]}
    rows = [
        {"measured": "operations", "layers": counts},
        {"measured": "reach", "layers": [1, 2], "lengths": [9], "inputs": inputs},
    ]
    for way in PASSES:
        for n in LENGTHS:
            about = {"way": way, "length": n}
            seconds = {name: 1e-6 * factor * n**power for name, (power, factor) in powers.items()}
            times = {name: {"seconds": x, "error": error * x} for name, x in seconds.items()}
            rows.append({"measured": "time", **about, "rounds": 9, "layers": times})
        held = {name: (32 if name == TEXTBOOK else 4) << 20 for name in LAYERS}
        rows.append({"measured": "memory", "way": way, "length": LENGTHS[-1], "layers": held})
        pairs = [[{"seconds": 1.0, "error": error}, {"seconds": 1 / gain, "error": error / gain}] for gain in gains]
        both = dict(zip(LAYERS, pairs, strict=True))
        row = {"measured": "threads", "way": way, "length": 256, "busy": busy}
        rows.append({**row, "rounds": 0 if busy else 9, "layers": {} if busy else both})
    arguments = {"width": WIDTH, "heads": 4, "batch": 2, "lengths": [*LENGTHS], "device": "cpu", "threads": 2}
    about = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "complexity", "command": "c", "arguments": arguments, "runs": {}, "rows": rows, **about}


@pytest.fixture
def content():
    """Layers that grow as table 1 says."""
    return made_up()


def results(content):
    """The verdicts by the texts of claims."""
    table = Findings(content).fields()["claims"]
    return {text: result for text, _, result in table[1:]}


def test_growth_by_formula_reproduces_the_claim(content):
    findings = Findings(content)
    assert findings.verdict.result == "reproduced"
    words = "forward, the time of self-attention grows faster than that of GRU: reproduced, by a factor of 3.03 (3.0"
    assert words in findings.verdict.reason
    assert findings.long == [256, 362, 512, 724, 1024]
    assert len(findings.claims) == 6 + 2 * (1 + 4 + 2 + 3)


@every(
    ("changed", "text", "result"),
    [
        ({ATTENTION: (1.0, 0.05)}, f"the time of {ATTENTION} grows faster than that of {GRU}", "not decided"),
        ({ATTENTION: (0.9, 0.05)}, f"the time of {ATTENTION} grows faster than that of {GRU}", "contradicted"),
        ({TEXTBOOK: (1.9, 9.0)}, f"{TEXTBOOK} takes less time than {GRU} at n = 32 < d = 64", "contradicted"),
    ],
)
def test_times_decide(changed, text, result):
    assert results(made_up({**POWERS, **changed}))[f"forward, {text}"] == result


def test_large_errors_decide_nothing_about_times():
    verdicts = results(made_up(error=2.0))
    assert {result for text, result in verdicts.items() if "forward" in text and "memory" not in text} == {
        "not decided"
    }
    assert [*verdicts.values()][:6] == 6 * ["reproduced"]


def test_counts_decide():
    changed = made_up()
    layer = changed["rows"][0]["layers"]
    layer[CONVOLUTION]["multiplications"][0] += 1
    layer[ATTENTION]["chain"][1] += 1
    changed["rows"][1]["inputs"][CONVOLUTION] = [[3, 6]]
    verdicts = [*results(changed).values()][:6]
    assert verdicts == ["contradicted", "reproduced", "contradicted", "reproduced", "contradicted", "reproduced"]


def test_memory_decides_if_it_is_visible(content):
    text = f"forward, {TEXTBOOK}, takes more than 2 times the memory of each other layer"
    held = next(row["layers"] for row in content["rows"] if row["measured"] == "memory")
    for size, result in ((32 << 20, "reproduced"), (7 << 20, "contradicted"), (1 << 19, None)):
        held[TEXTBOOK] = size
        assert results(content).get(text) == result
    held[TEXTBOOK], held[GRU] = 32 << 20, None
    assert text not in results(content)
    assert Findings(content).table("forward")[-2][5:] == ["", "4.0", "32.0", "4.0"]


def test_gains_of_a_second_thread_decide_on_a_quiet_machine():
    text = f"forward, {CONVOLUTION} gains more by a second thread than {GRU}"
    assert results(made_up())[text] == "reproduced"
    assert results(made_up(gains=(1.5, 1.1, 1.6, 1.8)))[text] == "contradicted"
    disturbed = made_up(busy=1.5)
    assert text not in results(disturbed) and "other programs" in Findings(disturbed).fields()["gains"]
    assert f"| forward, {GRU} | 1000 ± 2 | 1000 ± 2 | 1.00 (1.00 to 1.00) |" in Findings(made_up()).fields()["gains"]


def test_the_page_has_the_crossing():
    assert "takes longer than the GRU from 569 positions on, 8.9 times the width" in Findings(made_up()).crossing(
        "forward", ATTENTION
    )
    slow = Findings(made_up({**POWERS, ATTENTION: (1.8, 9.0)}))
    assert slow.crossing("forward", ATTENTION).endswith("takes longer than the GRU from 32 positions on already")
    fast = Findings(made_up({**POWERS, ATTENTION: (1.8, 0.005)})).crossing("forward", ATTENTION)
    assert fast.endswith("takes less time than the GRU up to 1024 positions, there by a factor of 6.2")


def test_the_table_has_lengths_and_exponents(content):
    header, first, *_, last, exponents = Findings(content).table("forward")
    assert header[:2] == ["length", "GRU, ms"] and header[-1] == "self-attention, MiB"
    assert first[:2] == ["32", "0.256 ± 0.001"] and first[-1] == "" and last[-1] == "4.0"
    assert exponents[1] == "1.00 ± 0.00" and exponents[-1] == ""


def test_the_tables_of_operations_and_reach(content):
    fields = Findings(content).fields()
    assert fields["operations"][1][:2] == ["32", "786,432"] and fields["operations"][-1][-1] == "5"
    assert fields["reach"] == [
        ["layer", "inputs", "1 layer", "2 layers"],
        [GRU, "9", "9", "9"],
        [CONVOLUTION, "9", "3", "5"],
        [DILATED, "9", "3", "9"],
        [ATTENTION, "9", "9", "9"],
    ]


def test_the_page_is_complete(tmp_path, content):
    words = ["1706.03762", "**reproduced**", "Width d = 64", "| 32 | 0.256", "Machine: device cpu", "processor seconds"]
    complete(STUDY, content, tmp_path, words, "forward", "forward-backward")
    text = described(tmp_path / "forward.svg")["desc"]
    assert text.startswith("GRU: n^(1.00 ± 0.00): 0.256 at 32, 1.024 at 128")


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


WORDS = ["report", "complexity", "--lengths", "16", "8", "32", "--width", "16", "--seconds", "0.001", "--threads", "1"]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Memory from a formula, not from processes; which points were measured."""
    points = []

    def bytes_of(name, point):
        points.append((point.way, point.length, name))
        return point.length << 20

    monkeypatch.setattr(layers, "bytes_of", bytes_of)
    monkeypatch.setattr(complexity, "reached", lambda: made_up()["rows"][1])
    monkeypatch.chdir(tmp_path)
    return points


def test_it_is_made_once_row_by_row(measured, tmp_path, capsys):
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "multiplications" in out and out.endswith("report: reports/complexity\n")
    folder = tmp_path / "reports/complexity"
    content = stored(folder)
    assert content["arguments"]["lengths"] == [8, 16, 32] and content["arguments"]["threads"] == 1
    kinds = [(row["measured"], row.get("way"), row.get("length")) for row in content["rows"]]
    assert kinds[:4] == [
        ("operations", None, None),
        ("reach", None, None),
        ("time", "forward", 8),
        ("memory", "forward", 8),
    ]
    assert content["rows"][2]["layers"]["GRU"]["seconds"] > 0
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(WORDS) == 0 and "is complete already" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before and len(measured) == 2 * 2 * len(LAYERS)


@pytest.mark.slow
def test_killed_between_rows_it_goes_on_where_it_was(measured, tmp_path, monkeypatch):
    whole, calls = layers.prepared, []

    def killing(name, point):
        calls.append(name)
        if len(calls) == 22:  # behind four counts of each of three lengths, in the third time
            raise KeyboardInterrupt
        return whole(name, point)

    monkeypatch.setattr(layers, "prepared", killing)
    assert main(WORDS) == 130
    rows = stored(tmp_path / "reports/complexity")["rows"]
    assert 2 < len(rows) < 12
    assert main(WORDS) == 0
    again = stored(tmp_path / "reports/complexity")["rows"]
    assert again[: len(rows)] == rows and len(again) == 12 and len(measured) == len(set(measured)) == 16


@pytest.mark.slow
def test_other_sizes_are_rejected(measured, tmp_path, capsys):
    main(WORDS)
    assert main([*WORDS[:-6], "--width", "32", *WORDS[-4:]]) == 2
    assert "made with --width 16, not 32" in capsys.readouterr().err


def test_heads_divide_the_width():
    with pytest.raises(ArgumentError, match="--heads: expected a divisor of --width = 256, got 3"):
        measure(Options(heads=3))


@every(
    ("words", "complaint"),
    [
        ("--lengths 8 16 16", "--lengths: expected 3 or more, from 1 to 1048576, got 8 16 16"),
        ("--lengths 0 8 16", "--lengths: expected 3 or more"),
        ("--lengths 32 64 99 --width 32", "--lengths: expected one below --width = 32, got 32 or more"),
        ("--width 0", "--width: expected a number above 0, got 0"),
        ("--seconds nan", "--seconds: expected a number above 0"),
        ("--threads 0", "--threads: expected a number above 0"),
        ("--quick --width 8", "--quick: expected none of --lengths, --width, --batch, --heads, --seconds"),
    ],
)
def test_options_without_meaning_are_rejected(words, complaint, rejects):
    rejects(f"complexity {words}", complaint)
