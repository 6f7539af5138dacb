"""Equations of Canal, "Attention basics" (CampusAI), against plain formulas in float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from notes.equation import agree, assert_rounded, drawn, inputs_of
from saccade import AuxRequest, attend, look, normalizers, reads, scores
from saccade.models.cnn import CNN, Options
from saccade.models.tiles import SoftTiles, Tiling

GLIMPSES, FEATURES = (9, 5), 5


def nothing(rows):
    """Queries or keys of a call whose score reads neither."""
    return torch.zeros(rows, 1, dtype=torch.float64)


def readout(weights, values):
    """Values summed with any weights, by a score that is these weights."""
    keys = nothing(len(values))
    return attend(nothing(len(weights)), keys, values, score=lambda q, k: weights, normalizer=normalizers.Identity())


def windows(kernel, x):
    """A convolution as a sum over shifted copies of the input `(length, channels)`."""
    padded = F.pad(x, (0, 0, 1, 1))
    return sum(kernel[shift] * padded[shift : shift + len(x)] for shift in range(3))


CASES = {
    "expected-glimpse": (
        lambda a, glimpses: attend(a, glimpses, glimpses),
        lambda a, glimpses: torch.softmax(a @ glimpses.T / math.sqrt(FEATURES), -1) @ glimpses,
        ((1, FEATURES), GLIMPSES),
    ),
    "differentiable-in-the-attention-vector": (
        lambda a, glimpses: attend(a, glimpses, glimpses, score=scores.Dot()).square(),
        lambda a, glimpses: (torch.softmax(a @ glimpses.T, -1) @ glimpses).square(),
        ((1, FEATURES), GLIMPSES),
    ),
    "readout-with-any-weights": (readout, lambda weights, values: weights @ values, ((2, 6), (6, 3))),
    "convolution-is-a-readout-with-fixed-weights": (
        lambda kernel, x: readout(
            sum(kernel[n] * torch.diag(torch.ones(9 - abs(n - 1), dtype=x.dtype), n - 1) for n in range(3)), x
        ),
        windows,
        ((3,), (9, 1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equations(name):
    ours, plain, shapes = CASES[name]
    agree(ours, plain, *inputs_of(shapes))


def test_a_convolution_of_torch_is_that_readout_and_attention_weights_move():
    kernel, signals = drawn(3), drawn(2, 9, 1)
    expected = F.conv1d(signals.mT, kernel.view(1, 1, 3), padding=1).mT
    for x, convolved in zip(signals, expected, strict=True):
        assert_rounded(windows(kernel, x), convolved)
    first, second = (attend(x, x, x, aux=AuxRequest(weights=True))[1].weights for x in signals)
    assert (first - second).abs().max() > 0.01


def test_the_label_has_a_gradient_by_each_pixel():
    network = CNN(3, 4, Options(widths="4,8", blocks=1)).double().eval()
    image, direction = drawn(1, 3, 16, 16).requires_grad_(), drawn(1, 3, 16, 16, seed=5)
    [gradient] = torch.autograd.grad(network(image)[0, 2], image)
    step = 1e-5
    with torch.no_grad():
        above, below = (network(image + sign * step * direction)[0, 2] for sign in (1, -1))
    torch.testing.assert_close((gradient * direction).sum(), (above - below) / (2 * step), rtol=1e-6, atol=1e-9)


def test_the_sequential_jacobian_has_the_norms_of_torchs():
    gru, x, unit = torch.nn.GRU(3, 5, batch_first=True, dtype=torch.float64), drawn(6, 3), 2
    full = torch.autograd.functional.jacobian(lambda one: gru(one[None])[0][0], x)  # (T, units, S, features)
    whole = look.sequential_jacobian(lambda copies: gru(copies)[0], x)
    assert_rounded(whole, full.square().sum((1, 3)).sqrt())
    of_unit = look.sequential_jacobian(lambda copies: gru(copies)[0][..., unit : unit + 1], x)
    assert_rounded(of_unit, full[:, unit].norm(dim=-1))
    assert not whole.triu(1).any()
    signed = look.sequential_jacobian(lambda copies: gru(copies)[0], x, signed=True)
    assert_rounded(signed, full)


def test_a_soft_agent_reads_the_expectation_over_tiles():
    agent = SoftTiles(1, 10, Tiling(patch=8, hidden_dim=16, glimpse_dim=8, glimpses=2)).double().eval()
    images = drawn(2, 1, 24, 32)
    path, core, state = agent.look(images, draw=False), agent.core, images.new_zeros(2, 16)
    x, y = ((2 * torch.arange(count, dtype=torch.float64) + 1) / count - 1 for count in (4, 3))
    centres = torch.stack([x.expand(3, 4), y[:, None].expand(3, 4)], -1).flatten(0, 1)
    tiles = agent.glimpse(images, centres.expand(2, 12, 2))
    for step in range(2):
        glimpse = (path.weights[:, 0, step].flatten(1)[..., None] * tiles).sum(1)
        recurrent = state @ core.weight_hh.T + core.bias_hh
        state = torch.relu(recurrent + glimpse @ core.weight_ih.T + core.bias_ih)
    assert_rounded(path.logits[:, 0, -1], state @ agent.output.weight.T + agent.output.bias)


def test_no_gradient_passes_a_hard_decision():
    a, glimpses = drawn(1, FEATURES).requires_grad_(), drawn(*GLIMPSES)
    output, aux = attend(a, glimpses, glimpses, read=reads.Sample(), aux=AuxRequest(log_prob=True))
    assert not output.requires_grad and aux.log_prob.requires_grad
