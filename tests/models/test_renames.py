"""Models load what was saved under the names that their parts had in older files, and save under today's."""

import copy
from collections import OrderedDict

import pytest
import torch
from torch import nn

from saccade.models import hard, las, luong, recurrent, rnnsearch
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.las import Las
from saccade.models.luong import Luong
from saccade.models.recurrent import Decoder
from saccade.models.reinforce import Reinforce
from saccade.models.renames import renamed
from saccade.models.rnnsearch import RNNSearch
from saccade.train.weights import load_into, tensors
from tiers import every

SIZES = {"hidden_dim": 6, "embedding_dim": 4}
DECODER = {
    "word.weight": "input_proj.weight",
    "word.bias": "input_proj.bias",
    "before.weight": "hidden_proj.weight",
    "before.bias": "hidden_proj.bias",
    "context.weight": "context_proj.weight",
    "context.bias": "context_proj.bias",
    "between.weight": "intermediate_proj.weight",
    "between.bias": "intermediate_proj.bias",
}
WRITER = {
    "writer.bias": "decoder.bias",
    "writer.embedding.weight": "decoder.embedding.weight",
    "writer.readout.weight": "decoder.readout.weight",
    "writer.readout.bias": "decoder.readout.bias",
    **{f"writer.{old}": f"decoder.{new}" for old, new in DECODER.items()},
}
BASELINE = {"expected.weight": "baseline.weight", "expected.bias": "baseline.bias"}
LSTM = {
    "entering.weight": "input_proj.weight",
    "entering.bias": "input_proj.bias",
    "before.weight": "hidden_proj.weight",
    "before.bias": "hidden_proj.bias",
}
LAYERS = {
    f"{stack}.{place}.{old}": f"{stack}.{place}.{new}"
    for stack in ("encoder", "decoder")
    for place in range(2)
    for old, new in LSTM.items()
}
MODELS = {
    "decoder": (lambda: Decoder(nn.Embedding(7, 4), 3, 6), DECODER),
    "reinforce": (lambda: Reinforce(hard.Options(read="reinforce"), 6), BASELINE),
    "encoder-decoder": (lambda: EncoderDecoder(9, 7, recurrent.Options(**SIZES)), WRITER),
    "rnnsearch": (lambda: RNNSearch(9, 7, rnnsearch.Options(**SIZES)), WRITER),
    "rnnsearch, reinforce": (
        lambda: RNNSearch(9, 7, rnnsearch.Options(**SIZES, read="reinforce")),
        {**WRITER, **{f"reinforce.{old}": f"reinforce.{new}" for old, new in BASELINE.items()}},
    ),
    "luong": (lambda: Luong(9, 7, luong.Options(**SIZES)), LAYERS),
    "las": (
        lambda: Las(5, 7, las.Options(**SIZES)),
        {**LSTM, "connectionist.weight": "ctc.weight", "connectionist.bias": "ctc.bias"},
    ),
}


def older(state, table):
    """A state as it was saved before the names changed."""
    names = {new: old for old, new in table.items()}
    return OrderedDict((names.get(name, name), held) for name, held in state.items())


@every("name", MODELS)
def test_each_older_name_is_read_as_todays(name):
    make, table = MODELS[name]
    model = make()
    for old, new in table.items():
        state = {key: torch.randn_like(held) for key, held in model.state_dict().items()}
        assert new in state and old not in state
        expected = state.pop(new)
        model.load_state_dict({**state, old: expected})
        found = model.state_dict()
        assert old not in found and torch.equal(found[new], expected)


@every("name", MODELS)
def test_an_older_state_is_saved_under_todays_names(name):
    make, table = MODELS[name]
    model, other = make(), make()
    state = older(model.state_dict(), table)
    assert set(table) <= set(state) and not set(table.values()) & set(state)
    given = dict(state)
    for loader in (other, copy.deepcopy(other), nn.Sequential(make())):
        prefix = "0." if isinstance(loader, nn.Sequential) else ""
        loader.load_state_dict({f"{prefix}{key}": held for key, held in state.items()})
        for key, held in model.state_dict().items():
            assert torch.equal(loader.state_dict()[f"{prefix}{key}"], held)
    assert state == given  # what was handed over is as it was


@every("joint", [True, False])
@every("kind", [EncoderDecoder, RNNSearch, Luong])
def test_what_is_tied_is_loaded_from_older_files_too(kind, joint):
    """Files hold a tied tensor once, under its first name."""
    torch.manual_seed(0)
    options = {EncoderDecoder: recurrent, RNNSearch: rnnsearch, Luong: luong}[kind].Options(**SIZES)
    model, other = kind(9, 9, options, joint=joint), kind(9, 9, options, joint=joint)
    state = older(tensors(model), LAYERS if kind is Luong else WRITER)
    load_into(other, state)
    for key, held in model.state_dict().items():
        assert torch.equal(other.state_dict()[key], held)
    tied = kind is not Luong and joint
    assert ("writer.embedding.weight" in state) == (kind is not Luong and not tied)


def test_a_state_with_both_names_is_refused():
    model = MODELS["las"][0]()
    state = model.state_dict()
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"before.weight"'):
        model.load_state_dict({**state, "before.weight": state["hidden_proj.weight"]})


def test_names_that_begin_alike_are_left_alone():
    module = nn.Module()
    module.words, module.word_size = nn.Linear(2, 2), nn.Linear(2, 2)
    renamed(module, {"word": "words"})
    state = {name.replace("words.", "word."): held for name, held in module.state_dict().items()}
    module.load_state_dict(state)
