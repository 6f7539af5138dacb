"""Models of diffusers are recorded and replaced under their native backend, on tiny random weights.

Version 0.42 accepts only backends of its own enumeration, so that no other library can register one.
"""

import pytest
import torch

from saccade import AuxRequest, look, normalizers, replace_sdpa

diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

SIZES = {"num_attention_heads": 2, "attention_head_dim": 8, "in_channels": 4, "out_channels": 4, "num_layers": 2}
IMAGE = {"sample_size": 4, "patch_size": 2}
FLUX = {
    "patch_size": 1,
    "in_channels": 4,
    "num_layers": 1,
    "num_single_layers": 1,
    "attention_head_dim": 16,
    "num_attention_heads": 2,
    "joint_attention_dim": 8,
    "pooled_projection_dim": 6,
    "axes_dims_rope": (4, 4, 8),
}
WORDS = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def model(name):
    """A model, and its arguments."""
    torch.manual_seed(0)
    images, texts, times = torch.randn(2, 4, 4, 4), torch.randn(2, 5, 8), torch.tensor([3, 7])
    if name == "dit":
        made = diffusers.DiTTransformer2DModel(**SIZES, **IMAGE, num_embeds_ada_norm=10)
        return made.eval(), {"hidden_states": images, "timestep": times, "class_labels": torch.tensor([1, 2])}
    if name == "pixart":
        sizes = {"cross_attention_dim": 16, "caption_channels": 8, "use_additional_conditions": False}
        options = {"encoder_hidden_states": texts, "encoder_attention_mask": WORDS.float(), "timestep": times}
        conditions = {"added_cond_kwargs": {"resolution": None, "aspect_ratio": None}}
        made = diffusers.PixArtTransformer2DModel(**SIZES, **IMAGE, **sizes)
        return made.eval(), {"hidden_states": images, **options, **conditions}
    options = {"hidden_states": torch.randn(2, 9, 4), "encoder_hidden_states": texts, "timestep": times / 10}
    positions = {"img_ids": torch.randn(9, 3), "txt_ids": torch.zeros(5, 3)}
    made = diffusers.FluxTransformer2DModel(**FLUX)
    return made.eval(), {**options, **positions, "pooled_projections": torch.randn(2, 6)}


KINDS = {
    "dit": {"transformer_blocks.0.attn1": "self", "transformer_blocks.1.attn1": "self"},
    "pixart": {f"transformer_blocks.{n}.attn{i}": k for n in (0, 1) for i, k in ((1, "self"), (2, "cross"))},
    "flux": {"transformer_blocks.0.attn": "self", "single_transformer_blocks.0.attn": "self"},  # of text and image
}


def weights_by_hand(attention, states, texts):
    """The softmax of a module's own projections."""
    query, key = attention.to_q(states), attention.to_k(states if texts is None else texts)
    query, key = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in (query, key))
    scores = query @ key.mT / 8**0.5
    return (scores if texts is None else scores.masked_fill(WORDS[:, None, None] == 0, -torch.inf)).softmax(-1)


@pytest.mark.parametrize("name", KINDS)
@torch.no_grad()
def test_a_model_is_recorded_and_replaced(name):
    made, options = model(name)
    inputs, plain = {}, made(**options).sample
    for path in KINDS[name]:
        module = made.get_submodule(path)
        module.register_forward_pre_hook(lambda _, a, k, path=path: inputs.update({path: (a, k)}), with_kwargs=True)
    with look.record(made, AuxRequest(weights=True, entropy=True)) as recording:
        assert torch.equal(made(**options).sample, plain)
    assert {record.name: record.kind for record in recording} == KINDS[name]
    assert recording.coverage.bypassing == recording.coverage.partial == ()
    for record in recording:
        torch.testing.assert_close(record.weights.sum(-1), torch.ones(record.weights.shape[:-1]))
        if name != "flux":  # which turns queries and keys by their positions
            (states,), keywords = inputs[record.name]
            expected = weights_by_hand(made.get_submodule(record.name), states, keywords["encoder_hidden_states"])
            torch.testing.assert_close(record.weights, expected, rtol=1e-5, atol=1e-6)
    with replace_sdpa(backend="reference"):
        torch.testing.assert_close(made(**options).sample, plain, rtol=1e-5, atol=1e-6)
    with replace_sdpa(normalizer=normalizers.Sparsemax()), look.record(made) as sparse:
        made(**options)
    assert all((record.weights == 0).any() for record in sparse)


def test_a_name_of_another_library_is_no_backend():
    made, _ = model("dit")
    with pytest.raises(ValueError, match="must be one of the following"):
        made.set_attention_backend("saccade")
    with pytest.raises(ValueError, match="is not registered"), diffusers.attention_backend("saccade"):
        pass
