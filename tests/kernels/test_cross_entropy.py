import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from near import assert_near, largest
from saccade.errors import ArgumentError, ShapeError
from saccade.kernels import cross_entropy
from saccade.kernels.cross_entropy import linear_cross_entropies


def draw(rows, dim, size, seed, scale=1.0, dtype=torch.float32):
    numbers = torch.Generator().manual_seed(seed)
    shapes = (rows, dim), (size, dim), (size,)
    made = [torch.randn(shape, generator=numbers, dtype=torch.float64) * scale for shape in shapes]
    return [tensor.to(dtype).requires_grad_() for tensor in made], torch.randint(size, (rows,), generator=numbers)


def mean_loss(*arguments):
    return linear_cross_entropies(*arguments)[0]


def plain(features, weight, bias, target, smoothing):
    return F.cross_entropy(features @ weight.T + bias, target, label_smoothing=smoothing)


@given(
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(1, 300),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([1e-2, 1.0, 8.0]),
    st.sampled_from([1, 7, 512]),
)
def test_it_is_the_cross_entropy_with_its_gradients(rows, dim, size, seed, smoothing, scale, chunk):
    inputs, target = draw(rows, dim, size, seed, scale)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_entropy, "_CHUNK", chunk)
        loss = mean_loss(*inputs, target, smoothing)
        found = torch.autograd.grad(3 * loss, inputs)

    def gradients(*given):
        leaves = [tensor.requires_grad_() for tensor in given]
        return torch.autograd.grad(3 * plain(*leaves, target, smoothing), leaves)

    logits = inputs[0] @ inputs[1].T + inputs[2]  # whose difference a loss is: of one token it is 0
    assert_near(loss, lambda *given: plain(*given, target, smoothing), *inputs, unit=largest(logits))
    assert_near(found, gradients, *inputs)
    with torch.no_grad():
        assert torch.equal(mean_loss(*inputs, target, smoothing), loss) or chunk < 512


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_each_tokens_cost_is_told_without_a_gradient(dtype):
    inputs, target = draw(700, 3, 7, 0, dtype=dtype)
    mean, each = linear_cross_entropies(*inputs, target, 0.1)
    features, weight, bias = inputs
    expected = torch.nn.functional.cross_entropy(
        features @ weight.T + bias, target, reduction="none", label_smoothing=0.1
    )
    torch.testing.assert_close(each, expected)
    assert not each.requires_grad and torch.equal(mean, mean_loss(*inputs, target, 0.1))


def test_a_second_backward_of_the_same_loss_gives_the_same():
    inputs, target = draw(5, 3, 7, 0)
    loss = mean_loss(*inputs, target, 0.1)
    once, again = (torch.autograd.grad(2 * loss, inputs, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, once, again))


def test_other_types_take_torchs_way():
    inputs, target = draw(5, 3, 7, 0, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *tensors: mean_loss(*tensors, target, 0.1), inputs)
    torch.testing.assert_close(mean_loss(*inputs, target, 0.1), plain(*inputs, target, 0.1))


def test_what_fits_nothing_is_refused():
    (features, weight, bias), target = draw(5, 3, 7, 0)
    with pytest.raises(ShapeError, match=r"target: .*\(5,\), got shape \(4,\)"):
        mean_loss(features, weight, bias, target[:4])
    with pytest.raises(ShapeError, match=r"\(5, 3\), \(7, 3\), \(1,\)"):
        mean_loss(features, weight, bias[:1], target)
    for wrong in (-1, -100, 7):
        with pytest.raises(ArgumentError, match="from 0 to 6"):
            mean_loss(features, weight, bias, torch.full((5,), wrong))


def test_second_derivatives():
    (features, weight, bias), target = draw(5, 3, 7, 0)

    def second(function):
        loss = function(features, weight, bias, target, 0.1)
        first = torch.autograd.grad(loss, (features, weight), create_graph=True)
        return torch.autograd.grad(sum(part.square().sum() for part in first), (features, weight, bias))

    torch.testing.assert_close(second(mean_loss), second(plain), rtol=1e-4, atol=1e-6)


def test_a_logit_of_minus_infinity_forbids_its_token():
    (features, weight, bias), target = draw(5, 3, 7, 0)
    target[:] = 2
    bias = torch.where(torch.arange(7) == 4, float("-inf"), bias.detach())
    torch.testing.assert_close(mean_loss(features, weight, bias, target), plain(features, weight, bias, target, 0.0))


def test_what_is_not_a_number_shows():
    (features, weight, bias), target = draw(5, 3, 7, 0)
    with torch.no_grad():
        features[2, 0] = float("nan")
    assert mean_loss(features, weight, bias, target).isnan()
