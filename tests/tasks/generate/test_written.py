"""Texts of one input are as many lines as were asked for."""

from dataclasses import dataclass

import pytest

from saccade.tasks.generate.generate import Output
from saccade.tasks.generate.written import Written


@dataclass(frozen=True, repr=False)
class Said(Written):
    """What is said of nothing."""

    outputs: list[Output]
    count: int


@pytest.mark.parametrize(
    ("found", "count", "lines"),
    [([], 2, ["", ""]), (["a"], 1, ["a"]), (["a", "b", "c"], 2, ["a", "b"]), (["a"], 3, ["a", "", ""])],
)
def test_there_are_as_many_lines_as_were_asked_for(found, count, lines):
    assert Said([Output(text, [4], 0.0) for text in found], count).lines() == lines
