"""The definitions of the scores, against their formulas written out pair by pair."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import drawn
from near import assert_near
from saccade import attend, remember, scores
from saccade._definitions.structure import Extent
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.scores import EXPONENT_LIMIT, exponentials

D, A = 3, 5


def pairwise(function, query, key):
    """What a function of one query and one key gives for all of them."""
    return torch.stack([torch.stack([function(q, k, j) for j, k in enumerate(key)]) for q in query])


WEIGHT, ROWS, V = drawn(D, D, seed=7).double(), drawn(11, D, seed=8).double(), drawn(D, seed=9).double()


def distance(q, k):
    return (q - k).square().sum().sqrt()


FORMULAS = {
    "Dot": (scores.Dot(), lambda q, k, j: q @ k),
    "ScaledDot": (scores.ScaledDot(), lambda q, k, j: q @ k / math.sqrt(D)),
    "ScaledDot with a scale": (scores.ScaledDot(0.3), lambda q, k, j: 0.3 * (q @ k)),
    "ScaledDot with a softcap": (
        scores.ScaledDot(softcap=0.7),
        lambda q, k, j: 0.7 * torch.tanh(q @ k / math.sqrt(D) / 0.7),
    ),
    "Cosine": (scores.Cosine(2.0), lambda q, k, j: 2 * (q @ k) / q.norm() / k.norm()),
    "General": (scores.General(WEIGHT), lambda q, k, j: q @ WEIGHT @ k),
    "Additive": (scores.Additive(V), lambda q, k, j: V @ torch.tanh(q + k)),
    "Location": (scores.Location(ROWS), lambda q, k, j: ROWS[j] @ q),
    "Gaussian": (scores.Gaussian(0.8), lambda q, k, j: -((q - k).square().sum()) / (2 * 0.8**2)),
    "boxcar": (scores.Kernel("boxcar", 1.5), lambda q, k, j: 0.5 * (distance(q, k) <= 1.5).double()),
    "epanechnikov": (
        scores.Kernel("epanechnikov", 1.5),
        lambda q, k, j: 0.75 * (1 - (distance(q, k) / 1.5) ** 2).clamp(min=0),
    ),
    "triangular": (scores.Kernel("triangular", 1.5), lambda q, k, j: (1 - distance(q, k) / 1.5).clamp(min=0)),
}
FORMULA = pytest.mark.parametrize("name", FORMULAS)


@FORMULA
@given(queries=st.integers(1, 4), keys=st.integers(1, 11), seed=st.integers(0, 99))
def test_it_is_its_formula(name, queries, keys, seed):
    score, formula = FORMULAS[name]
    query, key = (drawn(length, D, seed=seed + number).double() for number, length in enumerate((queries, keys)))
    torch.testing.assert_close(score(query, key), pairwise(formula, query, key))


@FORMULA
def test_its_gradients_are_right(name):
    score, _ = FORMULAS[name]
    query, key = (drawn(length, D, seed=length).double().requires_grad_() for length in (2, A))
    assert torch.autograd.gradcheck(score, (query, key))
    if name != "boxcar":  # which is constant wherever it has a derivative
        assert torch.autograd.gradgradcheck(score, (query, key))


@FORMULA
def test_leading_dimensions_broadcast(name):
    score, _ = FORMULAS[name]
    query, key = drawn(2, 1, 4, D).double(), drawn(3, A, D, seed=1).double()
    found = score(query, key).expand(2, 3, 4, A)  # a location's scores are the same for all keys
    torch.testing.assert_close(found[1, 2], score(query[1, 0], key[2]))


@FORMULA
def test_what_is_prepared_of_the_keys_scores_the_same(name):
    score, _ = FORMULAS[name]
    query, key = drawn(4, D).double(), drawn(A, D, seed=1).double()
    left, prepared, cache = score.prepare(key)
    torch.testing.assert_close(left(query, prepared), score(query, key))
    assert (cache is None) == (name != "Additive")


@FORMULA
def test_a_dot_product_says_what_it_multiplies(name):
    score, _ = FORMULAS[name]
    query, key = drawn(4, D).double(), drawn(A, D, seed=1).double()
    found = score.as_dot(query, key)
    if found is None:
        assert name not in ("Dot", "ScaledDot", "ScaledDot with a scale", "Cosine", "General")
    else:
        left, right, scale = found
        torch.testing.assert_close(scale * left @ right.mT, score(query, key))


def test_a_zero_vector_has_no_direction():
    query, key = torch.zeros(1, D, dtype=torch.float64).requires_grad_(), drawn(A, D).double()
    found = scores.Cosine()(query, key)
    (first,) = torch.autograd.grad(found.sum(), query, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), query)
    assert not found.any() and first.isfinite().all() and second.isfinite().all()


def test_cosines_of_huge_and_tiny_vectors_keep_their_direction():
    query, key = drawn(2, D), drawn(A, D, seed=1)
    expected = scores.Cosine()(query, key)
    torch.testing.assert_close(scores.Cosine()(1e30 * query, 1e-30 * key), expected)


def test_points_far_from_the_origin_lose_nothing_to_cancellation():
    query, key = drawn(2, D), drawn(A, D, seed=1)
    far = torch.full((D,), 4096.0)
    found = scores.Gaussian(1.0)(query + far, key + far)
    torch.testing.assert_close(found, scores.Gaussian(1.0)(query, key), rtol=1e-2, atol=1e-2)


def test_a_point_is_at_distance_zero_of_itself():
    point = drawn(A, D, scale=100.0)
    for kernel, height in (("boxcar", 0.5), ("epanechnikov", 0.75), ("triangular", 1.0)):
        assert (scores.Kernel(kernel, 1e-3)(point, point).diagonal() == height).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_exponentials_are_nan_where_they_would_leave_the_range(dtype):
    limit = EXPONENT_LIMIT[dtype]
    x = torch.tensor([0.0, limit, -limit, limit + 1, -limit - 1, math.nan, math.inf], dtype=dtype)
    found = exponentials(x)
    assert found[0] == 1 and found[:3].isfinite().all() and (found[:3] > 0).all() and found[3:].isnan().all()
    tiny = torch.finfo(dtype).tiny
    assert found[2] >= tiny  # not subnormal: products with it keep their digits


@pytest.mark.parametrize(
    ("score", "k_dim", "q_dim"),
    [
        (scores.Dot(), 5, 5),
        (scores.Additive(torch.ones(4)), 4, 4),
        (scores.General(torch.ones(7, 5)), 5, 7),
        (scores.Location(torch.ones(11, 6)), 5, 6),
    ],
    ids=lambda value: type(value).__name__,
)
def test_it_knows_how_many_features_a_query_has(score, k_dim, q_dim):
    assert score.query_dim(k_dim) == q_dim
    extent = Extent((), 2, 3, q_dim, k_dim, torch.float32, torch.device("cpu"), True)
    score.check(extent)
    with pytest.raises(ShapeError, match=r"expected .*got"):
        score.check(extent._replace(q_dim=q_dim + 1))


def test_more_keys_than_locations_are_refused():
    extent = Extent((), 2, 12, D, D, torch.float64, torch.device("cpu"), True)
    with pytest.raises(
        ShapeError, match=r"weight of scores.Location: expected at least 12 rows, .*, got 11\. .*max_length"
    ):
        scores.Location(ROWS).check(extent)
    scores.Location(ROWS).check(extent._replace(k_len=11))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: scores.ScaledDot(scale="1"), ArgumentTypeError, "scale: expected a number or a tensor.*got str"),
        (lambda: scores.ScaledDot(softcap=-1.0), ArgumentError, "softcap: expected a number from 1e-12 to .*got -1.0"),
        (lambda: scores.Cosine(beta=True), ArgumentTypeError, "beta: .*got bool"),
        (lambda: scores.Gaussian(math.nan), ArgumentError, "bandwidth: .*got nan"),
        (lambda: scores.Kernel("cosine", 1.0), ArgumentError, "name: expected one of 'boxcar', .*got 'cosine'"),
        (lambda: scores.Score()(torch.ones(1, 1), torch.ones(1, 1)), ArgumentTypeError, "the base class Score"),
    ],
)
def test_what_means_nothing_is_refused_when_it_is_made(make, error, message):
    with pytest.raises(error, match=message):
        make()


def far_apart(count=4096, queries=6):
    """Points 1 apart in any order and queries between them, values, and what output gradients are."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    key = torch.stack((order.float() - count / 3, torch.full((count,), 7e3)), -1)
    query = key[:queries] + drawn(queries, 2, seed=1)
    return query[None], key[None], drawn(1, count, 2, seed=2), drawn(1, queries, 2, seed=3)


def regression(query, key, value, grad):
    """Kernel regression by differences, and its gradients."""
    query, key = query.requires_grad_(), key.requires_grad_()
    scores = (query[..., :, None, :] - key[..., None, :, :]).square().sum(-1) / -2
    output = torch.softmax(scores, -1) @ value
    return output, *torch.autograd.grad(output, (query, key), grad)


@pytest.mark.parametrize("tensor", [False, True], ids=["number", "tensor"])
@pytest.mark.parametrize("backend", ["reference", "chunked", "cpu", "auto"])
def test_keys_thousands_of_bandwidths_apart_are_right(backend, tensor):
    query, key, value, grad = far_apart()
    query, key = query.requires_grad_(), key.requires_grad_()
    score = scores.Gaussian(torch.ones(()) if tensor else 1.0)
    output = attend(query, key, value, score=score, backend=backend)
    found = output, *torch.autograd.grad(output, (query, key), grad)
    assert_near(found, regression, query, key, value, grad)


def test_a_memory_of_keys_thousands_of_bandwidths_apart_is_right():
    query, key, value, grad = far_apart()
    found = remember(key, value, score=scores.Gaussian(1.0)).read(query)
    assert_near(found, lambda *inputs: regression(*inputs)[0], query, key, value, grad)


def test_few_points_some_bandwidths_apart_stay_in_their_type(monkeypatch):
    """Float64 takes twice as long, and these points do not need it."""
    query, key = drawn(8, 64), drawn(16, 64, seed=1)
    monkeypatch.setattr(torch.Tensor, "double", None)
    found = scores.Gaussian(1.0)(query, key)
    torch.testing.assert_close(found, (query[:, None] - key).square().sum(-1) / -2, rtol=1e-5, atol=1e-4)


def test_the_gradient_of_a_kernel_does_not_cancel():
    query, key, _, _ = (tensor[0] for tensor in far_apart())

    def gradient(query, score):
        query = query.detach().requires_grad_()
        return torch.autograd.grad(score(query).sum(), query)[0]

    found = gradient(query, lambda query: scores.Kernel("epanechnikov", 2.0)(query, key))
    squared = lambda query: (query[:, None] - key.double()).square().sum(-1) / 4
    exact = gradient(query.double(), lambda query: 0.75 * (1 - squared(query)).clamp(min=0))
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)
