import pytest

from saccade.tasks.translate.metrics import exact_match


def test_fractions_overall_and_by_group():
    total, groups = exact_match(["a", "b", "c", "d"], ["a", "B", "c", "d"], ["x", "x", "y", "y"])
    assert total == 0.75 and groups == {"x": 0.5, "y": 1.0}
    assert exact_match([], [], []) == (0.0, {})
    with pytest.raises(ValueError, match="argument"):
        exact_match(["a"], [], [])
