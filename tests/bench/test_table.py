from bench.fake import row
from saccade.bench.row import Result, Work
from saccade.bench.table import COLUMNS, amount, cells, disturbed, header, line, speed, summary, widths


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
    lines = [line(result, wide) for result in results]
    end = header(wide).index("ratio") + len("ratio")
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
