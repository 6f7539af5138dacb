import pytest

from saccade.errors import ArgumentError
from saccade.reports.options import Trained as Options
from saccade.reports.options import arguments, whole
from tiers import every


def test_quick_says_which_data_it_is_tried_on(capsys):
    for data, expected in (("", "several-dates"), ("several-dates", "several-dates"), ("dates", "dates")):
        assert whole(Options(quick=True, data=data), "several-dates").data == expected
        assert capsys.readouterr().err.startswith(f"trying the claim on {expected}: ")


def test_where_and_how_to_go_on_decides_no_row():
    assert arguments(Options(data="d", output="a", device="cpu", resume=False)) == arguments(Options(data="d"))


@every(
    ("said", "words"),
    [
        ({"seeds": 0}, "--seeds: expected a number from 1 to 1000, got 0"),
        ({"output": __file__}, "--output: expected a folder, got a file: .*test_options.py; name another"),
        ({"max_steps": 0}, "--max-steps: expected a number above 0, got 0"),
        ({"max_minutes": float("nan")}, "--max-minutes: expected a number above 0"),
        ({"quick": True, "data": "folder"}, "--quick: expected no --data but dates or several-dates"),
        ({"quick": True, "max_steps": 5}, "--quick: expected no --data but .* and no budget"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**said)
