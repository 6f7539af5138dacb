"""What sentences about scenes are judged by: exactly true ones, and weights on things as they are named."""

import pytest
import torch

from saccade.tasks.image.scenes.judging import Judged, exact_match, judged
from saccade.tasks.image.scenes.scene import Box, Scene, Thing
from tiers import every

SCENE = Scene((Thing("red", "circle", Box(0, 0, 12, 12)), Thing("blue", "cross", Box(48, 60, 60, 72))))
CIRCLE, CROSS = (0, 0), (5, 4)  # their cells of 8 × 8


def maps(*cells):
    """A map for each word, with three quarters of its weight on one cell."""
    found = torch.full((len(cells), 8, 8), 0.25 / 63)
    for number, (row, column) in enumerate(cells):
        found[number, row, column] = 0.75
    return found


@every(
    ("text", "right"),
    [
        ("a red circle left of a blue cross", True),
        ("a blue cross below a red circle", True),
        ("a red circle right of a blue cross", False),
        ("a red circle", False),
        ("a red circle left of a blue cross left of a blue cross", False),
        ("", False),
    ],
)
def test_sentence_is_exact_if_it_names_all_once_and_is_true(text, right):
    assert exact_match([text], [SCENE]) == right


def test_words_are_judged_by_their_thing_in_any_order():
    first = maps(CROSS, CROSS, CROSS, CROSS, CROSS, CIRCLE, CROSS, CROSS)  # the last shape is looked for elsewhere
    found = judged(["a blue cross below a red circle"], [SCENE], lambda number: first)
    assert (found.words, found.hits) == (4, 3)
    assert found.weight == pytest.approx((3 * 0.75 + 0.25 / 63) / 4)
    assert found.groups == {"first colour": 1, "first shape": 1, "later colour": 1, "later shape": 0}


def test_maps_are_made_of_sentences_that_name_a_thing():
    asked = []

    def looked(number):
        asked.append(number)
        return maps(*[CIRCLE] * 3) if number < 3 else None

    texts = ["a red circle", "a green square", "circle red", "a blue cross", "a red circle"]
    found = judged(texts, [SCENE] * 5, looked)
    assert asked == [0, 3] and (found.words, found.hits) == (2, 2)
    assert judged([], [], looked) == Judged(0, 0, 0.0, {}) and Judged(0, 0, 0.0, {}).metrics() == {}
