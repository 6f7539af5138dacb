import pytest
import torch

from saccade import attend, biases, errors
from saccade._definitions.structure import Grid


def values(bias, q=3, k=4):
    return bias.values(Grid(q, k, 0, q, torch.device("cpu")), torch.float64)


def test_alibi_falls_with_the_distance():
    assert values(biases.Alibi(torch.tensor(0.5), "end")).tolist() == [
        [-0.5, 0.0, -0.5, -1.0],
        [-1.0, -0.5, 0.0, -0.5],
        [-1.5, -1.0, -0.5, 0.0],
    ]


def test_relative_positions_are_clipped():
    table = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert values(biases.RelativePosition(table, "start")).tolist() == [[2, 3, 3, 3], [1, 2, 3, 3], [1, 1, 2, 3]]


def test_relative_positions_of_each_sequence():
    table = torch.arange(7.0)
    each = values(biases.RelativePosition(table, torch.tensor([0, 2])))
    for row, align in enumerate((0, 2)):
        assert torch.equal(each[row], values(biases.RelativePosition(table, align)))


def test_a_gaussian_window_is_the_logarithm_of_a_gaussian():
    window = biases.GaussianWindow(torch.tensor([0.0, 1.0, 2.5]), 2.0)
    assert values(window)[2, 0].item() == pytest.approx(-(2.5**2) / 8)
    assert values(biases.GaussianWindow(torch.zeros(3), torch.tensor([1.0, 2.0, 4.0])))[:, 2].tolist() == [
        -2.0,
        -0.5,
        -0.125,
    ]


@pytest.mark.parametrize("place", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["bias", "gate"])
def test_a_centre_of_a_row_that_is_forbidden_has_no_gradient(name, place):
    x, allowed = torch.randn(3, 4), torch.tensor([[True], [False], [True]]).expand(3, 3)
    center = torch.tensor([1.0, place, 2.0], requires_grad=True)
    width = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    attend(x, x, x, mask=allowed, **{name: biases.GaussianWindow(center, width)}).square().sum().backward()
    for tensor in (center, width):
        assert tensor.grad.isfinite().all() and tensor.grad[1] == 0 and (tensor.grad[[0, 2]] != 0).all()


def test_a_centre_that_is_none_is_seen_in_what_is_read():
    x = torch.randn(2, 4)
    for place, found in ((float("nan"), "nan"), (float("inf"), "0.0")):
        window = biases.GaussianWindow(torch.tensor([1.0, place]), 1.0)
        assert {str(number) for number in attend(x, x, x, bias=window)[1].tolist()} == {found}


def test_sums_and_tensors_on_either_side():
    extra, alibi = torch.randn(3, 4, dtype=torch.float64), biases.Alibi(torch.tensor(0.5), "end")
    for total in (extra + alibi, alibi + extra):
        assert torch.equal(values(total), extra + values(alibi))
    assert torch.equal(values(alibi + alibi), 2 * values(alibi))


@pytest.mark.parametrize("left", [True, False])
def test_a_bias_as_gate_is_its_exponential(left):
    q, k = torch.randn(3, 5, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    alibi, gate = biases.Alibi(torch.tensor(0.5), "end"), torch.rand(3, 4, dtype=torch.float64)
    product = gate * alibi if left else alibi * gate
    torch.testing.assert_close(attend(q, k, k, gate=product), attend(q, k, k, gate=gate * values(alibi).exp()))


def test_a_bias_does_not_multiply_into_a_bias():
    with pytest.raises(errors.ArgumentTypeError, match="gate="):
        attend(
            torch.ones(2, 2),
            torch.ones(2, 2),
            torch.ones(2, 2),
            bias=biases.Alibi(torch.tensor(1.0)) * torch.ones(2, 2),
        )


def test_a_centre_of_a_gaussian_window_is_of_real_numbers():
    x = torch.zeros(1, 3, 2)
    with pytest.raises(errors.ArgumentTypeError, match="center of biases.GaussianWindow: expected a tensor of numbers"):
        attend(x, x, x, bias=biases.GaussianWindow(torch.ones(3) * 1j, 1.0))


def test_what_torch_is_told_beside_the_two_is_not_dropped():
    with pytest.raises(TypeError, match="add"):
        torch.add(torch.ones(3, 3), biases.Alibi(torch.ones(())), alpha=2)
    with pytest.raises(TypeError, match="mul"):
        torch.mul(torch.ones(3, 3), biases.Alibi(torch.ones(())), out=torch.ones(3, 3))
