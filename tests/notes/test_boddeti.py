"""Equations of Boddeti, "Attention" (CSE 891), against plain formulas in float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from notes.equation import agree, agree_with_parameters, assert_rounded, drawn, evenly, inputs_of
from saccade import AuxRequest, attend, look, masks, nn, normalizers, reads, remember, scores
from saccade.models.cnn_attention import CNNAttention, Options

INPUTS, FEATURES, COMPARED = 7, 5, 4
X, PROJECTION, VALUES = (INPUTS, FEATURES), (FEATURES, COMPARED), (FEATURES, 3)
WEIGHTS = AuxRequest(weights=True)


def layer_of_the_slide(query, x, to_key, to_value):
    """The slide's scores have the input first and the query second, and its softmax is over inputs."""
    pairs = torch.softmax((x @ to_key) @ query.T / math.sqrt(COMPARED), 0)
    return torch.stack([(pairs[:, j, None] * (x @ to_value)).sum(0) for j in range(len(query))])


def masked(x, to_query, to_key, to_value):
    future = torch.ones(INPUTS, INPUTS, dtype=torch.bool).triu(1)
    similarity = (x @ to_query) @ (x @ to_key).T / math.sqrt(COMPARED)
    return torch.softmax(similarity.masked_fill(future, -math.inf), -1) @ (x @ to_value)


CASES = {
    "mean": (
        lambda y: attend(torch.zeros(3, 1).double(), torch.zeros(11, 1).double(), y),
        lambda y: y.mean().expand(3, 1),
        ((11, 1),),
    ),
    "nadaraya-watson": (
        lambda at, x, y: attend(at, x, y, score=scores.Gaussian(0.8)),
        lambda at, x, y: torch.softmax(-((at - x.T) ** 2) / (2 * 0.8**2), -1) @ y,
        ((6, 1), (20, 1), (20, 1)),
    ),
    "dot": (
        lambda q, x: attend(q, x, x, score=scores.Dot()),
        lambda q, x: torch.softmax(q @ x.T, -1) @ x,
        ((1, FEATURES), X),
    ),
    "scaled-dot-many-queries": (
        lambda q, x: attend(q, x, x),
        lambda q, x: torch.softmax(q @ x.T / math.sqrt(FEATURES), -1) @ x,
        ((3, FEATURES), X),
    ),
    "keys-and-values-of-the-inputs": (
        lambda q, x, k, v: attend(q, x @ k, x @ v),
        layer_of_the_slide,
        ((2, COMPARED), X, PROJECTION, VALUES),
    ),
    "masked": (
        lambda x, q, k, v: attend(x @ q, x @ k, x @ v, mask=masks.Causal()),
        masked,
        (X, PROJECTION, PROJECTION, VALUES),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equations(name):
    ours, plain, shapes = CASES[name]
    agree(ours, plain, *inputs_of(shapes))


KERNELS = {
    "gaussian": lambda u: (-(u**2) / 2).exp(),
    "boxcar": lambda u: (u <= 1).double() / 2,
    "epanechnikov": lambda u: 0.75 * (1 - u**2).clamp(min=0),
    "triangular": lambda u: (1 - u).clamp(min=0),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_weigh_the_points(kernel):
    pytest.importorskip("sklearn")
    x, y, at = drawn(20, 1), drawn(20, seed=3), drawn(6, 1)
    weights = KERNELS[kernel]((at - x.T).abs() / 0.8)
    near = weights.sum(1) > 0
    expected = (weights @ y / weights.sum(1))[near]
    if kernel != "gaussian":  # a case of the table above
        output = attend(at, x, y[:, None], score=scores.Kernel(kernel, 0.8), normalizer=normalizers.Sum())
        assert_rounded(output[near, 0], expected)
    assert near.any()
    estimator = nn.KernelRegression(kernel=kernel, bandwidth=0.8).fit(x.numpy(), y.numpy())
    assert_rounded(torch.as_tensor(estimator.predict(at[near].numpy())), expected)


@pytest.mark.parametrize("normalizer", [normalizers.Softmax(), normalizers.Sparsemax(), normalizers.Entmax(1.5)])
def test_weights_are_at_least_zero_and_sum_to_one(normalizer):
    query, x = drawn(3, FEATURES), drawn(*X)
    output, aux = attend(query, x, x, normalizer=normalizer, aux=WEIGHTS)
    assert (aux.weights >= 0).all()
    assert_rounded(aux.weights.sum(-1), torch.ones(3, dtype=torch.float64))
    assert_rounded(output, aux.weights @ x)


def test_a_hard_layer_draws_by_the_weights():
    query, x, count = drawn(1, FEATURES), drawn(*X), 2000
    shared = [part.expand(count, *part.shape) for part in (query, x, x)]
    read = reads.Sample(uniform=evenly(count, 1))
    output, aux = attend(*shared, read=read, aux=AuxRequest(index=True))
    weights = torch.softmax(query @ x.T / math.sqrt(FEATURES), -1)[0]
    assert torch.equal(output, x[aux.index])
    assert (F.one_hot(aux.index[:, 0], INPUTS).double().mean(0) - weights).abs().max() <= 1 / count


def test_a_self_attention_layer():
    def plain(x, **parameters):
        projections = parameters["in_proj_weight"].split(FEATURES)
        q, k, v = (x @ weight.T for weight in projections)
        return torch.softmax(q @ k.mT / math.sqrt(FEATURES), -1) @ v @ parameters["out_proj.weight"].T

    agree_with_parameters(nn.MultiheadAttention(FEATURES, 1, bias=False).double(), plain, drawn(1, *X))


def test_one_module_projects_keys_and_values_and_no_queries():
    """The general score q W x has the keys' projection and the scale in W."""

    def plain(q, x, **parameters):
        weight, to_value = parameters["score.weight"], parameters["value_projection.weight"]
        return layer_of_the_slide(q, x, math.sqrt(COMPARED) * weight.T, to_value.T)

    module = nn.Attention(COMPARED, FEATURES, score="general", value_hidden_dim=3).double()
    agree_with_parameters(module, plain, *inputs_of(((2, COMPARED), X)))


def test_outputs_and_weights_permute_with_the_inputs():
    module, order, x = nn.MultiheadAttention(6, 2).double(), torch.randperm(INPUTS), drawn(1, INPUTS, 6)
    output, aux = module(x, aux=WEIGHTS)
    permuted, permuted_aux = module(x[:, order], aux=WEIGHTS)
    assert_rounded(permuted, output[:, order])
    assert_rounded(permuted_aux.weights, aux.weights[..., order, :][..., order])
    rotary, reverse = nn.MultiheadAttention(4, 2, rotary_base=100.0).double(), torch.arange(INPUTS).flip(0)
    assert (rotary(x[..., :4])[:, reverse] - rotary(x[:, reverse, :4])).abs().max() > 1e-3


@pytest.mark.parametrize("pool", [lambda: nn.AttentionPool(4, num_queries=2), lambda: nn.SetPool(4, 2)])
def test_a_pool_of_a_set_does_not_depend_on_order(pool):
    module, x, order = pool().double(), drawn(1, INPUTS, 4), torch.randperm(INPUTS)
    assert_rounded(module(x[:, order]), module(x))


def test_self_attention_reads_all_places_of_a_map_of_any_size():
    network = CNNAttention(3, 4, Options(widths="4,8", blocks=1, attention_dim=4, heads=1)).eval()
    with look.record(network) as records:
        network(torch.rand(2, 3, 16, 16))
        network(torch.rand(2, 3, 32, 24))
    assert [tuple(aux.weights.shape) for _, aux in records] == [(2, 1, 16, 16), (2, 1, 48, 48)]


def seen_by(layer, place):
    """The number of inputs that an output depends on, of nine."""
    return int((look.sequential_jacobian(layer, drawn(9, 4))[place] > 1e-12).sum())


def test_reach_of_recurrent_convolutional_and_attention_layers():
    gru = torch.nn.GRU(4, 4, batch_first=True, dtype=torch.float64)
    convolution = torch.nn.Conv1d(4, 4, 3, padding=1, dtype=torch.float64)
    attention = nn.MultiheadAttention(4, 1).double()

    def convolved(x, layers):
        for _ in range(layers):
            x = convolution(x.mT).mT
        return x

    assert seen_by(lambda x: gru(x)[0], -1) == 9
    assert [seen_by(lambda x, layers=layers: convolved(x, layers), 4) for layers in (1, 2, 4)] == [3, 5, 9]
    assert seen_by(attention, 4) == 9


def test_for_all_grains_eat():
    """A grain is found by its content and written over, until the likeliest cell holds none."""
    grain, ground = torch.eye(2, dtype=torch.float64)[:, None]
    places = [1, 4, 7, 8]
    cells = torch.stack([grain if place in places else ground for place in range(11)], 1)
    memory = remember(cells, cells, score=scores.Dot(), positions=torch.arange(11))
    eaten = list[int]()
    for _ in range(11):
        found, aux = memory.read(grain[None], read=reads.Argmax(), aux=AuxRequest(index=True))
        if not bool((found @ grain.T > 0.5).all()):
            break
        eaten.append(int(aux.index))
        memory = memory.write(aux.index[0], ground[None], ground[None])
    assert sorted(eaten) == places
    assert torch.equal(memory.value, ground.expand(1, 11, 2))
