from itertools import pairwise

import pytest

from reports.pages import told
from saccade.errors import ArgumentError
from saccade.look.scatter import Point, _labelled, draw


def test_words_are_told_where_they_are(tmp_path):
    points = [Point("good", 0.5, 1.0), Point("not", 2.0, 0.0)]
    paths = draw(points, tmp_path / "p", labels=("query", "sentiment"), title="Words", note="red: not", marked={"not"})
    assert [path.name for path in paths] == ["p.png", "p.svg"]
    said = told(paths[1])
    assert (said["title"], said["desc"]) == ("Words", "good: 0.5, 1; not: 2, 0")


def test_no_word_stands_on_another():
    points = [Point(f"word{place}", 0.001 * place, 0.0) for place in range(12)] + [Point("far", 9.0, 9.0)]
    written = _labelled(points)
    heights = sorted(y for (x, y), one in zip(written, points, strict=True) if one.name != "far")
    assert all(high - low > 0.2 for low, high in pairwise(heights))
    assert written[-1][1] == 9.0  # it has room


def test_nothing_is_not_drawn(tmp_path):
    with pytest.raises(ArgumentError, match="points: expected one or more, got none"):
        draw([], tmp_path / "p", labels=("x", "y"), title="t")
