"""What both sides of the comparison are told: the same sizes, and no dropout."""

from dataclasses import fields
from pathlib import Path

import pytest

from saccade.tasks.translate import Translate
from saccade.train.task import options_class
from scripts import script

made = script("benchmarks/translate_configuration.py")

SHARED = {"folder": "data", "seed": 3, "sentences": 64, "batch_tokens": 2048, "learning_rate": 1e-3, "clip": 1.0}


def settings(model, **changes):
    return {**SHARED, "label_smoothing": 0.1, "length_penalty": 0.6, "model": model, **made.SIZES[model], **changes}


@pytest.mark.parametrize("model", made.SIZES)
def test_our_model_has_these_options(model):
    known = {field.name for field in fields(options_class(Translate, model))}
    assert set(made.our_sizes(model, settings(model))) <= known
    assert made.our_sizes(model, settings(model, hidden_dim=64))["hidden_dim"] == 64


@pytest.mark.parametrize("model", made.SIZES)
def test_data_and_training_are_the_same_for_every_model(model):
    found = made.configuration(settings(model, seed=5))
    assert (found["random_seed"], found["training"]["batch_size"]) == (5, 2048)
    assert found["data"]["train"] == str(Path("data", "train"))
    assert found["data"]["src"]["voc_file"] == str(Path("data", "vocabulary.source"))
    assert found["testing"]["beam_alpha"] == 0.6


def test_both_transformers_are_of_one_size():
    changed = settings("transformer", hidden_dim=24, heads=3, layers=5, feedforward_dim=40)
    ours, theirs = made.our_sizes("transformer", changed), made.configuration(changed)["model"]
    names = {"hidden_size": "hidden_dim", "num_heads": "heads", "num_layers": "layers", "ff_size": "feedforward_dim"}
    for side in ("encoder", "decoder"):
        assert {name: theirs[side][name] for name in names} == {name: ours[our] for name, our in names.items()}
        assert theirs[side]["embeddings"]["embedding_dim"] == ours["hidden_dim"]
        assert theirs[side]["dropout"] == theirs[side]["embeddings"]["dropout"] == ours["dropout"] == 0
    assert theirs["tied_embeddings"] and theirs["tied_softmax"]


def test_both_recurrent_models_have_as_many_hidden_units():
    theirs = made.configuration(settings("rnnsearch"))["model"]
    assert 2 * theirs["encoder"]["hidden_size"] == theirs["decoder"]["hidden_size"] == 512
    assert theirs["encoder"]["bidirectional"]
    assert "peer_embedding_dim" not in made.our_sizes("rnnsearch", settings("rnnsearch"))
