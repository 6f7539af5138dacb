"""Transformers of torch, torchvision, timm and transformers, on tiny random weights: replaced and recorded."""

import copy
import importlib
import importlib.util
import sys

import pytest
import torch
from torch import nn

from saccade import AuxRequest, look, replace_sdpa
from saccade.errors import ArgumentError
from saccade.nn import replace

REQUEST = AuxRequest(weights=True, entropy=True)
LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
"""Operators stay registered as long as this object lives."""


@pytest.fixture
def torchvision():
    """The package, also if its wheel was built for CUDA and torch was not, so that its operators are missing."""
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "does not exist" not in str(error):
            raise
    for operator in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, operator):
            LIBRARY.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    return importlib.import_module("torchvision")


def assert_replaced(model, call, names, kinds):
    """`nn.replace` changes neither outputs nor states, and the replaced modules are recorded with torch's weights."""
    expected, state, fresh = call(model), model.state_dict(), copy.deepcopy(model)
    with look.record(model, REQUEST) as before:
        call(model)
    assert replace(model).names == names
    torch.testing.assert_close(call(model), expected, rtol=0, atol=1e-6)
    assert list(model.state_dict()) == list(state)
    for parameter in fresh.parameters():
        nn.init.normal_(parameter)
    assert not torch.allclose(call(fresh), expected)
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(call(fresh), expected, rtol=0, atol=0)
    model.load_state_dict(fresh.state_dict())
    with look.record(model, REQUEST) as after:
        torch.testing.assert_close(call(model), expected, rtol=0, atol=1e-6)
    assert after.coverage == (names, (), ())
    assert [(record.name, record.kind) for record in after] == list(zip(names, kinds, strict=True))
    for one, other in zip(after, before, strict=True):
        torch.testing.assert_close(one.weights, other.weights, rtol=0, atol=1e-6)
        torch.testing.assert_close(one.entropy, torch.special.entr(other.weights).sum(-1), rtol=0, atol=1e-5)


def test_torchs_transformer():
    model = nn.Transformer(24, 4, 1, 1, 32, batch_first=True).eval()
    source, target = torch.randn(2, 7, 24), torch.randn(2, 5, 24)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    names = (
        "encoder.layers.0.self_attn",
        "decoder.layers.0.self_attn",
        "decoder.layers.0.multihead_attn",
    )
    assert_replaced(
        model, lambda model: model(source, target, tgt_mask=mask, tgt_is_causal=True), names, ("self", "self", "cross")
    )


def test_torchvisions_vision_transformer(torchvision):
    model = torchvision.models.VisionTransformer(32, 8, 2, 4, 24, 48, num_classes=5).eval()
    nn.init.normal_(model.heads.head.weight, std=0.1)  # zeros by default
    images = torch.randn(2, 3, 32, 32)
    names = tuple(f"encoder.layers.encoder_layer_{number}.self_attention" for number in (0, 1))
    assert_replaced(model, lambda model: model(images), names, ("self", "self"))


def assert_served(model, call, names):
    """A model that calls torch's function is observed bit for bit, and another backend computes its output."""
    expected = call(model)
    with look.record(model, REQUEST) as recording:
        assert torch.equal(call(model), expected)
    assert recording.coverage == (names, (), ())
    with replace_sdpa(backend="reference"):
        torch.testing.assert_close(call(model), expected, rtol=0, atol=1e-6)
    return recording


@torch.no_grad()
def test_timms_vision_transformer(torchvision):
    timm = pytest.importorskip("timm", reason="timm is not installed")
    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 4, "num_classes": 5}
    model = timm.models.vision_transformer.VisionTransformer(**sizes).eval()
    images, inputs = torch.randn(2, 3, 32, 32), []
    model.blocks[0].attn.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments[0]))
    recording = assert_served(model, lambda model: model(images), ("blocks.0.attn", "blocks.1.attn"))
    query, key, _ = model.blocks[0].attn.qkv(inputs[0]).unflatten(-1, (3, 4, 6)).permute(2, 0, 3, 1, 4)
    expected = (query @ key.mT / 6**0.5).softmax(-1)
    torch.testing.assert_close(recording[0].weights, expected, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_a_text_tower_of_transformers():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    options = {"vocab_size": 11, "max_position_embeddings": 9, **sizes, **tokens}
    model, eager = (
        transformers.CLIPTextModel._from_config(transformers.CLIPTextConfig(**options), attn_implementation=name).eval()
        for name in ("sdpa", "eager")
    )
    eager.load_state_dict(model.state_dict())
    ids = torch.randint(3, 11, (2, 7))
    names = tuple(name for name, module in model.named_modules() if type(module).__name__ == "CLIPAttention")
    assert len(names) == 2
    recording = assert_served(model, lambda model: model(ids).last_hidden_state, names)
    for record, weights in zip(recording, eager(ids, output_attentions=True).attentions, strict=True):
        torch.testing.assert_close(record.weights, weights, rtol=1e-5, atol=1e-6)
    with pytest.raises(ArgumentError, match=r"CLIPAttention is no torch\.nn\.MultiheadAttention"):
        replace(model)
