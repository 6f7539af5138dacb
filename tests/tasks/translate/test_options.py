from dataclasses import fields

import pytest

from saccade.errors import ArgumentError
from saccade.tasks import find
from saccade.tasks.translate import Translate
from saccade.tasks.translate.options import RECIPES, Options


@pytest.mark.parametrize("model", Translate.models)
def test_recipes_name_options_that_there_are(model):
    known = {field.name for field in fields(Translate.options(model))}
    assert set(RECIPES) == {*Translate.builtin, "files"}
    assert all(set(Translate.recipe(model, data)) <= known for data in RECIPES)
    assert (
        Translate.recipe(model, "some/folder") == Translate.recipe(model, "files") != Translate.recipe(model, "dates")
    )
    own = find(Translate.models[model]).recipes["files"]
    assert Translate.recipe(model, "files").items() >= {"label_smoothing": 0.1, **own}.items() and "hidden_dim" in own


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_tokens", 0),
        ("batch_tokens", 10**13),
        ("beam_size", 0),
        ("vocabulary_size", 259),
        ("max_length", 0),
        ("tokenizer", "words"),
        ("label_smoothing", 1.0),
        ("length_penalty", float("nan")),
        ("length_penalty", -1e6),
    ],
)
def test_what_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})
