"""The definitions of the normalizers: laws of weights, oracles by other means, derivatives."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import drawn
from near import assert_near
from saccade import AuxRequest, attend, normalizers, plainly, scores
from saccade._definitions.structure import Extent
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.kernels.threads import Kernel

SUMMING = {
    "Softmax": normalizers.Softmax(),
    "Softmax of a temperature": normalizers.Softmax(0.5),
    "Sparsemax": normalizers.Sparsemax(),
    "Entmax": normalizers.Entmax(),
    "Entmax at 1.2": normalizers.Entmax(1.2),
    "Entmax at 3": normalizers.Entmax(3.0),
}
ALL = {
    **SUMMING,
    "Softmax with a sink": normalizers.Softmax(sink=0.3),
    "Sigmoid": normalizers.Sigmoid(-0.2),
    "Sum": normalizers.Sum(),
    "Sum with eps": normalizers.Sum(0.1),
    "Identity": normalizers.Identity(),
}
EVERY = pytest.mark.parametrize("name", ALL)


@st.composite
def rows(draw, positive=False):
    """Scores and a mask, a row with nothing allowed among them."""
    count, keys = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    seed = draw(st.integers(0, 999))
    scores = drawn(count, keys, seed=seed, scale=draw(st.sampled_from([0.1, 1.0, 20.0]))).double()
    mask = torch.rand(count, keys, generator=torch.Generator().manual_seed(seed)) < draw(st.sampled_from([0.3, 0.8]))
    mask[0] = draw(st.booleans())
    return scores.abs() if positive else scores, mask


@EVERY
@given(data=st.data())
def test_what_is_forbidden_weighs_nothing_and_plays_no_part(name, data):
    scores, mask = data.draw(rows(positive=name.startswith("Sum")))
    found = ALL[name](scores, mask)
    assert found.shape == scores.shape and (found[~mask] == 0).all()
    for other in (math.nan, math.inf, -math.inf, 1e300):
        assert torch.equal(ALL[name](scores.masked_fill(~mask, other), mask), found)


@pytest.mark.parametrize("name", SUMMING)
@given(data=st.data())
def test_weights_are_a_distribution_where_something_is_allowed(name, data):
    scores, mask = data.draw(rows())
    found, some = SUMMING[name](scores, mask), mask.any(-1)
    torch.testing.assert_close(found.sum(-1), some.double())
    assert (found >= 0).all() and SUMMING[name].sums_to_one


@pytest.mark.parametrize("name", SUMMING)
@given(data=st.data(), shift=st.floats(-50, 50))
def test_adding_a_number_to_all_scores_changes_nothing(name, data, shift):
    scores, mask = data.draw(rows())
    torch.testing.assert_close(SUMMING[name](scores + shift, mask), SUMMING[name](scores, mask))


@EVERY
@given(data=st.data(), seed=st.integers(0, 99))
def test_permuting_keys_permutes_weights(name, data, seed):
    scores, mask = data.draw(rows(positive=name.startswith("Sum")))
    order = torch.randperm(scores.shape[-1], generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(ALL[name](scores[:, order], mask[:, order]), ALL[name](scores, mask)[:, order])


@EVERY
def test_no_keys_are_no_weights(name):
    assert ALL[name](torch.zeros(3, 0), None).shape == (3, 0)
    assert ALL[name](torch.zeros(3, 0), torch.ones(3, 0, dtype=torch.bool)).shape == (3, 0)


@EVERY
def test_its_derivatives_are_right(name):
    scores = drawn(3, 5, seed=1).double()
    scores = (scores.abs() + 0.1 if name.startswith("Sum") else scores).requires_grad_()
    mask = torch.tensor([[True] * 5, [True, False, True, True, False], [False] * 5])
    assert torch.autograd.gradcheck(lambda s: ALL[name](s, mask), scores, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda s: ALL[name](s, mask), scores, fast_mode=True)


def nearest(scores, steps=4000):
    """The point of the simplex nearest to scores, by projected gradients of another kind: multiplicative updates."""
    weights = torch.full_like(scores, 1 / scores.numel())
    for _ in range(steps):
        weights = weights * torch.exp(-0.1 * (weights - scores))
        weights = weights / weights.sum()
    return weights


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    for seed in range(3):
        scores = drawn(6, seed=seed).double()
        found = normalizers.Sparsemax()(scores[None], None)[0]
        torch.testing.assert_close(found, nearest(scores), rtol=1e-3, atol=1e-4)


@given(data=st.data())
def test_entmax_lies_between_softmax_and_sparsemax(data):
    scores, mask = data.draw(rows())
    for alpha, other in ((1.0, normalizers.Softmax()), (2.0, normalizers.Sparsemax())):
        torch.testing.assert_close(normalizers.Entmax(alpha)(scores, mask), other(scores, mask), rtol=1e-9, atol=1e-12)


@given(data=st.data(), alpha=st.floats(1.05, 4.0))
def test_entmax_has_a_threshold(data, alpha):
    """(α − 1) s − w^{α − 1} is one number on the support, and no smaller than (α − 1) s outside of it."""
    scores, _ = data.draw(rows())
    found = normalizers.Entmax(alpha)(scores, None)
    below = (alpha - 1) * scores - found.pow(alpha - 1)
    inside = found > 1e-6
    threshold = below.masked_fill(~inside, -math.inf).amax(-1, keepdim=True)
    slack = 1e-5 * (1 + scores.abs().amax())
    assert ((below - threshold).abs() <= slack)[inside].all()
    assert ((alpha - 1) * scores <= threshold + slack + 1e-6 ** (alpha - 1))[~inside].all()


@pytest.mark.parametrize("value", [1.0, 1.001, 1.3, 1.5, 2.0, 2.7])
def test_alpha_learns(value):
    scores, alpha = drawn(3, 5, seed=2).double().requires_grad_(), torch.full((3, 1), value, dtype=torch.float64)
    found = normalizers.Entmax(alpha.requires_grad_())(scores, None)
    grad = drawn(3, 5, seed=3).double()
    (ours,) = torch.autograd.grad((found * grad).sum(), alpha)
    step = 1e-4
    above, below = (normalizers.Entmax(max(value + side, 1.0))(scores, None) for side in (step, -step))
    width = 2 * step if value > 1 else step
    torch.testing.assert_close(ours[:, 0], ((above - below) * grad).sum(-1) / width, rtol=2e-3, atol=1e-4)


@given(data=st.data(), temperature=st.floats(0.1, 10.0))
def test_the_log_partition_normalizes(data, temperature):
    scores, mask = data.draw(rows())
    softmax = normalizers.Softmax(temperature)
    lse = softmax.log_partition(scores, mask)
    expected = torch.exp(scores / temperature - lse[:, None].nan_to_num(neginf=0.0)).masked_fill(~mask, 0.0)
    torch.testing.assert_close(softmax(scores, mask), expected)
    assert torch.equal(lse == -math.inf, ~mask.any(-1))


@given(data=st.data(), sink=st.floats(-5, 5))
def test_a_sink_is_one_more_key_that_is_dropped(data, sink):
    scores, mask = data.draw(rows())
    more = torch.cat((scores, torch.full_like(scores[:, :1], sink)), -1)
    allowed = torch.cat((mask, torch.ones_like(mask[:, :1])), -1)
    found = normalizers.Softmax(sink=sink)(scores, mask)
    torch.testing.assert_close(found, normalizers.Softmax()(more, allowed)[:, :-1])
    assert not normalizers.Softmax(sink=sink).sums_to_one


def test_one_temperature_a_query():
    scores, temperature = drawn(3, 5).double(), torch.tensor([[0.5], [1.0], [2.0]], dtype=torch.float64)
    found = normalizers.Softmax(temperature)(scores, None)
    for row, number in enumerate(temperature[:, 0].tolist()):
        torch.testing.assert_close(found[row : row + 1], normalizers.Softmax(number)(scores[row : row + 1], None))


def test_rows_that_sum_to_zero_weigh_nothing():
    scores = torch.tensor([[1.0, 3.0], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    found = normalizers.Sum()(scores, None)
    assert found.tolist() == [[0.25, 0.75], [0.0, 0.0]]
    assert torch.autograd.grad(found.sum(), scores)[0].isfinite().all()
    assert normalizers.Sum().sums_to_one and not normalizers.Sum(0.5).sums_to_one


EXTENT = Extent((2,), 3, 5, 4, 4, torch.float32, torch.device("cpu"), True)


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.Softmax(torch.zeros(())),
        normalizers.Softmax(torch.ones(4, 1)),
        normalizers.Softmax(sink=torch.ones(3)),
        normalizers.Entmax(torch.tensor(math.inf)),
        normalizers.Entmax(torch.ones(2, 2, 3, 1)),
        normalizers.Sigmoid(torch.ones(3, 2)),
    ],
    ids=repr,
)
def test_tensors_that_do_not_fit_are_refused(normalizer):
    with pytest.raises(ValueError, match=r"expected .*got"):
        normalizer.check(EXTENT)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: normalizers.Softmax("hot"), ArgumentTypeError),
        (lambda: normalizers.Softmax(-1.0), ArgumentError),
        (lambda: normalizers.Entmax(math.inf), ArgumentError),
        (lambda: normalizers.Entmax(0.99), ArgumentError),
        (lambda: normalizers.Sum(None), ArgumentTypeError),
        (lambda: normalizers.Normalizer()(torch.ones(1, 1), None), ArgumentTypeError),
    ],
)
def test_what_means_nothing_is_refused_when_it_is_made(make, error):
    with pytest.raises(error, match=r"expected .*got"):
        make()


# what a call of sparsemax or entmax takes: the kernel wherever it can, else the formula

SPARSE = {
    "Sparsemax": normalizers.Sparsemax(),
    "Entmax": normalizers.Entmax(),
    "Entmax at 1": normalizers.Entmax(1.0),
    "Entmax of a tensor": normalizers.Entmax(torch.tensor(1.3)),
    "Entmax of each row": normalizers.Entmax(torch.tensor([[1.2], [2.6], [2.0]])),
}
CALLED = pytest.mark.parametrize("normalizer", SPARSE.values(), ids=SPARSE)


@pytest.fixture
def runs(monkeypatch):
    """Names of the kernels that ran."""
    names, call = [], Kernel.__call__
    monkeypatch.setattr(Kernel, "__call__", lambda kernel, *table: names.append(kernel.name) or call(kernel, *table))
    return names


@CALLED
@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        *[(None, torch.float32), ((3, 5), torch.float64), ((1, 5), torch.float16), ((5,), torch.bfloat16)],
        *[((3, 1), torch.float32), ((), torch.float64)],
    ],
    ids=str,
)
def test_a_call_is_the_kernel_and_the_formulas_numbers(normalizer, dtype, mask, runs):
    scores = drawn(3, 5, seed=1).to(dtype).T.contiguous().T.requires_grad_()
    allowed = None if mask is None else torch.rand(mask, generator=torch.Generator().manual_seed(2)) < 0.7
    upstream = drawn(3, 5, seed=3).to(dtype)
    found = normalizer(scores, allowed)
    ours = found.detach(), *torch.autograd.grad(found, scores, upstream)
    kind = "float64" if dtype == torch.float64 else "float32"
    assert runs == [f"rows.weigh.{kind}", f"rows_backward.differentiate.{kind}"]
    assert found.dtype == dtype and ours[1].dtype == dtype

    def formula(given, pull):
        expected = normalizer.formula(given.requires_grad_(), allowed)
        return expected, *torch.autograd.grad(expected, given, pull)

    assert_near(ours, formula, scores.detach(), upstream)
    assert len(runs) == 2


@CALLED
def test_what_no_kernel_takes_is_the_formula(normalizer, runs):
    scores, several = drawn(3, 5), torch.ones(2, 3, 5, dtype=torch.bool)
    expected = normalizer.formula(scores, None)
    with plainly():
        assert torch.equal(normalizer(scores, None), expected)
    with torch.autocast("cpu"):
        assert torch.equal(normalizer(scores, None), expected)
    assert torch.equal(normalizer(scores, several), expected.expand(2, 3, 5))
    for mask in (torch.ones(3, 5), torch.ones(3, 5, dtype=torch.uint8)):
        with pytest.raises((TypeError, RuntimeError)):
            normalizer(scores, mask)
    assert not runs
    one = normalizers.Entmax(torch.full((2, 1, 1), 1.5)) if normalizer is not SPARSE["Sparsemax"] else normalizer
    assert one(scores, None).shape in ((3, 5), (2, 3, 5))


@CALLED
def test_transforms_see_the_formula(normalizer, runs):
    scores, mask = drawn(3, 5), torch.tensor([[True] * 5, [False] * 5, [True, False] * 2 + [True]])
    call = lambda given: normalizer(given, mask)
    assert torch.equal(torch.func.vmap(call)(scores[None])[0], normalizer.formula(scores, mask))
    slope = torch.func.jacrev(call)(scores)
    assert not runs
    torch.testing.assert_close(slope, torch.autograd.functional.jacobian(call, scores))
    assert (slope[1] == 0).all() and slope.isfinite().all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_compilers_see_the_formula(runs):
    scores, normalizer = drawn(3, 5), normalizers.Entmax()
    compiled = torch.compile(lambda given: normalizer(given, given > 0), backend="eager", fullgraph=True)
    assert torch.equal(compiled(scores), normalizer.formula(scores, scores > 0)) and not runs


@CALLED
def test_sizes_of_zero_and_one(normalizer):
    with_rows = isinstance(getattr(normalizer, "alpha", None), torch.Tensor) and normalizer.alpha.numel() > 1
    for shape in [(3, 1), (3, 0), *([] if with_rows else [(1,), (0,), (0, 4), (2, 0, 4), (7, 1, 1)])]:
        scores = torch.zeros(shape, requires_grad=True)
        for mask in (None, torch.ones(shape, dtype=torch.bool)):
            found = normalizer(scores, mask)
            assert found.shape == shape and (found == 1).all()
            assert (torch.autograd.grad(found.sum(), scores)[0] == 0).all()
    with pytest.raises(IndexError):
        normalizer(torch.zeros(()), None)


def test_alpha_of_a_call_learns_and_is_differentiated_twice():
    scores = drawn(3, 5, seed=4).double().requires_grad_()
    alpha = torch.tensor([[1.2], [2.6], [1.5]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 5, [True, False, True, True, False], [False] * 5])
    call = lambda scores, alpha: normalizers.Entmax(alpha)(scores, mask)
    assert torch.autograd.gradcheck(call, (scores, alpha)) and torch.autograd.gradgradcheck(
        call, (scores, alpha), fast_mode=True
    )


def test_the_package_computes_the_same():
    entmax = pytest.importorskip("entmax", reason="entmax is not installed: pip install -e '.[bench]'")
    scores = drawn(32, 1, 30, seed=5)
    for normalizer, theirs in ((normalizers.Sparsemax(), entmax.sparsemax), (normalizers.Entmax(), entmax.entmax15)):
        torch.testing.assert_close(normalizer(scores, None), theirs(scores, dim=-1))


def test_the_coldest_softmax_takes_one_key_and_the_hottest_all():
    scores = torch.tensor([[1.0, 3.0, 2.0]])
    for make in (float, torch.tensor):
        assert normalizers.Softmax(make(1e-12))(scores, None).tolist() == [[0.0, 1.0, 0.0]]
        assert normalizers.Softmax(make(1e12))(scores, None).tolist() == [[pytest.approx(1 / 3)] * 3]


EXTREMES = {
    "one huge": [3e38, -3e38, 0.0, 1.0],
    "all huge": [3e38, 3e38, 3e38, 3e38],
    "all low": [-3e38, -3e38, -3e38, -3e38],
    "subnormal": [1e-45, 2e-45, -1e-45, 0.0],
}
COLD = {
    "softmax": normalizers.Softmax(1e-12),
    "softmax, a tensor": normalizers.Softmax(torch.tensor(1e-12)),
    "softmax with a sink": normalizers.Softmax(1e-12, sink=0.5),
    "sparsemax": normalizers.Sparsemax(),
    "entmax": normalizers.Entmax(),
    "entmax at 3, a tensor": normalizers.Entmax(torch.tensor(3.0)),
    "sigmoid": normalizers.Sigmoid(),
}


@pytest.mark.parametrize("backend", ["reference", "cpu", "chunked"])
@pytest.mark.parametrize("name", COLD)
def test_scores_at_the_ends_of_float32_have_the_weights(name, backend):
    normalizer, wide = COLD[name], COLD[name].map(lambda tensor, axes: tensor.double())
    for row in EXTREMES.values():
        query, key, value = torch.ones(1, 1, 1), torch.tensor(row)[None, :, None], drawn(1, 4, 2)
        call = {"score": scores.Dot(), "aux": AuxRequest(weights=True)}
        found = attend(query, key, value, normalizer=normalizer, backend=backend, **call)[1].weights
        exact = attend(query.double(), key.double(), value.double(), normalizer=wide, backend="reference", **call)
        torch.testing.assert_close(found.double(), exact[1].weights, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sink", [None, 0.5])
def test_a_cold_softmax_of_huge_scores_has_finite_gradients(sink):
    rows = torch.tensor([EXTREMES["one huge"], EXTREMES["all huge"], [1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    weights = normalizers.Softmax(1e-12, sink=sink)(rows, None)
    (found,) = torch.autograd.grad((weights * torch.tensor([1.0, -2.0, 0.5, 3.0])).sum(), rows)
    assert found.isfinite().all()
