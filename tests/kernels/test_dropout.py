import pytest
import torch

from saccade.errors import ArgumentError
from saccade.kernels import threads
from saccade.kernels.dropout import Dropout


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.97])
def test_so_many_are_dropped_and_the_mean_stays(p):
    torch.manual_seed(1)
    count = 1_000_000
    dropped = Dropout(p)(torch.ones(count))
    torch.testing.assert_close(dropped.unique(), torch.tensor([0.0, 1 / (1 - p)]))
    assert abs(int((dropped == 0).sum()) - p * count) < 5 * (count * p * (1 - p)) ** 0.5


def test_no_two_places_know_of_each_other():
    """Correlations of what is dropped between places some way apart, and between two draws, are those of chance."""
    torch.manual_seed(2)
    first, second = ((Dropout(0.3)(torch.ones(500_000)) == 0).double() - 0.3 for _ in range(2))
    bound = 5 * 0.21 / 500_000**0.5
    for apart in (1, 2, 3, 4, 8, 16, 32, 64, 256, 1024, 1 << 14):
        assert abs(float((first[apart:] * first[:-apart]).mean())) < bound, apart
    assert abs(float((first * second).mean())) < bound


@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (3, 5, 16_385)])
def test_the_gradient_drops_the_same(shape):
    torch.manual_seed(3)
    x = torch.randn(shape, requires_grad=True)
    y = Dropout(0.4)(x)
    grad = torch.randn(shape)
    (found,) = torch.autograd.grad(y, x, grad, create_graph=True)
    kept = torch.where(x.detach() == 0, 0, y.detach() / x.detach())
    torch.testing.assert_close(found, grad * kept)
    torch.testing.assert_close(y, x * kept)


def test_it_is_differentiable_again_and_a_seed_repeats_it():
    def drawn(x):
        torch.manual_seed(4)
        return Dropout(0.5)(x).square()

    x = torch.randn(50, requires_grad=True)
    (first,) = torch.autograd.grad(drawn(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 2 * (drawn(torch.ones(50))))  # 2 times the square of the scale, or 0
    assert torch.equal(drawn(x), drawn(x))


def test_rows_that_are_apart_are_dropped_as_they_stand():
    torch.manual_seed(5)
    x = torch.ones(6, 8)[:, ::2].T
    assert Dropout(0.5)(x).shape == (4, 6)


def test_elsewhere_it_is_torchs(monkeypatch):
    x = torch.ones(1000, dtype=torch.float64)
    assert 300 < int((Dropout(0.5)(x) == 0).sum()) < 700
    assert torch.equal(Dropout(0.5).eval()(x), x) and torch.equal(Dropout(0.0)(x), x)
    monkeypatch.setitem(threads._state, "numba", "there is none here")
    assert 300 < int((Dropout(0.5)(x.float()) == 0).sum()) < 700
    assert torch.vmap(Dropout(0.5), randomness="different")(torch.ones(3, 4)).shape == (3, 4)


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, float("nan")])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ArgumentError, match="p: expected"):
        Dropout(p)


def test_other_defaults_change_nothing():
    x = torch.ones(1000)
    torch.manual_seed(6)
    expected = Dropout(0.3)(x)
    torch.set_default_dtype(torch.float64)
    try:
        torch.manual_seed(6)
        assert torch.equal(Dropout(0.3)(x), expected)
    finally:
        torch.set_default_dtype(torch.float32)
    torch.manual_seed(6)
    with torch.device("meta"):
        assert torch.equal(Dropout(0.3)(x), expected)


def test_gradients_that_are_mapped_over_drop_the_same():
    torch.manual_seed(7)
    x = torch.randn(20, requires_grad=True)
    y = Dropout(0.5)(x)
    (rows,) = torch.autograd.grad(y, x, torch.eye(20), retain_graph=True, is_grads_batched=True)
    singles = torch.stack([torch.autograd.grad(y, x, row, retain_graph=True)[0] for row in torch.eye(20)])
    torch.testing.assert_close(rows, singles)
