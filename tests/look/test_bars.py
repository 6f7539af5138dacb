import json

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look.bars import MOST_BARS, bars

TOLD = {"label": "weight", "title": "a set"}


def test_bars_have_the_names_and_the_numbers_of_things(tmp_path):
    values = torch.tensor([0.25, -0.5, 0.125])
    paths = bars(["a", "a long name " * 9, "c"], values, tmp_path / "a", **TOLD, note="below", json=True)
    assert [path.name for path in paths] == ["a.png", "a.svg", "a.json"]
    told = json.loads(paths[2].read_text(encoding="utf-8"))
    assert told["values"] == [[0.25, -0.5, 0.125]] and told["rows"] == ["weight"] and len(told["columns"]) == 3
    assert "a 0.25; a long name" in paths[1].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("names", "values", "error"),
    [
        (["a"], torch.ones(2), ShapeError),
        ([], torch.ones(0), ArgumentError),
        (["a"], torch.tensor([torch.nan]), ArgumentError),
        (["a"] * (MOST_BARS + 1), torch.ones(MOST_BARS + 1), ArgumentError),
    ],
)
def test_what_is_no_bar_is_refused(names, values, error, tmp_path):
    with pytest.raises(error, match="^values: expected"):
        bars(names, values, tmp_path / "a", **TOLD)
    assert not list(tmp_path.iterdir())
