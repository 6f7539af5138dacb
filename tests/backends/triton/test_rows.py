import importlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreter import interpreted, tiles
from near import assert_near
from saccade import normalizers, reads
from saccade.auxiliary import entropy
from saccade.backends.triton import rows

pytestmark = interpreted


@pytest.fixture(autouse=True, scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, 4, 8, 8)
        yield


def draw(*shape, scale=1.0, seed=0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def masked(*shape, seed=0):
    """A mask with an empty row."""
    allowed = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    allowed[..., 0, :] = False
    return allowed


def assert_same_with_gradients(ours, theirs, *leaves, tolerance=1e-9):
    leaves = [leaf.detach().requires_grad_() for leaf in leaves]
    found = []
    for function in (ours, theirs):
        output = function(*leaves)
        ramp = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
        found.append((output, *torch.autograd.grad((output.masked_fill(output.isinf(), 0) * ramp).sum(), leaves)))
    torch.testing.assert_close(*found, rtol=tolerance, atol=tolerance)


NORMALIZERS = {
    "softmax": (lambda s, a: rows.softmax(s, a)[0], normalizers.Softmax()),
    "lse": (lambda s, a: rows.softmax(s, a)[1], normalizers.Softmax().log_partition),
    "sparsemax": (lambda s, a: rows.entmax(s, a, 2.0), normalizers.Sparsemax()),
    **{
        f"entmax {alpha}": (lambda s, a, alpha=alpha: rows.entmax(s, a, alpha), normalizers.Entmax(alpha))
        for alpha in (1.0, 1.001, 1.3, 1.5, 1.9, 3.0)
    },
}


LONG = [(draw(5, 19, scale=2), masked(5, 19)), (draw(3, 11, scale=30, seed=1), None), (draw(2, 3, 7), masked(3, 7))]


@pytest.mark.parametrize(
    "name",
    [
        *["softmax", "lse", "sparsemax", "entmax 1.5", "entmax 1.3"],
        *(pytest.param(f"entmax {alpha}", marks=pytest.mark.slow) for alpha in (1.0, 1.001, 1.9, 3.0)),
    ],
)
def test_normalizers_of_long_masked_rows(name):
    ours, theirs = NORMALIZERS[name]
    scores, allowed = LONG[list(NORMALIZERS).index(name) % 3]
    assert_same_with_gradients(lambda s: ours(s, allowed), lambda s: theirs(s, allowed), scores)


@pytest.mark.slow
@settings(max_examples=4)
@given(st.integers(1, 6), st.integers(1, 21), st.sampled_from(sorted(NORMALIZERS)), st.integers(0, 99))
def test_normalizers_of_any_sizes(length, width, name, seed):
    ours, theirs = NORMALIZERS[name]
    allowed = masked(length, width, seed=seed)
    scores = draw(length, width, seed=seed)
    assert_same_with_gradients(lambda s: ours(s, allowed), lambda s: theirs(s, allowed), scores)


@pytest.mark.slow
def test_alpha_learns():
    scores, allowed, alpha = draw(3, 2, 9), masked(3, 2, 9), 1.0 + torch.rand(3, 1, 1, dtype=torch.float64)
    alpha[0], alpha[1] = 1.0, 3.0
    assert_same_with_gradients(
        lambda s, a: rows.entmax(s, allowed, a),
        lambda s, a: normalizers.Entmax(a)(s, allowed.expand(3, 2, 9)),
        scores,
        alpha,
        tolerance=1e-7,
    )


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax 1.5", "entmax 1.3"])
def test_float32_is_as_good_as_the_definition(name):
    ours, theirs = NORMALIZERS[name]
    scores = draw(7, 67, scale=3).float()
    exact, found = theirs(scores.double(), None), ours(scores, None)
    assert_near(found, lambda given: theirs(given, None), scores)
    assert torch.equal(found > 0, exact > 0) or (exact[(found > 0) != (exact > 0)] < 1e-6).all()


@pytest.mark.parametrize("name", ["softmax", "lse", "sparsemax", "entmax 1.3"])
@pytest.mark.parametrize("filler", [torch.nan, torch.inf, -torch.inf])
def test_what_is_forbidden_may_hold_anything(name, filler):
    ours, _ = NORMALIZERS[name]
    scores, allowed = draw(3, 11), masked(3, 11)
    dirty = scores.masked_fill(~allowed, filler)
    assert torch.equal(ours(dirty, allowed), ours(scores, allowed))


def pieces_read(monkeypatch, name, calls):
    """How many pieces of rows a kernel's module loads from scores and weights while something is called."""
    module, count = importlib.import_module(f"saccade.backends.triton.kernels.{name}"), [0]

    def counting(*arguments, load=module.load):
        count[0] += 1
        return load(*arguments)

    monkeypatch.setattr(module, "load", counting)
    calls()
    return count[0]


STRETCHES = {
    "softmax": ("softmax", lambda s, a: rows.softmax(s, a)[0], 8 + 2, 2 * (8 + 2)),
    "sparsemax": ("entmax", lambda s, a: rows.entmax(s, a, 2.0), None, 2 * (8 + 2)),
}


@pytest.mark.parametrize("name", STRETCHES)
def test_later_passes_read_what_the_first_one_found(name, monkeypatch):
    """Eight pieces of eight keys, of which two hold an allowed one; four rows are one program."""
    module, function, forward, backward = STRETCHES[name]
    scores, allowed = draw(4, 64).requires_grad_(), torch.zeros(4, 64, dtype=torch.bool)
    allowed[0, 20] = allowed[2, 26:30] = True
    found = []
    read = pieces_read(monkeypatch, module, lambda: found.append(function(scores, allowed)))
    monkeypatch.undo()
    if forward is None:  # a pass more for each of Newton's steps
        assert read % 2 == 0 and 8 + 2 * 3 <= read <= 8 + 2 * 12
    else:
        assert read == forward
    upstream = torch.full_like(scores, torch.nan).masked_fill(found[0] != 0, 1.5)
    again = pieces_read(monkeypatch, module, lambda: found.extend(torch.autograd.grad(found[0], scores, upstream)))
    assert again == backward and found[1].isfinite().all()


def test_the_largest_and_a_draw_read_what_there_is(monkeypatch):
    allowed, weights = torch.zeros(4, 64, dtype=torch.bool), torch.zeros(4, 64, dtype=torch.float64)
    allowed[1, 20:28], weights[1, 20:28] = True, 0.125
    read = pieces_read(monkeypatch, "statistics", lambda: rows.largest(weights, 3, allowed))
    monkeypatch.undo()
    assert read == 8 + 2 + 2
    index = []
    half = torch.full((4,), 0.5, dtype=torch.float64)
    assert pieces_read(monkeypatch, "statistics", lambda: index.append(rows.draw(weights, half))) == 8 + 2
    assert index[0].tolist() == [-1, 24, -1, -1]


def test_rows_without_an_allowed_key_are_zeros():
    scores, allowed = torch.full((5, 19), torch.nan), torch.zeros(5, 19, dtype=torch.bool)
    allowed[4, 18] = True
    scores[4, 18] = 3.0
    expected = torch.zeros(5, 19)
    expected[4, 18] = 1.0
    for found in (rows.softmax(scores, allowed)[0], *(rows.entmax(scores, allowed, alpha) for alpha in (1.5, 2.0))):
        assert torch.equal(found, expected)


def test_masks_are_read_with_their_strides():
    scores, allowed = draw(2, 5, 9), masked(9, 5).mT
    weights, _ = rows.softmax(scores.mT.contiguous().mT, allowed)
    torch.testing.assert_close(weights, normalizers.Softmax()(scores, allowed))


def test_entropy_with_its_gradient():
    weights = normalizers.Sparsemax()(draw(5, 19, scale=2), masked(5, 19))
    assert (weights == 0).any()
    assert_same_with_gradients(rows.entropy, entropy, weights)
    weights.requires_grad_()
    assert torch.autograd.gradgradcheck(rows.entropy, weights[1:, weights[1:].min(0).values > 0])


@pytest.mark.parametrize("count", [1, 3, 30])
def test_the_largest_with_ties(count):
    weights = (draw(2, 6, 19) * 2).round().abs()
    for allowed in (None, masked(6, 19)):
        found = rows.largest(weights, count, allowed)
        full = None if allowed is None else allowed.expand(weights.shape)
        torch.testing.assert_close(found, reads.largest(weights, count, full), rtol=0, atol=0)


def drawn(weights, uniform):
    return reads.Sample(uniform=uniform).index(weights, None)


@settings(max_examples=8)
@given(st.integers(1, 6), st.integers(1, 21), st.integers(0, 99))
def test_draws(length, width, seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(length, width, generator=generator, dtype=torch.float64)
    weights = weights.masked_fill(torch.rand(length, width, generator=generator) < 0.5, 0.0)
    uniform = torch.rand(length, generator=generator, dtype=torch.float64)
    assert torch.equal(rows.draw(weights, uniform), drawn(weights, uniform))


def test_draws_at_both_ends():
    weights = torch.tensor([[0.0, 0.3, 0.0, 0.7, 0.0], [0.0] * 5, [0.1] * 5])
    almost = 1 - torch.finfo(torch.float32).eps / 2
    assert rows.draw(weights, torch.zeros(3)).tolist() == [1, -1, 0]
    assert rows.draw(weights, torch.full((3,), almost)).tolist() == [3, -1, 4]
    assert rows.draw(weights, torch.full((3,), 0.3)).tolist() == drawn(weights, torch.full((3,), 0.3)).tolist()


def test_draws_have_the_weights_as_their_frequencies():
    weights = torch.tensor([0.1, 0.0, 0.2, 0.3, 0.0, 0.4], dtype=torch.float64)
    uniform = (torch.arange(100, dtype=torch.float64) + 0.5) / 100
    index = rows.draw(weights.expand(100, 6), uniform)
    counts = torch.bincount(index, minlength=6)
    assert counts.tolist() == [10, 0, 20, 30, 0, 40]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (2, 0, 4)])
def test_nothing_to_compute(shape):
    scores = torch.zeros(shape)
    weights, lse = rows.softmax(scores, None)
    assert weights.shape == shape and (lse == -torch.inf).all()
    assert rows.entmax(scores, None, 1.5).shape == rows.entmax(scores, None, torch.tensor(1.7)).shape == shape
    assert rows.largest(scores, 2, None)[1].shape == (*shape[:-1], min(2, shape[-1]))
    assert (rows.draw(scores, torch.zeros(shape[:-1])) == -1).all() and (rows.entropy(scores) == 0).all()
