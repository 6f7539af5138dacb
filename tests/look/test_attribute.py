import itertools
import sys

import numpy as np
import pytest
import torch
from torch import nn

from saccade import AuxOutput
from saccade.errors import ArgumentError, SaccadeError, ShapeError
from saccade.look import Record, Recording, attribute, record
from saccade.nn import MultiheadAttention

CLASSES = torch.tensor([1, 0, 2])


def random_layers(count, batch=2, heads=3, length=5):
    generator = torch.Generator().manual_seed(7)
    shape = (batch, heads, length, length)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1) for _ in range(count)]


def with_residual(layers, merge, residual):
    """Rows of a layer and its residual connection, by NumPy: `(layers, B, L, L)`."""
    mixed = [(1 - residual) * merge(layer.numpy(), 1) + residual * np.eye(layer.shape[-1]) for layer in layers]
    return np.stack([layer / layer.sum(-1, keepdims=True) for layer in mixed])


def classifier():
    """A smooth model of embeddings `(B, 5, 4)` with three classes."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Flatten(), nn.Linear(35, 3), nn.Softmax(-1)).double()


@pytest.mark.parametrize(("heads", "merge"), [("mean", np.mean), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("residual", [0.5, 0.0, 0.3])
def test_rollout_is_the_product_of_matrices(heads, merge, residual):
    layers = random_layers(3)
    first, second, third = with_residual(layers, merge, residual)
    result = attribute.rollout(layers, residual=residual, heads=heads)
    assert np.allclose(result, third @ second @ first, atol=1e-14)
    assert torch.allclose(result.sum(-1), torch.ones(2, 5, dtype=torch.float64))


def test_rows_without_weights_read_themselves():
    assert torch.equal(attribute.rollout([torch.zeros(1, 2, 3, 3)]), torch.eye(3)[None])
    assert torch.equal(attribute.rollout([torch.zeros(1, 2, 3, 3)], residual=0.0), torch.zeros(1, 3, 3))


def smallest_cut(layers, query, key):
    """The capacity of the smallest cut between two positions, by trying all sets of positions."""
    depth, length = len(layers), layers.shape[-1]
    nodes = list(itertools.product(range(depth + 1), range(length)))
    source, sink = (depth, query), (0, key)
    free = [node for node in nodes if node not in (source, sink)]
    capacities = []
    for inside in itertools.product((False, True), repeat=len(free)):
        side = {**dict(zip(free, inside, strict=True)), source: True, sink: False}
        edges = itertools.product(range(depth), range(length), range(length))
        cut = [layers[level, i, j] for level, i, j in edges if side[level + 1, i] and not side[level, j]]
        capacities.append(sum(cut))
    return min(capacities)


@pytest.mark.parametrize(("depth", "length"), [(1, 3), (2, 2), (2, 3), (3, 2)])
def test_flow_is_the_smallest_cut(depth, length):
    layers = random_layers(depth, batch=1, length=length)
    matrices = with_residual(layers, np.mean, 0.5)[:, 0]
    expected = [[smallest_cut(matrices, query, key) for key in range(length)] for query in range(length)]
    assert np.abs(attribute.flow(layers)[0].numpy() - expected).max() <= depth * length**2 * 2**-31


def test_some_rows_of_flow_are_those_of_all():
    layers = random_layers(2)
    assert torch.equal(attribute.flow(layers, rows=[2, 0]), attribute.flow(layers)[:, [2, 0]])


def test_flow_is_that_of_networkx():
    networkx = pytest.importorskip("networkx")
    layers = random_layers(3, length=4)
    matrices = with_residual(layers, np.max, 0.2)
    graph = networkx.DiGraph()
    for level, query, key in itertools.product(range(3), range(4), range(4)):
        graph.add_edge((level + 1, query), (level, key), capacity=float(matrices[level, 1, query, key]))
    expected = [[networkx.maximum_flow_value(graph, (3, i), (0, j)) for j in range(4)] for i in range(4)]
    result = attribute.flow(layers, residual=0.2, heads="max")[1]
    assert np.abs(result.numpy() - expected).max() < 1e-8


def test_one_layer_flows_as_it_attends():
    layers = [layer.float() for layer in random_layers(1)]
    flow = attribute.flow(layers)
    assert flow.dtype == torch.float32 and torch.allclose(flow, attribute.rollout(layers), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_rounded_once(dtype):
    layers = [layer.to(dtype) for layer in random_layers(6)]
    for method in (attribute.rollout, attribute.flow):
        exact = method([layer.double() for layer in layers])
        result = method(layers)
        assert result.dtype == dtype
        assert bool(((result.double() - exact).abs() <= exact * torch.finfo(dtype).eps / 2 + 1e-6).all())


def test_flow_of_single_precision_is_that_of_its_numbers_in_double():
    layers = [layer.float() for layer in random_layers(3)]
    exact = attribute.flow([layer.double() for layer in layers], residual=0.3)
    assert torch.equal(attribute.flow(layers, residual=0.3), exact.float())


def test_gradients_weigh_attention_layer_by_layer():
    layers = random_layers(2)
    gradients = [torch.randn_like(layer) for layer in layers]
    expected = np.eye(5)[None].repeat(2, 0)
    for layer, gradient in zip(layers, gradients, strict=True):
        weighted = np.maximum(layer.numpy() * gradient.numpy(), 0).mean(1)
        expected = expected + np.einsum("bik,bkj->bij", weighted, expected)
    assert np.allclose(attribute.gradient_weighted(layers, gradients), expected, atol=1e-14)


def test_the_gradient_of_recorded_weights():
    """One layer whose gradient by hand is the value's product with the gradient of its output."""
    torch.manual_seed(0)
    model, inputs = MultiheadAttention(6, 2), torch.randn(2, 5, 6)
    with record(model) as recording:
        output = model(inputs)
    [gradient] = torch.autograd.grad(output[:, 0].sum(), [recording[0].weights])
    assert gradient[:, :, 0].abs().sum() > 0 and gradient[:, :, 1:].abs().sum() == 0
    relevance = attribute.gradient_weighted(recording, [gradient])
    assert torch.equal(relevance, attribute.gradient_weighted([recording[0].weights], [gradient]))


def test_a_recording_gives_its_self_attention():
    layers = random_layers(3)
    kinds = ("self", "cross", "self")
    pairs = enumerate(zip(layers, kinds, strict=True))
    recording = Recording([Record("a", AuxOutput(weights=layer), call, kind) for call, (layer, kind) in pairs])
    assert torch.equal(attribute.rollout(recording), attribute.rollout([layers[0], layers[2]]))
    assert torch.equal(attribute.flow(recording), attribute.flow([layers[0], layers[2]]))
    with pytest.raises(ArgumentError, match="weights: expected records of self-attention with weights, got 0"):
        attribute.rollout(recording[1:2])
    with pytest.raises(ArgumentError, match="got 0 with weights of 1"):
        attribute.rollout(Recording([Record("a", AuxOutput(), 0, "self")]))


def test_token_grad_cam_is_its_formula():
    features, gradients = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    expected = np.maximum(np.einsum("bd,bld->bl", gradients.numpy().mean(1), features.numpy()), 0)
    assert np.allclose(attribute.token_grad_cam(features, gradients), expected, atol=1e-6)


def test_integrated_gradients_are_complete():
    model, inputs, baseline = classifier(), torch.randn(3, 5, 4).double(), torch.randn(4).double()
    result = attribute.integrated_gradients(model, inputs, target=CLASSES, baseline=baseline)
    difference = (model(inputs) - model(baseline.expand(3, 5, 4))).gather(1, CLASSES[:, None])[:, 0]
    assert result.shape == inputs.shape and not result.requires_grad
    assert torch.allclose(result.sum((1, 2)), difference, atol=1e-9)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_integrated_gradients_are_the_mean_gradient_of_the_path():
    """The integral by the midpoint rule in NumPy, gradients by autograd."""
    model, inputs = classifier(), torch.randn(1, 5, 4).double()
    middles = (torch.arange(2000).double() + 0.5) / 2000
    path = (middles[:, None, None] * inputs).requires_grad_()
    [gradients] = torch.autograd.grad(model(path)[:, 2].sum(), path)
    expected = inputs[0].numpy() * gradients.numpy().mean(0)
    with torch.inference_mode():
        result = attribute.integrated_gradients(model, inputs, target=2)
    assert np.allclose(result[0], expected, atol=1e-7)


def test_integrated_gradients_in_float64_have_the_accuracy_of_float32():
    inputs = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(1)).double()
    result = attribute.integrated_gradients(lambda x: (x**3).sum((1, 2)), inputs)
    assert bool(((result - inputs**3).abs() <= 2**-24 * inputs.abs() ** 3).all())


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("target", [CLASSES, 1, torch.tensor(1)])
def test_integrated_gradients_of_few_copies_at_once(batch_size, target):
    model, inputs, sizes = classifier(), torch.randn(3, 5, 4).double(), []
    baseline = torch.randn(3, 5, 4).double()
    expected = attribute.integrated_gradients(model, inputs, target=target, baseline=baseline)
    model.register_forward_pre_hook(lambda _, arguments: sizes.append(len(arguments[0])))
    options = {"target": target, "baseline": baseline, "batch_size": batch_size}
    result = attribute.integrated_gradients(model, inputs, **options)
    assert max(sizes) <= batch_size and sum(sizes) >= 150
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)


def test_ablation_replaces_one_position_after_another():
    model, inputs = classifier(), torch.randn(3, 5, 4).double()
    result = attribute.ablation(model, inputs, target=CLASSES, baseline=0.5)
    for position in range(5):
        changed = inputs.clone()
        changed[:, position] = 0.5
        fall = (model(inputs) - model(changed)).gather(1, CLASSES[:, None])[:, 0]
        assert torch.allclose(result[:, position], fall, atol=1e-12)


def test_words_sum_columns_and_average_rows():
    matrix, words = random_layers(1, batch=2, heads=3, length=5)[0], [None, 0, 1, 1, 2]
    merged, parts = attribute.merge_words(matrix, words), [[1], [2, 3], [4]]
    for (u, rows), (v, columns) in itertools.product(enumerate(parts), enumerate(parts)):
        expected = matrix.numpy()[..., rows, :][..., columns].sum(-1).mean(-1)
        assert np.allclose(merged[..., u, v], expected, atol=1e-15)
    assert torch.allclose(attribute.merge_words(matrix, [0, 1, 1, 2, 2]).sum(-1), torch.ones(2, 3, 3).double())
    assert attribute.merge_words(matrix, [None] * 5).shape == (2, 3, 0, 0)


SQUARE = torch.full((1, 1, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: attribute.rollout([]), ArgumentError, "weights: expected one tensor a layer, got none"),
        (lambda: attribute.rollout([SQUARE[0]]), ShapeError, r"weights: expected equal shapes .*, got \(1, 2, 2\)"),
        (lambda: attribute.rollout([SQUARE, torch.ones(1, 1, 3, 3)]), ShapeError, "weights: expected equal shapes"),
        (lambda: attribute.rollout([SQUARE], heads="sum"), ArgumentError, "heads: expected mean, max, min, got 'sum'"),
        (lambda: attribute.rollout([SQUARE], residual=1.5), ArgumentError, "residual: expected a number from 0 to 1"),
        (lambda: attribute.flow([SQUARE - 1]), ArgumentError, "weights: expected finite numbers of at least 0"),
        (
            lambda: attribute.flow([SQUARE], rows=[0, 2]),
            ArgumentError,
            r"rows: expected numbers from 0 to 1, got \[0, 2",
        ),
        (lambda: attribute.gradient_weighted([SQUARE], []), ArgumentError, "gradients: expected one for each of 1"),
        (lambda: attribute.gradient_weighted([SQUARE], [SQUARE[0]]), ShapeError, r"gradients: expected \(1, 1, 2, 2\)"),
        (lambda: attribute.token_grad_cam(SQUARE[0], SQUARE), ShapeError, "features, gradients: expected two equal"),
        (lambda: attribute.merge_words(SQUARE, [0]), ShapeError, r"matrix: expected \(..., 1, 1\) by words"),
        (lambda: attribute.merge_words(SQUARE, [0, 2]), ArgumentError, r"without gaps, got \[0, 2\]"),
        (lambda: attribute.integrated_gradients(len, torch.ones(1, 2).long()), ArgumentError, "inputs: expected float"),
        (lambda: attribute.merge_words(SQUARE.long(), [0, 1]), ArgumentError, r"matrix: expected floating-point"),
        (
            lambda: attribute.integrated_gradients(len, torch.ones(0, 2)),
            ArgumentError,
            "inputs: expected at least one example, got an empty batch",
        ),
        (
            lambda: attribute.integrated_gradients(len, torch.ones(1, 2), steps=0),
            ArgumentError,
            "steps: expected a num",
        ),
        (
            lambda: attribute.integrated_gradients(len, torch.ones(1, 2), batch_size=0),
            ArgumentError,
            "batch_size: expected a number above 0, got 0",
        ),
        (
            lambda: attribute.integrated_gradients(len, torch.ones(1, 2), baseline=torch.ones(3)),
            ShapeError,
            r"baseline: expected a shape that broadcasts to \(1, 2\), got \(3,\)",
        ),
        (
            lambda: attribute.ablation(len, torch.ones(2)),
            ShapeError,
            r"inputs: expected a shape \(batch, length, ...\)",
        ),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_missing_library_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "captum", None)
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    for call in (
        lambda: attribute.ablation(torch.sum, torch.ones(1, 2)),
        lambda: attribute.integrated_gradients(torch.sum, torch.ones(1, 2)),
        lambda: attribute.flow([SQUARE]),
    ):
        with pytest.raises(SaccadeError, match=r"pip install 'saccade-attention\[explain\]'$"):
            call()
