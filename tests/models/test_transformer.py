import math

import pytest
import torch

from models.translators import BATCH, LENGTHS, SOURCE, TARGET, torch_layer
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.positions import slopes, waves
from saccade.models.transformer import Options, Transformer
from tiers import every

OPTIONS = Options(hidden_dim=12, heads=3, layers=2, feedforward_dim=20)


def make(**changes):
    torch.manual_seed(0)
    return Transformer(13, 11, Options(**{**vars(OPTIONS), **changes})).double().eval()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_torchs_transformer_with_the_papers_positions(norm):
    model = make(norm=norm)
    padding = torch.arange(SOURCE.shape[1]) >= LENGTHS[:, None]
    later = torch.ones(TARGET.shape[1], TARGET.shape[1], dtype=torch.bool).triu(1)
    scale = math.sqrt(12)
    source = model.source_embedding(SOURCE) * scale + waves(torch.arange(SOURCE.shape[1]), 12)
    for layer in model.encoder:
        source = torch_layer(layer, norm, attends=False)(source, src_key_padding_mask=padding)
    source = model.encoder_norm(source)
    x = model.target_embedding(TARGET) * scale + waves(torch.arange(TARGET.shape[1]), 12)
    for layer in model.decoder:
        other = torch_layer(layer, norm, attends=True)
        x = other(x, source, tgt_mask=later, memory_key_padding_mask=padding)
    expected = model.decoder_norm(x) @ model.target_embedding.weight.T + model.bias
    torch.testing.assert_close(model(BATCH, TARGET), expected)


def test_positions_are_the_papers():
    found = waves(torch.arange(50), 8).double()
    for p in (0, 1, 7, 49):
        for i in range(4):
            angle = p / 10000 ** (2 * i / 8)
            assert found[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert found[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert slopes(8).tolist() == [2.0**-h for h in range(1, 9)]


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_it_knows_the_order(positions):
    model = make(positions=positions)
    turned = SOURCE[:1].clone()
    turned[0, :4] = turned[0, :4].flip(0)
    first, second = (model(Padded(part, LENGTHS[:1]), TARGET[:1]) for part in (SOURCE[:1], turned))
    assert float((first - second).detach().abs().max()) > 1e-3


def test_without_positions_the_words_of_a_source_are_a_set():
    """What makes an order of them is the positions alone; what is written before a word still makes a difference."""
    model = make(positions="none")
    turned = SOURCE[2:].flip(1)
    first = model(Padded(SOURCE[2:], LENGTHS[2:]), TARGET[2:])
    torch.testing.assert_close(first, model(Padded(turned, LENGTHS[2:]), TARGET[2:]))
    assert float((first[:, 0] - first[:, 1]).detach().abs().max()) > 1e-3


def test_it_shows_what_every_layer_attends_to():
    model = make()
    with look.record(model) as records:
        model(BATCH, TARGET)
    assert len(records) == 2 + 2 * 2
    for name, aux in records:
        assert aux.weights.shape[:2] == (3, 3) and "attention" in name
        torch.testing.assert_close(aux.weights.sum(-1), torch.ones_like(aux.weights[..., 0]))


@every(
    ("changes", "named"),
    [
        ({"hidden_dim": 0}, "--hidden-dim"),
        ({"hidden_dim": 13}, "--hidden-dim.*multiple of --heads = 3"),
        ({"heads": 0}, "--heads"),
        ({"layers": 0}, "--layers"),
        ({"feedforward_dim": 0}, "--feedforward-dim"),
        ({"dropout": 1.0}, "--dropout"),
        ({"hidden_dim": 9}, "--hidden-dim.*even"),
        ({"norm": "none"}, "--norm: expected pre or post, got none"),
        ({"score": "location"}, "--score"),
        ({"hidden_dim": 9, "positions": "rotary"}, "--positions rotary.*even.*3"),
    ],
)
def test_what_means_nothing_is_refused_by_name(changes, named):
    with pytest.raises(ArgumentError, match=named):
        Options(**{**vars(OPTIONS), **changes})


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_its_alignment_is_of_targets_to_the_source(layers):
    model = make(layers=layers)
    with look.record(model) as records:
        model(BATCH, TARGET)
    found = model.alignment(records)
    assert found.shape == (3, TARGET.shape[1], SOURCE.shape[1])
    torch.testing.assert_close(found.sum(-1), torch.ones_like(found[..., 0]))
    assert bool((found[1, :, 3:] == 0).all())
