import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near, plain_errors
from saccade import reads
from saccade.kernels import weights
from saccade.normalizers import Entmax, Softmax, Sparsemax
from tiers import every, rest_slow

TYPES = [torch.float32, torch.float64]
ALPHAS = [1.0, 1 + 1e-6, 1.2, 1.5, 1.9, 2.0, 3.0, 10.0]


def draw(*shape, scale=1.0, shift=0.0, seed=0, dtype=torch.float64):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (scale * made + shift).to(dtype)


def flags(*shape, density=0.6, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < density


def projected(row):
    """Sparsemax in exact arithmetic, by sorting."""
    total, threshold = Fraction(0), None
    for count, number in enumerate(sorted(map(Fraction, row), reverse=True), 1):
        total += number
        if 1 + count * number <= total:
            break
        threshold = (total - 1) / count
    return [float(max(Fraction(number) - threshold, Fraction(0))) for number in row]


def bisected(row, alpha):
    """Entmax in extended precision, by the threshold of [a s - tau]_+^(1/a), halved until it no longer moves."""
    a = np.longdouble(alpha) - 1
    z = a * (np.asarray(row, np.longdouble) - max(row))
    low, high = np.longdouble(-1), np.longdouble(0)
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        above = (np.maximum(z - middle, 0) ** (1 / a)).sum() >= 1
        low, high = (middle, high) if above else (low, middle)
    found = np.maximum(z - low, 0) ** (1 / a)
    return found / found.sum()


def exponential(row):
    made = np.exp(np.asarray(row, np.longdouble) - max(row))
    return made / made.sum()


def oracle(scores, alpha, allowed=None):
    """Weights of every row in more digits than a float64 has."""
    found = torch.zeros(scores.shape, dtype=torch.float64)
    seen = torch.ones_like(scores, dtype=torch.bool) if allowed is None else allowed.expand(scores.shape)
    for place in np.ndindex(scores.shape[:-1]):
        row = scores[place][seen[place]].tolist()
        if not row:
            continue
        function = {1: exponential, 2: projected}.get(alpha)
        made = bisected(row, alpha) if function is None else function(row)
        found[place] = found[place].masked_scatter(
            seen[place], torch.tensor([float(part) for part in made], dtype=torch.float64)
        )
    return found


def weigh(scores, alpha, allowed=None):
    """By the function of that name."""
    if alpha == 1:
        return weights.softmax(scores, allowed)[0]
    return weights.sparsemax(scores, allowed) if alpha == 2 else weights.entmax(scores, alpha, allowed)


def assert_weights(scores, alpha, allowed=None):
    """As the oracle has them: their support too, rows that sum to one, zeros where forbidden."""
    found, truth = weigh(scores, alpha, allowed), oracle(scores, scores.new_tensor(alpha).item(), allowed)
    eps = torch.finfo(scores.dtype).eps
    assert found.dtype == scores.dtype and found.shape == scores.shape
    whole = None if allowed is None else allowed.expand(scores.shape)
    normalizer = {1.0: Softmax(), 2.0: Sparsemax()}.get(alpha, Entmax(alpha))
    (plain,) = plain_errors(lambda given: normalizer.formula(given, whole), (scores,), [truth])
    torch.testing.assert_close(found.double(), truth, rtol=8 * eps, atol=4 * eps + 3 * plain)
    if alpha > 1:
        least = 1e-12 if scores.dtype == torch.float64 else 1e-5  # nearer to the threshold than a number's last digit
        clear = (truth == 0) | (truth > (0 if alpha == 2 else least))
        assert torch.equal((found > 0)[clear], (truth > 0)[clear])
    some = truth.sum(-1) > 0
    assert ((found.double().sum(-1) - 1).abs()[some] < 8 * eps).all()
    assert (found[~some] == 0).all() and (found >= 0).all()
    if allowed is not None:
        assert (found[~allowed.expand(scores.shape)] == 0).all()


case = every(("alpha", "dtype"), [(alpha, TYPES[n % 2]) for n, alpha in enumerate(ALPHAS)])
"""Every alpha, in one type or the other."""


@case
@pytest.mark.parametrize("width", [1, 127, 129, 1024])
def test_they_are_the_oracles(width, alpha, dtype):
    rows = 1 if width == 1024 else 3
    assert_weights(draw(rows, width, dtype=dtype), alpha)
    assert_weights(draw(rows, width, seed=1, dtype=dtype), alpha, flags(rows, width))


@case
@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (4.0, 0.0), (1e4, 0.0), (1.0, 1e4), (1.0, -1e4)])
def test_scores_of_any_size_and_far_from_zero(scale, shift, alpha, dtype):
    assert_weights(draw(3, 140, scale=scale, shift=shift, dtype=dtype), alpha)


@given(
    st.sampled_from(TYPES),
    st.sampled_from(ALPHAS),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(0, 150),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.sampled_from([None, 0.0, 0.02, 0.5, 1.0]),
    st.integers(0, 99),
)
def test_any_shape_and_mask(dtype, alpha, rows, width, whole, density, seed):
    shape = *rows, width
    sizes = [size if full else 1 for size, full in zip(shape, whole, strict=False)]
    allowed = None if density is None else flags(*sizes, density=density)
    assert_weights(draw(*shape, seed=seed, dtype=dtype), alpha, allowed)


@case
@pytest.mark.parametrize("masked", [False, True])
def test_they_are_the_definitions_with_lse_and_gradients(masked, alpha, dtype):
    """Against the formulas of `saccade.normalizers` in float64."""
    scores, allowed = draw(2, 5, 33, dtype=dtype).requires_grad_(), flags(2, 1, 33) if masked else None
    whole = None if allowed is None else allowed.expand(scores.shape)
    upstream = draw(2, 5, 33, seed=1, dtype=dtype)
    normalizer = {1.0: Softmax(), 2.0: Sparsemax()}.get(alpha, Entmax(scores.new_tensor(alpha).item()))
    found = weigh(scores, alpha, allowed)
    (ours,) = torch.autograd.grad(found, scores, upstream)

    def defined(given, pull):
        expected = normalizer.formula(given.requires_grad_(), whole)
        return expected, *torch.autograd.grad(expected, given, pull)

    # beyond 3, a last digit of a small weight is the first of its slope
    parts = slice(2) if alpha <= 3 else slice(1)
    assert_near((found, ours)[parts], lambda *given: defined(*given)[parts], scores, upstream)
    if masked:
        assert (ours[~whole] == 0).all()
    if alpha == 1:
        lse = weights.softmax(scores.detach(), allowed)[1]
        assert_near(lse, lambda given: normalizer.log_partition(given, whole), scores)


@case
def test_rows_with_nothing_allowed_are_zero(alpha, dtype):
    scores, allowed = draw(3, 7, dtype=dtype).requires_grad_(), flags(3, 7)
    allowed[1] = False
    found = weigh(scores, alpha, allowed)
    (grad,) = torch.autograd.grad(found, scores, torch.ones_like(found), retain_graph=True)
    assert (found[1] == 0).all() and (grad[1] == 0).all() and grad.isfinite().all()
    (again,) = torch.autograd.grad(found, scores, draw(3, 7, seed=1, dtype=dtype), create_graph=True)
    assert (again[1] == 0).all() and (found[1] == 0).all()
    if alpha != 2:  # whose gradient is constant
        (second,) = torch.autograd.grad(again.square().sum(), scores)
        assert (second[1] == 0).all() and second.isfinite().all()


@case
def test_one_allowed_key_takes_all(alpha, dtype):
    allowed = torch.eye(7, dtype=torch.bool)
    found = weigh(draw(7, 7, scale=50, dtype=dtype), alpha, allowed)
    torch.testing.assert_close(found, torch.eye(7, dtype=dtype))


@case
@pytest.mark.parametrize("width", [2, 300])
def test_equal_scores_weigh_the_same(width, alpha, dtype):
    for value in (0.0, -3.7, 40.25):
        found = weigh(torch.full((1, width), value, dtype=dtype), alpha)
        assert (found == found[0, 0]).all()
        expected = torch.full((1, width), 1 / width, dtype=torch.float64)
        torch.testing.assert_close(found.double(), expected, rtol=4e-6 if dtype == torch.float32 else 1e-9, atol=0)
    tied = torch.tensor([[1.0, 0.5, 1.0, 0.5, -9.0]], dtype=dtype)
    found = weigh(tied, alpha)
    assert found[0, 0] == found[0, 2] and found[0, 1] == found[0, 3]
    assert_weights(tied, alpha)


@case
def test_scores_of_minus_infinity_weigh_nothing(alpha, dtype):
    scores = draw(2, 9, dtype=dtype)
    expected = weigh(scores[:, [0, 2, 3, 4, 5, 6, 8]], alpha)
    scores[:, [1, 7]] = -math.inf
    found = weigh(scores, alpha)
    assert (found[:, [1, 7]] == 0).all()
    torch.testing.assert_close(found[:, [0, 2, 3, 4, 5, 6, 8]], expected)
    alone = torch.full((1, 5), -math.inf, dtype=dtype)
    assert weigh(alone, alpha).isnan().all()  # as by the formula: nothing has forbidden them
    assert (weigh(alone, alpha, torch.zeros(1, 5, dtype=torch.bool)) == 0).all()


@case
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_in_its_row(value, alpha, dtype):
    scores = draw(3, 140, dtype=dtype)
    clean, allowed = weigh(scores, alpha), torch.ones(140, dtype=torch.bool)
    scores[1, 130] = value
    found = weigh(scores, alpha)
    assert found[1].isnan().all() and torch.equal(found[[0, 2]], clean[[0, 2]])
    allowed[130] = False
    scores[[0, 2], 130] = value
    assert_weights(torch.where(allowed, scores, 0.0), alpha, allowed)
    assert torch.equal(weigh(scores, alpha, allowed), weigh(torch.where(allowed, scores, 0.0), alpha, allowed))
    if alpha == 1 and math.isnan(value):
        assert weights.softmax(scores)[1].isnan().all()


@case
def test_the_largest_numbers_there_are(alpha, dtype):
    if alpha == ALPHAS[1]:
        return  # its reach is beyond these numbers
    for big in (16 / torch.finfo(dtype).eps, 1e30):
        found = weigh(torch.tensor([[big, -big, big], [-big, 0.0, -3 * big]], dtype=dtype), alpha)
        torch.testing.assert_close(found, torch.tensor([[0.5, 0, 0.5], [0, 1, 0]], dtype=dtype))


@every(("alpha", "dtype"), [(1.0, torch.float32), (1.5, torch.float64), (2.0, torch.float32)])
@every("shape", [(0, 5), (3, 0), (2, 0, 4)])
def test_nothing_at_all(shape, alpha, dtype):
    scores = torch.zeros(shape, dtype=dtype, requires_grad=True)
    found = weigh(scores, alpha, torch.ones(1, 1, dtype=torch.bool))
    assert found.shape == shape and torch.autograd.grad(found.sum(), scores)[0].shape == shape
    lse = weights.softmax(scores)[1]
    assert lse.shape == shape[:-1] and (lse == -math.inf).all()


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("temperature", [0.05, 0.7, 1.0, 30.0])
def test_temperature(temperature, dtype):
    scores, allowed = draw(3, 40, scale=3, dtype=dtype).requires_grad_(), flags(3, 40)
    allowed[0] = False
    found = weights.softmax(scores, allowed, temperature)[:2]
    pulls = draw(3, 40, seed=1, dtype=dtype), draw(3, seed=2, dtype=dtype)
    ours = torch.autograd.grad(found, scores, pulls)

    def defined(given, *pulls):
        normalizer, given = Softmax(temperature), given.requires_grad_()
        expected = normalizer.formula(given, allowed), normalizer.log_partition(given, allowed)
        return *expected, *torch.autograd.grad(expected, given, pulls)

    assert_near((*found, *ours), defined, scores, *pulls)


CURVES = [(1.0, True), (1.5, False), (2.0, True), (1 + 1e-6, True), (1.2, False), (3.0, True)]


@pytest.mark.parametrize(("alpha", "masked"), rest_slow(CURVES, fast=3))
def test_first_and_second_derivatives(masked, alpha):
    scores, allowed = draw(2, 3, 6).requires_grad_(), flags(2, 1, 6, seed=3) if masked else None
    function = lambda part: weigh(part, alpha, allowed)
    assert torch.autograd.gradcheck(function, scores) and torch.autograd.gradgradcheck(function, scores, fast_mode=True)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("parts", [(0,), (1,), (0, 1)], ids=str)
def test_derivatives_of_lse(parts, temperature):
    scores, allowed = draw(2, 3, 6).requires_grad_(), flags(2, 1, 6, seed=3)
    allowed[..., 2] = True

    def function(numbers):
        found = weights.softmax(numbers, allowed, temperature)
        return tuple(found[part] for part in parts)

    assert torch.autograd.gradcheck(function, scores) and torch.autograd.gradgradcheck(function, scores, fast_mode=True)


def test_lse_of_a_row_with_nothing_allowed_has_no_gradient():
    scores = draw(2, 4).requires_grad_()
    lse = weights.softmax(scores, torch.tensor([[True], [False]]))[1]
    assert lse[1] == -math.inf
    (grad,) = torch.autograd.grad(lse, scores, torch.ones(2, dtype=torch.float64))
    assert (grad[1] == 0).all() and torch.allclose(grad[0].sum(), torch.ones((), dtype=torch.float64))


@pytest.mark.parametrize("shape", [(), (1,), (5, 1), (2, 1, 1), (2, 5, 1)], ids=str)
def test_an_alpha_of_each_row_learns(shape):
    numbers = torch.linspace(1.1, 3.3, math.prod(shape), dtype=torch.float64).reshape(shape).requires_grad_()
    scores, allowed = draw(2, 5, 7).requires_grad_(), flags(2, 1, 7, seed=1)
    function = lambda part, alpha: weights.entmax(part, alpha, allowed)
    assert torch.autograd.gradcheck(function, (scores, numbers))
    torch.testing.assert_close(function(scores, numbers), Entmax(numbers).formula(scores, allowed.expand(2, 5, 7)))
    wanted = draw(2, 5, 7, seed=2)
    ours, theirs = (
        torch.autograd.grad(found, (scores, numbers), wanted)
        for found in (function(scores, numbers), Entmax(numbers).formula(scores, allowed.expand(2, 5, 7)))
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
def test_alphas_of_one_call_may_differ(dtype):
    alphas, scores = torch.tensor(ALPHAS, dtype=dtype)[:, None], draw(len(ALPHAS), 50, dtype=dtype)
    found = weights.entmax(scores, alphas)
    for row, alpha in enumerate(ALPHAS):
        assert torch.equal(found[row], weights.entmax(scores[row : row + 1], alpha)[0])


def test_an_alpha_of_one_and_two_learns_too():
    scores, alpha = draw(4, 6), torch.tensor([[1.0], [1.5], [2.0], [1 + 1e-9]], dtype=torch.float64).requires_grad_()
    upstream = draw(4, 6, seed=1)
    ours, theirs = (
        torch.autograd.grad(found, alpha, upstream)[0]
        for found in (weights.entmax(scores, alpha), Entmax(alpha).formula(scores, None))
    )
    torch.testing.assert_close(ours, theirs)
    higher = (weights.entmax(scores, alpha.detach() + 1e-6) * upstream).sum(-1)
    slope = (higher - (weights.entmax(scores, alpha.detach()) * upstream).sum(-1)) / 1e-6
    torch.testing.assert_close(ours[:, 0], slope, rtol=1e-4, atol=1e-5)


def test_second_derivatives_of_alpha():
    scores, alpha = draw(2, 5).requires_grad_(), torch.tensor([[1.3], [1.7]], dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(weights.entmax, (scores, alpha), fast_mode=True)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_many_gradients_at_once(alpha):
    scores, ways = draw(1, 4).requires_grad_(), torch.eye(4, dtype=torch.float64).view(4, 1, 4)
    found = weigh(scores, alpha)
    (many,) = torch.autograd.grad(found, scores, ways, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(found, scores, way, retain_graph=True)[0] for way in ways]
    torch.testing.assert_close(many, torch.stack(each))


@case
def test_the_same_bits_for_any_threads_and_strides(alpha, dtype):
    scores, upstream = draw(700, 150, dtype=dtype), draw(700, 150, seed=1, dtype=dtype)
    allowed, found, before = flags(700, 150), [], torch.get_num_threads()
    turned = scores.T.contiguous().T, upstream.T.contiguous().T, allowed.T.contiguous().T
    try:
        for threads, parts in ((1, (scores, upstream, allowed)), (2, turned), (3, (scores, upstream, allowed))):
            torch.set_num_threads(threads)
            leaf = parts[0].detach().requires_grad_()
            result = weigh(leaf, alpha, parts[2])
            found.append((result.detach(), *torch.autograd.grad(result, leaf, parts[1])))
    finally:
        torch.set_num_threads(before)
    assert all(all(map(torch.equal, other, found[0])) for other in found[1:])


@every("dtype", TYPES)
@every("temperature", [0.7, 1.0])
@every("number", [-1e12, 1e30, torch.finfo(torch.float32).min])
def test_equal_numbers_weigh_the_same_whatever_they_are(number, temperature, dtype):
    scores = torch.full((2, 40), number, dtype=dtype)
    scores[1, 3] = torch.finfo(dtype).min
    found, _, entropy, largest = weights.softmax(scores, None, temperature, top=2)
    torch.testing.assert_close(found[0], torch.full((40,), 1 / 40, dtype=dtype))
    assert entropy[0].item() == pytest.approx(math.log(40)) and largest[1][0].tolist() == [0, 1]
    if number > -1e21:
        assert found[1, 3] == 0


# the largest, found beside a softmax


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("temperature", [1.0, 0.01, 100.0])
@given(
    st.integers(1, 300), st.integers(1, 32), st.sampled_from([None, 0.05, 0.6]), st.sampled_from([0.0, 1.0, 1e3, 1e6])
)
def test_the_largest_beside_a_softmax_are_those_of_its_weights(dtype, temperature, width, k, density, scale):
    scores = draw(2, 6, width, scale=scale, seed=width, dtype=dtype)
    scores[1] = scores[1].round()  # with ties
    allowed = None if density is None else flags(2, 1, width, density=density, seed=k)
    found, *_, largest = weights.softmax(scores, allowed, temperature, top=k)
    whole = None if allowed is None else allowed.expand(scores.shape)
    assert torch.equal(found, weights.softmax(scores, allowed, temperature)[0])
    expected = reads.largest(found, k, whole)
    assert torch.equal(largest[0], expected[0]) and torch.equal(largest[1], expected[1])


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
def test_the_largest_of_no_number_and_of_recorded_scores(dtype):
    scores = torch.tensor([[1.0, math.nan, 2.0], [0.0, math.inf, 1.0], [-math.inf] * 3], dtype=dtype)
    *_, (values, indices) = weights.softmax(scores, top=2)
    assert values.isnan().all() and (indices >= 0).all()
    *_, (values, indices) = weights.softmax(scores, torch.zeros(1, 3, dtype=torch.bool), top=2)
    assert (indices == -1).all() and (values == 0).all()
    assert weights.softmax(scores.requires_grad_(), top=2)[3] is None is weights.softmax(scores.detach())[3]
