"""Equations of Solberg 2018, "Attention", against plain formulas in float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from notes.equation import agree, assert_rounded, drawn, evenly, inputs_of
from saccade import AuxRequest, attend, nn, reads, scores
from saccade.errors import ArgumentError
from saccade.models import ram, ram_grid
from saccade.models.policies import Gaussian
from saccade.nn import addressing

ELEMENTS, FEATURES, COMPARED = 7, 5, 4
X, PROJECTION, VALUES = (ELEMENTS, FEATURES), (FEATURES, COMPARED), (FEATURES, 3)
HEADS = (3, FEATURES, 2)


def distance(query, key):
    return -(query[:, None] - key[None]).abs().sum(-1)


def matched(x, to_query, to_key):
    """Equations 1 and 2, pair by pair, with a negative distance as g."""
    rows = []
    for i in range(len(x)):
        scores_of_i = [-((x[i] @ to_query) - (x[j] @ to_key)).abs().sum() for j in range(len(x))]
        exponentials = torch.stack(scores_of_i).exp()
        rows.append(exponentials / exponentials.sum())
    return torch.stack(rows)


def dot_weights(x, to_query, to_key):
    return torch.softmax((x @ to_query) @ (x @ to_key).T, -1)


def heads(x, to_query, to_key, to_value):
    parts = []
    for q, k, v in zip(to_query, to_key, to_value, strict=True):
        weights = torch.softmax((x @ q) @ (x @ k).T / math.sqrt(q.shape[-1]), -1)
        parts.append(weights @ (x @ v))
    return torch.cat(parts, -1)


def different_heads(x, to_query, to_key):
    """A head of a network and a cosine, a head of a sine and a Gaussian."""
    cosine = 3 * F.cosine_similarity((x @ to_query).tanh()[:, None], (x @ to_key).tanh()[None], dim=-1)
    squares = ((x @ to_query).sin()[:, None] - (x @ to_key).sin()[None]).square().sum(-1)
    gaussian = -squares / (2 * 0.7**2)
    return torch.cat([torch.softmax(cosine, -1) @ x.tanh(), torch.softmax(gaussian, -1) @ x.sin()], -1)


CASES = {
    "eq-1-2-matching-function": (
        lambda x, q, k: attend(x @ q, x @ k, torch.eye(ELEMENTS, dtype=x.dtype), score=distance),
        matched,
        (X, PROJECTION, PROJECTION),
    ),
    "eq-4-soft": (
        lambda x, q, k: attend(x @ q, x @ k, x, score=scores.Dot()),
        lambda x, q, k: dot_weights(x, q, k) @ x,
        (X, PROJECTION, PROJECTION),
    ),
    "eq-6-soft-values": (
        lambda x, q, k, v: attend(x @ q, x @ k, (x @ v).tanh(), score=scores.Dot()),
        lambda x, q, k, v: dot_weights(x, q, k) @ (x @ v).tanh(),
        (X, PROJECTION, PROJECTION, VALUES),
    ),
    "heads-concatenated": (
        lambda x, q, k, v: attend(x @ q, x @ k, x @ v).movedim(0, -2).flatten(-2),
        heads,
        (X, HEADS, HEADS, HEADS),
    ),
    "heads-of-different-functions": (
        lambda x, q, k: torch.cat(
            [
                attend((x @ q).tanh(), (x @ k).tanh(), x.tanh(), score=scores.Cosine(3.0)),
                attend((x @ q).sin(), (x @ k).sin(), x.sin(), score=scores.Gaussian(0.7)),
            ],
            -1,
        ),
        different_heads,
        (X, PROJECTION, PROJECTION),
    ),
    "content-addressing-is-attention": (
        lambda key, cells: addressing.content(key, torch.full((1, 1), 1.7, dtype=key.dtype), cells) @ cells,
        lambda key, cells: torch.softmax(1.7 * F.cosine_similarity(key, cells, dim=-1), -1)[None] @ cells,
        ((1, FEATURES), X),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equations(name):
    ours, plain, shapes = CASES[name]
    agree(ours, plain, *inputs_of(shapes))


def test_a_memory_that_is_only_read_is_attention():
    memory = nn.ExternalMemory(6, FEATURES, num_writes=0, by="content").double()
    controller, cells = drawn(2, 6), drawn(2, *X)
    state = memory(controller, memory.start(2, ELEMENTS)._replace(memory=cells))
    key, beta = memory.heads(controller)[:, None, : FEATURES + 1].split((FEATURES, 1), -1)
    assert torch.equal(state.memory, cells)
    assert_rounded(state.read, attend(key, cells, cells, score=scores.Cosine(F.softplus(beta))))


@pytest.mark.parametrize("values", [lambda x: x, lambda x: (x @ drawn(*VALUES)).tanh()], ids=["eq-3", "eq-5"])
def test_hard_self_attention_draws_by_the_soft_weights(values):
    x, q, k = inputs_of((X, PROJECTION, PROJECTION))
    count, value = 2000, values(x)
    shared = [part.expand(count, *part.shape) for part in (x @ q, x @ k, value)]
    uniform = evenly(count, ELEMENTS)
    output, aux = attend(*shared, score=scores.Dot(), read=reads.Sample(uniform=uniform), aux=AuxRequest(index=True))
    assert torch.equal(output, value[aux.index])
    shares = F.one_hot(aux.index, ELEMENTS).double().mean(0)
    assert (shares - dot_weights(x, q, k)).abs().max() <= 1 / count


def test_heads_of_a_module_are_concatenated_before_the_output_projection():
    x, q, k, v = inputs_of((X, HEADS, HEADS, HEADS))
    count, dim = HEADS[0], HEADS[2]
    module = nn.MultiheadAttention(FEATURES, count, head_dim=dim, output_dim=count * dim, bias=False).double()
    with torch.no_grad():
        for rows, part in zip(module.in_proj_weight.split(count * dim), (q, k, v), strict=True):
            rows.copy_(part.movedim(0, 1).flatten(1).T)
        module.out_proj.weight.copy_(torch.eye(count * dim))
        assert_rounded(module(x[None])[0], heads(x, q, k, v))


def cropped(image, x, y, sides, factor):
    """A part of an image `(channels, height, width)` around a point, averaged over `factor` × `factor` pixels."""
    height, width = image.shape[1:]
    high, wide, room = factor * sides[0], factor * sides[1], 100
    top, left = round((y + 1) / 2 * height - high / 2) + room, round((x + 1) / 2 * width - wide / 2) + room
    padded = F.pad(image, (room, room, room, room))
    return F.avg_pool2d(padded[None, :, top : top + high, left : left + wide], factor)[0]


def test_a_crop_and_one_four_times_as_wide_share_their_centre():
    images, points = drawn(2, 1, 60, 44), torch.tensor([[0.0, 0.0], [-1.0, 0.5]], dtype=torch.float64)
    retina, doubling = nn.Retina((8, 4), scales=2, factor=4), nn.Retina(8, scales=3)
    patches, squares = (retina(images, points[:, None])[:, 0] for retina in (retina, doubling))
    for image, point, views, views_of_square in zip(images, points.tolist(), patches, squares, strict=True):
        for view, factor in zip(views, (1, 4), strict=True):
            assert_rounded(view, cropped(image, *point, (8, 4), factor))
        for view, factor in zip(views_of_square, (1, 2, 4), strict=True):
            assert_rounded(view, cropped(image, *point, (8, 8), factor))


def test_a_glimpse_of_a_sequence_is_a_window_around_a_location():
    sequences, places = drawn(2, 3, 20), torch.tensor([7, 12])
    location = torch.stack([places / 10 - 1, torch.zeros(2)], -1).double()
    glimpses = nn.Retina((1, 6))(sequences[:, :, None], location[:, None])[:, 0, 0, :, 0]
    for sequence, place, glimpse in zip(sequences, places.tolist(), glimpses, strict=True):
        assert torch.equal(glimpse, sequence[:, place - 3 : place + 3])


def test_locations_run_from_the_upper_left_corner_to_the_lower_right():
    ramp = torch.arange(64.0).view(1, 1, 8, 8)
    corner, middle = nn.Retina(2)(ramp, torch.tensor([[[-1.0, -1.0], [0.0, 0.0]]]))[0, :, 0, 0]
    assert corner.tolist() == [[0.0, 0.0], [0.0, 0.0]] and middle.tolist() == [[27.0, 28.0], [35.0, 36.0]]


def test_eq_7_to_9_of_an_agent():
    options = ram.Options(patch=4, scales=2, hidden_dim=16, glimpse_dim=8, glimpses=3)
    agent, images = ram.Ram(1, 10, options).double().eval(), drawn(2, 1, 28, 28)
    path = agent.look(images, draw=False)
    state, location, core = images.new_zeros(2, 16), images.new_zeros(2, 2), agent.core
    for step in range(3):
        assert_rounded(path.location[:, 0, step], location)
        glimpse = agent.glimpse(images, location[:, None])[:, 0]
        recurrent = state @ core.weight_hh.T + core.bias_hh
        state = torch.relu(recurrent + glimpse @ core.weight_ih.T + core.bias_ih)
        location = torch.tanh(state @ agent.policy.mean.weight.T + agent.policy.mean.bias)
    assert_rounded(path.logits[:, 0, -1], state @ agent.output.weight.T + agent.output.bias)


def test_the_first_glimpse_is_at_the_centre():
    agent, images = ram.Ram(1, 10, ram.Options(patch=4, glimpses=2)), torch.rand(64, 1, 28, 28)
    assert 0 < agent.look(images).location[:, 0, 0].abs().max() <= 0.1
    assert not agent.eval().look(images).location[:, 0, 0].any()


@pytest.mark.parametrize("model", [ram, ram_grid])
def test_the_first_glimpse_may_be_anywhere(model):
    kind = ram.Ram if model is ram else ram_grid.RamGrid
    agent, images = kind(1, 10, model.Options(patch=4, glimpses=2, first="random")).double(), drawn(2, 1, 28, 28)
    numbers = torch.rand(2, 300, 2, 2)
    path = agent.look(images, 300, numbers=numbers)
    assert torch.equal(path.location[:, :, 0], (2 * numbers[:, :, 0] - 1).double())
    assert not agent.look(images, draw=False).location[:, 0, 0].any()
    with pytest.raises(ArgumentError, match="--first: expected middle or random, got left"):
        model.Options(first="left")


def test_eq_10_locations_are_normal_around_their_mean():
    policy, state, count = Gaussian(6, 0.15, 0.05).double(), drawn(1, 6), 20_000
    mean = torch.tanh(policy.mean(state))
    choice = policy(state.expand(count, 6), 0.0, evenly(count, 2))
    inside = (choice.location.abs() < 1).all(-1)
    density = torch.distributions.Normal(mean, 0.15).log_prob(choice.location).sum(-1)
    assert inside.any()
    assert_rounded(choice.log_prob[inside], density[inside])
    quantiles = torch.tensor([0.1, 0.5, 0.8], dtype=torch.float64)
    expected = (mean.T + 0.15 * torch.special.ndtri(quantiles)).clamp(-1, 1)
    torch.testing.assert_close(choice.location.quantile(quantiles, dim=0).T, expected, atol=1e-4, rtol=0.0)


def test_eq_11_locations_are_cells_of_a_grid_over_an_image_of_any_size():
    options = ram_grid.Options(patch=4, rows=3, columns=5, hidden_dim=16, glimpse_dim=8, glimpses=4)
    agent, state = ram_grid.RamGrid(1, 10, options).double().eval(), drawn(9, 16)
    choice = agent.policy(state, numbers=evenly(9, 2))
    column = ((choice.location[:, 0] + 1) * 5 / 2 - 0.5).round().long()
    row = ((choice.location[:, 1] + 1) * 3 / 2 - 0.5).round().long()
    log_probabilities = torch.log_softmax(state @ agent.policy.scores.weight.T + agent.policy.scores.bias, -1)
    assert_rounded(choice.log_prob, log_probabilities.gather(1, (5 * row + column)[:, None])[:, 0])
    for height, width in ((28, 28), (60, 60), (200, 90)):
        assert agent(drawn(2, 1, height, width)).shape == (2, 10)


def test_the_policy_gradient_is_the_gradient_of_the_expected_reward():
    query, key, reward = drawn(1, COMPARED).requires_grad_(), drawn(5, COMPARED), drawn(5)
    weights = torch.softmax(query @ key.T / math.sqrt(COMPARED), -1)
    [expected] = torch.autograd.grad((weights @ reward).sum(), query)
    upper = weights.detach()[0].cumsum(0)
    total = torch.zeros_like(query)
    for cell in range(5):
        read = reads.Sample(uniform=upper[cell : cell + 1] - 1e-9)
        _, aux = attend(query, key, key, read=read, aux=AuxRequest(index=True, log_prob=True))
        assert aux.index.item() == cell
        [score] = torch.autograd.grad(aux.log_prob.sum(), query)
        total += weights[0, cell].detach() * reward[cell] * score
    assert_rounded(total, expected)


def test_eq_12_and_13_a_gate_reads_input_visible_state_and_output():
    inputs_dim, outputs_dim, hidden = 3, 2, 4
    lstm = nn.GatedLSTM(inputs_dim + outputs_dim, hidden, dtype=torch.float64)
    to_output = torch.nn.Linear(hidden, outputs_dim, dtype=torch.float64)
    xs, state, y = drawn(1, 6, inputs_dim), lstm.start(1), torch.zeros(1, outputs_dim, dtype=torch.float64)
    of_input, of_hidden, *biases = (part[3 * hidden :] for part in lstm.lstm.all_weights[0])
    for x in xs.unbind(1):
        visible = state.hidden
        step = torch.cat([x, y], -1)[:, None]
        (outputs, state), aux = lstm(step, state, aux=AuxRequest(weights=True))
        u, w = of_input.split((inputs_dim, outputs_dim), 1)
        gate = torch.sigmoid(x @ u.T + visible @ of_hidden.T + y @ w.T + sum(biases))
        assert_rounded(aux.weights[:, 0], gate)
        assert_rounded(outputs[:, 0], gate * torch.tanh(state.cell))
        y = torch.softmax(to_output(state.hidden), -1)


@pytest.mark.parametrize("cells", [10, 1000])
def test_an_external_memory_has_any_number_of_cells(cells):
    memory = nn.ExternalMemory(8, 4, dtype=torch.float64)
    state = memory(drawn(2, 8), memory.start(2, cells))
    assert state.memory.shape == (2, cells, 4)
    assert_rounded(state.read_weights.sum(-1), torch.ones(2, 1, dtype=torch.float64))
