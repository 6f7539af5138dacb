import pytest

from saccade import runs
from saccade._system.imports import find
from saccade.errors import ArgumentError
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate.options import EvalRequest, Options, Request
from saccade.train.task import recipe
from tiers import every


@every("model", TRANSLATE.models)
def test_all_files_share_a_recipe_below_the_models_own(model):
    assert recipe(TRANSLATE, model, "some/folder") == recipe(TRANSLATE, model, "files")
    assert recipe(TRANSLATE, model, "files") != recipe(TRANSLATE, model, "dates")
    own = find(TRANSLATE.models[model]).recipes["files"]
    assert recipe(TRANSLATE, model, "files").items() >= {"label_smoothing": 0.1, **own}.items() and "hidden_dim" in own
    assert runs.options(TRANSLATE, "some/folder", model, {"beam_size": 3}).beam_size == 3


@every(
    ("name", "value"),
    [
        ("batch_tokens", 0),
        ("batch_tokens", 10**13),
        ("vocabulary_size", 259),
        ("max_length", 0),
        ("tokenizer", "syllables"),
        ("length_penalty", -1e6),
    ],
)
def test_what_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})


def test_what_needs_the_attention_says_so():
    assert not Request(min_length=3, prefix="a").attends and not EvalRequest().attends
    assert Request(coverage_penalty=0.1).attends and EvalRequest(replace_unknown=True).attends
