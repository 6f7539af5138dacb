import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade import runs
from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError
from saccade.tasks.ensembles import check_alike
from saccade.tasks.regress import codec
from saccade.tasks.regress.codec import POINTS, Columns, check_start, kept_points
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.encoding import ColumnCode, Encoding


def fit(data, objects=None):
    return Columns.fit(open_numbers(data, objects), None)


def test_a_codec_is_read_back_as_it_was_saved(tmp_path):
    for data in ("sine", "maximum"):
        columns, _ = fit(data)
        columns.save(tmp_path)
        assert Columns.restore(tmp_path, None) == columns
        assert columns.sizes.sets == (data == "maximum") and (columns.points == ()) == columns.sizes.sets


def test_constant_columns_are_noted_or_rejected(monkeypatch):
    rows = [(float(n), 2.0) for n in range(60)]
    with pytest.raises(ArgumentError, match=r"column y \(target\): .* that differ, got 2 in every row to train on$"):
        fit(OBJECTS, rows)
    with pytest.raises(ArgumentError, match=r"column x \(features\): .*, got 1 in every row to train on$"):
        fit(OBJECTS, {"train": [(1.0, float(n)) for n in range(9)], "dev": [(1.0, 2.0)], "test": [(1.0, 2.0)]})
    _, notes = fit(OBJECTS, [((float(n), 7.0), float(n)) for n in range(30)])
    assert notes == ["x2: the same number in every row to train on, which tells nothing"]
    monkeypatch.setattr(codec, "LEARNED", 20)
    with pytest.raises(ArgumentError, match="got 2 in all 14 rows to train on that were seen$"):
        fit(OBJECTS, rows)


def test_no_more_points_are_kept_than_may_be():
    assert len(kept_points(10)) == 10 and all(len(kept_points(size)) <= POINTS for size in (999, 1001, 4321))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("targets", []),
        ("mean", [1.0, 2.0]),
        ("mean", [10**400]),
        ("std", ["a"]),
        ("std", [float("nan")]),
        ("points", [[1.0, 2.0]]),
        ("points", [[]]),
        ("answers", []),
        ("features", 3),
    ],
)
def test_damage_of_a_saved_codec_is_one_line(name, value, tmp_path):
    fit("sine")[0].save(tmp_path)
    content = json.loads((tmp_path / "columns.json").read_text())
    (tmp_path / "columns.json").write_text(json.dumps({**content, name: value}))
    with pytest.raises(ArgumentError, match="columns.json: expected the columns of this run, got ") as error:
        Columns.restore(tmp_path, None)
    assert "\n" not in str(error.value)


def test_members_of_an_ensemble_read_cells_alike():
    columns, _ = fit("sine")
    jobs = [
        SimpleNamespace(name="regress", codec=replace(columns, encoding=Encoding((ColumnCode("x", "number", median),))))
        for median in (1.0, 1.0, 2.0)
    ]
    first, second, third = (SimpleNamespace(task=job, run=SimpleNamespace(folder=Path("run"))) for job in jobs)
    check_alike(first.task, [second], lambda job: job.codec.parts)
    with pytest.raises(ArgumentError, match="--ensemble run: expected the codes of columns of RUN, got others"):
        check_alike(first.task, [third], lambda job: job.codec.parts)


def test_a_start_that_cannot_be_is_left_out_unless_an_option_asks_for_it():
    options = SimpleNamespace(start="stacked")
    few = open_numbers(OBJECTS, [(float(n), float(n * n)) for n in range(20)])
    columns, notes = Columns.fit(few, options)
    size = few.size("train")
    assert notes == [""] and columns.start is None
    expected = f"--start: expected none for few, whose {size} rows to train on are fewer than 20, got stacked; leave it"
    with pytest.raises(ArgumentError, match=expected):
        check_start("stacked", few, "few")
    with pytest.raises(ArgumentError, match="--start: expected none for maximum, which are sets, got linear; leave it"):
        runs.train("regress", data="maximum", start="linear", max_steps=1)
    with pytest.raises(ArgumentError, match="--start: expected none for data, which are sets, got linear; leave it"):
        runs.train("regress", data=[([1.0, n], n) for n in range(40)], sets=True, start="linear", max_steps=1)
