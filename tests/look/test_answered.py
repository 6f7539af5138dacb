import json

import pytest
import torch

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import answered

WORDS = ["what", "colour", "?"]
ANSWERS = [("red", 0.75), ("blue", 0.25)]


def test_the_picture_has_maps_words_and_answers(tmp_path, figures, words):
    maps, scores = torch.tensor([[[0.1, 0.9]], [[0.5, 0.5]]]), torch.tensor([0.2, 0.8, 0.0])
    paths = answered(
        torch.rand(3, 9, 9),
        maps,
        WORDS,
        tmp_path / "a",
        answers=ANSWERS,
        captions=["one", "two"],
        words=scores,
        title="red",
        json=True,
    )
    said = (
        "what colour ?; red 0.75; blue 0.25; one: most at row 1, column 2 (0.90); two: most at row 1, column 1 (0.50)"
    )
    assert words(paths[1]) == ("red", f"{said}; what 0.20, colour 0.80, ? 0.00")
    assert {*WORDS, "red", "blue", "0.75", "one", "two", "weight"} <= set(texts(figures[0]))
    told = json.loads(paths[2].read_text())
    assert told["rows"] == ["one", "two"] and told["words"] == [0.2, 0.8, 0.0] and told["darkest"] == 1.0
    assert told["answers"][1] == {"answer": "blue", "probability": 0.25}


def test_a_model_that_looks_nowhere_has_words_alone(tmp_path, figures):
    paths = answered(torch.rand(1, 4, 4), torch.zeros(0, 1, 1), WORDS, tmp_path / "a", answers=ANSWERS, json=True)
    told = json.loads(paths[2].read_text())
    assert told["rows"] == ["words"] and told["columns"] == WORDS and told["values"] == [[0.0] * 3]
    assert len(figures[0].axes) == 3  # the image, words and answers: no colour bar


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"answers": []}, ArgumentError, "answers, tokens: expected one or more, got 0 and 3"),
        ({"captions": []}, ShapeError, r"maps: expected shape \(0, rows, columns\)"),
        ({"words": torch.ones(2)}, ShapeError, r"words: expected shape \(3\)"),
        ({"words": torch.tensor([1.0, -1.0, 0.0])}, ArgumentError, "words: expected finite numbers of at least 0"),
    ],
)
def test_what_cannot_be_drawn_is_rejected(changed, error, message, tmp_path):
    options = {"answers": ANSWERS, "captions": ["one"], **changed}
    with pytest.raises(error, match=message):
        answered(torch.rand(3, 9, 9), torch.rand(1, 2, 2), WORDS, tmp_path / "a", **options)
    assert not list(tmp_path.iterdir())
