import json

import pytest

from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError
from saccade.tasks.regress import columns
from saccade.tasks.regress.columns import POINTS, Columns, kept_places
from saccade.tasks.regress.data import open_numbers


def test_it_is_read_back_as_it_was_saved(tmp_path):
    for data in ("sine", "maximum"):
        known = Columns.learn(open_numbers(data))
        (tmp_path / data).mkdir()
        known.save(tmp_path / data)
        assert Columns.restore(tmp_path / data) == known
        assert known.sizes.sets == (data == "maximum") and (known.points == ()) == known.sizes.sets


def test_constant_column_is_told_with_rows_that_were_seen(monkeypatch):
    data = open_numbers(OBJECTS, [(float(n), 2.0) for n in range(60)])
    with pytest.raises(ArgumentError, match="got 2 in every row to train on$"):
        Columns.learn(data)
    monkeypatch.setattr(columns, "_LEARNED", 20)
    with pytest.raises(ArgumentError, match="got 2 in all 18 rows to train on that were seen$"):
        Columns.learn(data)


def test_no_more_points_are_kept_than_may_be():
    assert len(kept_places(10)) == 10 and all(len(kept_places(size)) <= POINTS for size in (999, 1001, 4321))


@pytest.mark.parametrize(
    ("name", "value"),
    [("targets", []), ("mean", [1.0, 2.0]), ("std", ["a"]), ("points", [[1.0, 2.0]]), ("answers", []), ("features", 3)],
)
def test_what_is_not_whole_is_refused_by_name_of_the_file(name, value, tmp_path):
    Columns.learn(open_numbers("sine")).save(tmp_path)
    content = json.loads((tmp_path / "columns.json").read_text())
    (tmp_path / "columns.json").write_text(json.dumps({**content, name: value}))
    with pytest.raises(ArgumentError, match="columns.json: expected the columns of this run, got ") as error:
        Columns.restore(tmp_path)
    assert "\n" not in str(error.value)
