import json

import pytest

from bench.fake import MACHINE, row
from saccade.bench import Result
from saccade.bench._compare import compare, read, stored
from saccade.bench._page import record
from saccade.errors import ArgumentError
from tiers import every


def side(name="old", machine=MACHINE, **changes):
    ours, ratio = changes.pop("ours", 1e-3), changes.pop("ratio", 3.0)
    result = Result(row(**changes.pop("row", {})), ours, ratio and ours and ours * ratio, ratio, **changes)
    return stored(name, record([result], machine, {}))


@every(
    ("old", "new", "verdict"),
    [
        ({"interval": (2.9, 3.1)}, {"interval": (3.2, 3.4), "ratio": 3.3}, "faster"),
        ({"interval": (2.9, 3.1)}, {"interval": (2.6, 2.8), "ratio": 2.7}, "slower"),
        ({"interval": (2.9, 3.1)}, {"interval": (3.1, 3.4), "ratio": 3.3}, "within noise"),
        ({}, {"interval": (3.2, 3.4), "ratio": 3.3}, "no interval"),
        ({"ratio": None}, {"ratio": None}, "no interval"),
        ({"interval": (2.9, 3.1)}, {"ours": None, "ratio": None}, "not measured"),
    ],
)
def test_a_verdict_needs_two_intervals_that_part(old, new, verdict):
    _, line, counts = compare(side(**old), side("new", **new))
    assert line.endswith(verdict)
    assert f"1 {verdict}" in counts


def test_a_row_has_times_and_ratios_of_both():
    header, line, _ = compare(side(interval=(2.9, 3.1)), side("new", ours=5e-4, ratio=4.5, interval=(4.4, 4.6)))
    assert header.split() == ["row", "peer", "old", "new", "old/new", "old", "ratio", "new", "ratio", "change"]
    assert line.split() == ["same", "3", "other", "1", "ms", "500", "µs", "2.00", "3.00", "4.50", "1.50", "faster"]


def test_other_conditions_are_named_and_times_not_divided():
    machine = type(MACHINE)({**MACHINE.hardware, "threads": 2}, {"python": "3", "torch": "3"}, MACHINE.rates)
    first, _, line, _ = compare(side(), side("new", machine, ours=5e-4))
    assert first == "conditions differ, so compare ratios and not times: threads 1 → 2, torch 2 → 3"
    assert line.split() == ["same", "3", "other", "1", "ms", "500", "µs", "3.00", "3.00", "1.00", "no", "interval"]


def test_rows_of_one_alone_are_listed_by_the_pattern():
    old, new = side(row={"shape": "4"}), side("new", row={"shape": "5"})
    assert compare(old, new)[:2] == ["only in old: same 4 other", "only in new: same 5 other"]
    assert compare(old, new, "*5*")[:-1] == ["only in new: same 5 other"]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"machine": {}, "versions": {}, "rows": [{"row": "a"}]}'])
def test_a_file_of_another_kind_is_rejected(content, tmp_path):
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(ArgumentError, match="^--compare: expected a file of saccade bench --json, got .*a.json$"):
        read(str(tmp_path / "a.json"))


@pytest.mark.parametrize(
    "change",
    [
        {"ours": "1"},
        {"ours": True},
        {"ours": -1.0},
        {"ours": 10**400},
        {"ratio": float("nan")},
        {"interval": [1.0]},
        {"interval": [1.0, 2.0, 3.0]},
        {"interval": [2.0, 1.0]},
        {"interval": [None, 1.0]},
        {"interval": "12"},
    ],
    ids=str,
)
def test_a_number_that_is_none_is_a_file_of_another_kind(change, tmp_path):
    content = record([Result(row(), 1e-3, 3e-3, 3.0, interval=(2.5, 3.5))], MACHINE, {})
    content["rows"][0] |= change
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ArgumentError, match="^--compare: expected a file of saccade bench --json, got .*a.json$"):
        read(str(tmp_path / "a.json"))


def test_a_pattern_of_no_row_is_an_error():
    with pytest.raises(ArgumentError, match="^--rows: expected a part of a row's name, got slow, which matches no row"):
        compare(side(), side("new"), "slow")
    empty = stored("empty", record([], MACHINE, {}))
    assert compare(empty, empty) == ["rows: 0 faster, 0 slower, 0 within noise, 0 no interval, 0 not measured"]


def test_a_written_file_is_read_back(tmp_path):
    content = record([Result(row(), 1e-3, 3e-3, 3.0, interval=(2.5, 3.5))], MACHINE, {})
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    assert read(str(tmp_path / "a.json")).rows == stored("", content).rows
