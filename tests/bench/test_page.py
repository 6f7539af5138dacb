import json

from bench.fake import MACHINE, SETUP, row
from saccade.bench import Result, Work, rows
from saccade.bench._page import COLUMNS, amount, cells, disturbed, line, page, record, speed, summary, widths


def test_a_result_has_a_cell_for_each_column():
    found = cells(Result(row(), 1e-3, 3e-3, 3.0, limit=1e11))
    assert dict(zip(COLUMNS, found, strict=True)) == {
        "row": "same 3",
        "peer": "other",
        "ours": "1 ms",
        "peer's": "3 ms",
        "ratio": "3.00",
        "speed": "6 GFLOP/s",
        "of limit": "6%",
        "target": "≥ 2x: met",
    }


def test_an_absent_peer_is_named_and_its_target_open():
    found = cells(Result(row(), 1e-3, absent="other: No module named 'other'"))
    assert found[2:5] == ["1 ms", "", ""]
    assert found[-1] == "≥ 2x; absent: other: No module named 'other'"


def test_memory_is_told_in_bytes_without_a_speed():
    found = cells(Result(row(memory=True, targets=()), 2.0**20, 3 * 2.0**30, 3072.0))
    assert found[2:] == ["1 MiB", "3 GiB", "3072.00", "", "", ""]


def test_lines_stand_below_the_header():
    results = [Result(row(), 1e-3, 3e-3, 3.0), Result(row(family="a much longer family"), 1.0, 0.5, 0.5)]
    wide = widths([result.row for result in results])
    lines = [line(cells(result), wide) for result in results]
    end = line(COLUMNS, wide).index("ratio") + len("ratio")
    assert [text[:end].split()[-1] for text in lines] == ["3.00", "0.50"]
    assert lines[1].endswith("≥ 2x: missed")


def test_small_and_large_numbers_keep_three_digits():
    assert [amount(value) for value in (2.5e-8, 1.234e-6, 0.9996, 1234.0)] == ["25 ns", "1.23 µs", "1000 ms", "1234 s"]
    assert speed(12.0, "B") == "12 B/s"
    assert speed(12.0, "terms") == "12 terms/s"
    assert speed(2.5e12, "FLOP") == "2.5 TFLOP/s"


def test_targets_are_counted():
    results = [Result(row(), 1.0, 2.0, 2.0), Result(row(), 1.0, 1.0, 1.0), Result(row()), Result(row(targets=()))]
    assert summary(results) == "targets: 1 met, 1 missed, 1 not measured"


def test_rows_beside_which_machine_was_slow_are_doubtful():
    quiet, slow = Result(row(), 1e-3, 3e-3, 3.0, limit=9e10), Result(row(shape="4"), 1e-3, 3e-3, 3.0, limit=5e10)
    other = Result(row(work=Work(1.0, "B", "copy")), 1e-3, limit=1e9)
    unlimited = Result(row(), 1e-3, 3e-3, 3.0)
    assert disturbed([quiet, slow, other, unlimited]) == [slow]
    assert "doubtful: 1 of 2 rows, same 4 other: beside" in summary([quiet, slow])
    assert "doubtful" not in summary([quiet, quiet, other])


def test_a_page_has_a_table_for_each_subject():
    results = [
        Result(row(subject="additive"), 1e-3, 3e-3, 3.0),
        Result(row(), 1e-3, absent="other: a|b"),
        Result(row(subject="additive", peer="third"), 1e-3, 1e-3, 1.0),
    ]
    text = page(results, MACHINE, "saccade bench --page page.md", "plots/p.png")
    assert text.startswith("# What was measured\n\n```bash\nsaccade bench --page page.md\n```\n")
    assert "x86, 1 thread, torch 2; a plain multiply reaches 100 GFLOP/s, a copy 10 GB/s." in text
    assert "![Ratios over sizes](plots/p.png)" in text
    assert text.index("## Additive attention") < text.index("third") < text.index("## Dot scores")
    assert r"absent: other: a\|b" in text
    rules = [line for line in text.splitlines() if line.startswith("|---")]
    assert rules == ["|---|---|---:|---:|---:|---:|---:|---|"] * 2
    assert "targets: 1 met, 1 missed, 1 not measured." in text
    assert "![" not in page(results, MACHINE, "saccade bench")


def test_every_subject_that_is_measured_has_a_title():
    subjects = dict.fromkeys(row.subject for row in rows(SETUP))
    text = page([Result(row(subject=subject), 1e-3, 1e-3, 1.0) for subject in subjects], MACHINE, "saccade bench")
    assert text.count("\n## ") == len(subjects)


def test_everything_is_in_the_json():
    results = [
        Result(row(), 1e-3, 3e-3, 3.0, -2e-3, 5, 1e11, 1e-7, interval=(2.5, 3.5)),
        Result(row(), absent="ours: no"),
    ]
    settings = {"command": "saccade bench", "seconds": 2.0, "interrupted": False}
    found = json.loads(json.dumps(record(results, MACHINE, settings), allow_nan=False))
    assert settings.items() <= found.items()
    assert (found["machine"], found["versions"]) == (MACHINE.hardware, MACHINE.versions)
    assert found["limits"] == {"multiply_flops": 1e11, "copy_bytes_per_second": 1e10}
    first, second = found["rows"]
    assert (first["ours"], first["theirs"], first["ratio"], first["rounds"]) == (1e-3, 3e-3, 3.0, 5)
    assert (first["speed"], first["speed_unit"], first["limit"]) == (6e9, "FLOP/s", 1e11)
    assert (first["behind"], first["difference"], first["interval"]) == (-2e-3, 1e-7, [2.5, 3.5])
    assert (first["targets"], first["met"], first["absent"]) == (["≥ 2x"], True, None)
    assert (second["ratio"], second["met"], second["absent"]) == (None, None, "ours: no")
