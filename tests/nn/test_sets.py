"""Blocks of sets: they are what the paper's equations say, whatever the order, and padding is nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from saccade import AuxRequest, masks, nn, normalizers
from saccade.errors import ArgumentError

BLOCKS = {
    "sab": lambda **more: nn.SetAttention(6, 2, **more),
    "isab": lambda **more: nn.SetAttention(6, 2, num_inducing=3, **more),
    "pma": lambda **more: nn.SetPool(6, 2, num_seeds=2, **more),
    "sparse": lambda **more: nn.SetAttention(6, 3, num_inducing=2, normalizer=normalizers.Sparsemax(), **more),
    "plain": lambda **more: nn.SetPool(6, 1, hidden_dim=9, layer_norm=False, **more),
}


def made(name):
    torch.manual_seed(0)
    return BLOCKS[name](dtype=torch.float64).eval()


@pytest.mark.parametrize("name", BLOCKS)
@given(size=st.integers(1, 9), seed=st.integers(0, 99))
def test_outputs_follow_elements_whatever_their_order(name, size, seed):
    block, numbers = made(name), torch.Generator().manual_seed(seed)
    elements = torch.randn(2, size, 6, dtype=torch.float64, generator=numbers)
    order = torch.randperm(size, generator=numbers)
    output, other = block(elements), block(elements[:, order])
    torch.testing.assert_close(other, output if isinstance(block, nn.SetPool) else output[:, order])


@pytest.mark.parametrize("name", BLOCKS)
@given(size=st.integers(1, 5), padding=st.integers(1, 4))
def test_padding_is_nothing(name, size, padding):
    block = made(name)
    elements = torch.randn(1, size + padding, 6, dtype=torch.float64)
    alone = block(elements[:, :size])
    padded = block(elements, mask=masks.Lengths(torch.tensor([size])))
    torch.testing.assert_close(padded if isinstance(block, nn.SetPool) else padded[:, :size], alone)
    inside = (torch.arange(size + padding) < size)[None, None, None]
    torch.testing.assert_close(block(elements, mask=inside), padded)


def plain_block(block, query, key):
    """Equations 6 and 7, by torch alone."""
    heads, dim = block.attention.num_heads, query.shape[-1]
    weights = block.attention.in_proj_weight.split(dim)
    biases = block.attention.in_proj_bias.split(dim)
    q, k, v = (
        F.linear(one, weight, bias).unflatten(-1, (heads, -1)).transpose(-2, -3)
        for one, weight, bias in zip((query, key, key), weights, biases, strict=True)
    )
    read = ((q @ k.mT) / (dim // heads) ** 0.5).softmax(-1) @ v
    out = block.attention.out_proj
    hidden = block.attention_norm(query + F.linear(read.transpose(-2, -3).flatten(-2), out.weight, out.bias))
    return block.output_norm(hidden + block.feed_forward(hidden))


@pytest.mark.parametrize("name", ["sab", "isab", "pma", "plain"])
def test_they_are_the_equations(name):
    block, elements = made(name), torch.randn(3, 5, 6, dtype=torch.float64)
    if isinstance(block, nn.SetPool):
        wanted = plain_block(block.block, block.seeds.expand(3, -1, -1), block.feed_forward(elements))
    elif block.gather is None:
        wanted = plain_block(block.block, elements, elements)
    else:
        points = plain_block(block.gather, block.inducing.expand(3, -1, -1), elements)
        wanted = plain_block(block.block, elements, points)
    torch.testing.assert_close(block(elements), wanted)


@pytest.mark.parametrize("name", ["sab", "isab", "pma"])
def test_gradients_are_those_of_differences(name):
    block, elements = made(name), torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    mask = masks.Lengths(torch.tensor([3, 2]))
    assert torch.autograd.gradcheck(lambda given: block(given, mask=mask), elements)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_set_of_none_is_finite_and_learns(name):
    block = made(name)
    output = block(torch.randn(2, 4, 6, dtype=torch.float64), mask=masks.Lengths(torch.tensor([4, 0])))
    output.square().sum().backward()
    assert output.isfinite().all() and all(one.grad.isfinite().all() for one in block.parameters())


def test_what_was_attended_to_is_seen():
    elements, request = torch.randn(2, 5, 6), AuxRequest(weights=True)
    for block, shape in (
        (nn.SetAttention(6, 2), (2, 2, 5, 5)),
        (nn.SetAttention(6, 2, num_inducing=3), (2, 2, 5, 3)),
        (nn.SetPool(6, 2, num_seeds=4), (2, 2, 4, 5)),
    ):
        output, aux = block(elements, aux=request)
        torch.testing.assert_close(output, block(elements))
        assert aux.weights.shape == shape
        torch.testing.assert_close(aux.weights.sum(-1), torch.ones(shape[:-1]))


def test_states_are_saved_and_loaded():
    first, second = (nn.SetAttention(6, 2, num_inducing=3) for _ in range(2))
    second.load_state_dict(first.state_dict())
    elements = torch.randn(2, 5, 6)
    torch.testing.assert_close(first(elements), second(elements))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nn.SetAttention(6, 4), "num_heads: expected a divisor of embed_dim = 6, got 4"),
        (lambda: nn.SetAttention(6, 2, num_inducing=0), "num_inducing"),
        (lambda: nn.SetPool(6, 2, num_seeds=0), "num_seeds"),
        (lambda: nn.SetPool(6, 2, hidden_dim=0), "hidden_dim"),
        (lambda: nn.SetPool(6, 2)(torch.randn(2, 5, 7)), "^elements: .*6.*7"),
    ],
)
def test_what_does_not_fit_is_refused(make, said):
    with pytest.raises((ArgumentError, ValueError), match=said):
        make()
