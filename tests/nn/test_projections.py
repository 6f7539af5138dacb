"""Sizes of heads, normalized queries and keys, and gates, each against the plain formula."""

import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm, scaled_dot_product_attention

from saccade import AuxRequest, masks, nn, reads
from saccade.errors import ArgumentError, UnsupportedBackend

F64 = torch.float64
SIZES = {"head_dim": 6, "value_head_dim": 5, "output_dim": 11}


def plain(module, x, norm=None, gated=None):
    """Projections, SDPA of each head, gate and output, written out for a module without grouped queries."""
    query, key, value = torch.nn.functional.linear(x, module.in_proj_weight, module.in_proj_bias).split(
        module.sizes, -1
    )
    query, key, value = (part.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for part in (query, key, value))
    if norm is not None:
        query, key = norm(query, module.query_norm), norm(key, module.key_norm)
    read = scaled_dot_product_attention(query, key, value).transpose(1, 2)
    if gated is not None:
        read = gated(read, torch.sigmoid(x @ module.gate_proj.weight.mT + module.gate_proj.bias))
    return module.out_proj(read.flatten(-2))


NORMS = {
    "rms": lambda x, norm: rms_norm(x, x.shape[-1:], norm.weight, 1e-6),
    "layer": lambda x, norm: layer_norm(x, x.shape[-1:], norm.weight, norm.bias, 1e-6),
}
GATES = {
    "elementwise": lambda read, gate: read * gate.view(read.shape),
    "headwise": lambda read, gate: read * gate[..., None],
}


def spread(module):
    """The module with no parameter at a value that hides it."""
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module


def same_with_gradients(module, found, want, x):
    upstream, leaves = torch.randn_like(want), (x, *module.parameters())
    torch.testing.assert_close(found, want)
    for new, old in zip(
        torch.autograd.grad(found, leaves, upstream), torch.autograd.grad(want, leaves, upstream), strict=True
    ):
        torch.testing.assert_close(new, old)


@pytest.mark.parametrize("sizes", [{"head_dim": 6}, {"value_head_dim": 5}, {"output_dim": 11}, SIZES], ids=str)
def test_sizes_of_their_own(sizes):
    module = spread(nn.MultiheadAttention(12, 3, dtype=F64, **sizes))
    x = torch.randn(2, 5, 12, dtype=F64, requires_grad=True)
    assert module(x).shape == (2, 5, sizes.get("output_dim", 12))
    same_with_gradients(module, module(x), plain(module, x), x)


def test_heads_that_do_not_divide_the_features():
    module = nn.MultiheadAttention(10, 3, head_dim=4, num_kv_heads=1, kdim=7, vdim=9, value_head_dim=2)
    query, key, value = torch.randn(2, 5, 10), torch.randn(2, 6, 7), torch.randn(2, 6, 9)
    output, aux = module(query, key, value, aux=AuxRequest(weights=True))
    assert output.shape == (2, 5, 10) and aux.weights.shape == (2, 1, 3, 5, 6)
    with pytest.raises(
        ArgumentError, match="num_heads: expected a divisor of embed_dim = 10, got 3. Change it, or pass head_dim="
    ):
        nn.MultiheadAttention(10, 3)


@pytest.mark.parametrize("kind", NORMS)
def test_normalized_queries_and_keys(kind):
    module = spread(nn.MultiheadAttention(12, 3, dtype=F64, qk_norm=kind, **SIZES))
    x = torch.randn(2, 5, 12, dtype=F64, requires_grad=True)
    same_with_gradients(module, module(x), plain(module, x, norm=NORMS[kind]), x)


@pytest.mark.parametrize("kind", GATES)
def test_gates_before_the_output(kind):
    module = spread(nn.MultiheadAttention(12, 3, dtype=F64, output_gate=kind, **SIZES))
    x = torch.randn(2, 5, 12, dtype=F64, requires_grad=True)
    same_with_gradients(module, module(x), plain(module, x, gated=GATES[kind]), x)


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_a_cache_with_all_of_them_is_the_whole_sequence(kv_heads):
    options = {**SIZES, "rotary_base": 100.0, "qk_norm": "rms", "output_gate": "headwise", "add_bias_kv": True}
    module = spread(nn.MultiheadAttention(12, 4, num_kv_heads=kv_heads, dtype=F64, **options))
    x = torch.randn(2, 6, 12, dtype=F64)
    memory, steps = module.remember(x[:, :2]), []
    for t in range(2, 6):
        memory = module.append(memory, x[:, t : t + 1])
        steps.append(module(x[:, t : t + 1], memory=memory))
    torch.testing.assert_close(torch.cat(steps, 1), module(x, mask=masks.Causal())[:, 2:])


def test_lengths_of_keys_are_what_rms_takes_away():
    module = nn.MultiheadAttention(8, 2, qk_norm="rms", bias=False, dtype=F64)
    x = torch.randn(1, 4, 8, dtype=F64)
    weights = [module(scale * x, aux=AuxRequest(weights=True))[1].weights for scale in (1, 1000)]
    torch.testing.assert_close(*weights, atol=1e-4, rtol=0)


def test_reads_of_the_module_and_of_a_call():
    module = nn.MultiheadAttention(8, 2, read=reads.Argmax(), dtype=F64)
    x = torch.randn(1, 4, 8, dtype=F64)
    output, aux = module(x, aux=AuxRequest(index=True))
    value = module._project(2, x)
    picked = value.gather(-2, aux.index[..., None].expand(*aux.index.shape, 4))
    torch.testing.assert_close(output, module.out_proj(picked.transpose(1, 2).flatten(-2)))
    soft = nn.MultiheadAttention(8, 2, dtype=F64)
    soft.load_state_dict(module.state_dict())
    torch.testing.assert_close(module(x, read=reads.Soft()), soft(x))
    torch.testing.assert_close(soft(x, memory=soft.remember(x), read=reads.Argmax()), output)


def test_a_backend_by_name_serves_or_says_why_not():
    module, x = nn.MultiheadAttention(8, 2, backend="sdpa"), torch.randn(1, 4, 8)
    torch.testing.assert_close(module(x), module(x, memory=module.remember(x)))
    with pytest.raises(UnsupportedBackend, match="sdpa"):
        module(x, aux=AuxRequest(weights=True))
    with pytest.raises(ArgumentError, match="backend: expected a name"):
        nn.MultiheadAttention(8, 2, backend=None)
