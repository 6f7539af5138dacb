from itertools import pairwise

import pytest

from saccade.errors import ArgumentError
from studies.frame.scatter import Point, _label_positions, draw_words
from study_rows import described as told


def test_words_are_described_by_their_places(tmp_path, rendered):
    points = [Point("good", 0.5, 1.0), Point("not", 2.0, 0.0)]
    _, svg = draw_words(points, tmp_path / "p", labels=("query", "sentiment"), title="Words", marked={"not"})
    said = told(svg)
    assert (said["title"], said["desc"]) == ("Words", "good: 0.5, 1; not: 2, 0")
    with pytest.raises(ArgumentError, match="points: expected one or more, got none"):
        draw_words([], tmp_path / "p", labels=("x", "y"), title="t")


def test_no_word_stands_on_another():
    points = [Point(f"word{place}", 0.001 * place, 0.0) for place in range(12)] + [Point("far", 9.0, 9.0)]
    written = _label_positions(points)
    heights = sorted(y for (_, y), point in zip(written, points, strict=True) if point.name != "far")
    assert all(high - low > 0.2 for low, high in pairwise(heights))
    assert written[-1][1] == 9.0  # it has room
