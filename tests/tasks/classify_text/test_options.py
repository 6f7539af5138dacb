from dataclasses import fields

import pytest

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.classify_text.options import RECIPES, REQUESTS, Options
from saccade.tasks.labels.request import Request
from tiers import every


@every(
    ("name", "value"),
    [
        ("batch_tokens", 0),
        ("batch_tokens", 10**8),
        ("vocabulary_size", 4),
        ("min_count", 0),
        ("max_length", 0),
        ("label_smoothing", 1.0),
        ("label_smoothing", -0.1),
        ("label_smoothing", float("nan")),
        ("vectors", ""),
        ("freeze_vectors", True),
    ],
)
def test_what_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"^--{name.replace('_', '-')}: expected ") as error:
        Options(**{name: value})
    assert "\n" not in str(error.value)


def test_the_least_and_the_most_are_taken():
    assert Options(vocabulary_size=5, min_count=1, max_length=1, batch_tokens=1, label_smoothing=0.99).max_length == 1
    assert Options(vectors="a", freeze_vectors=True).freeze_vectors


@every("model", ClassifyText.models)
def test_recipes_suit_every_model_and_options_win(model):
    for data in ("reviews", "some/file.tsv"):
        recipe = RECIPES["reviews" if data == "reviews" else "files"]
        found = runs.options(ClassifyText, data, model, {})
        known = {field.name for field in fields(found)}
        assert recipe.keys() <= known | {"dropout", "word_dropout"} and found.max_steps == recipe["max_steps"]
        assert runs.options(ClassifyText, data, model, {"max_steps": 7}).max_steps == 7


def test_the_shell_asks_for_classes():
    assert REQUESTS["predict"] is Request and issubclass(Request, REQUESTS["eval"])
