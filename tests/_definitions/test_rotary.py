"""Rotary positions: against rotations written out, whatever they are given by."""

import math

import pytest
import torch

from saccade import biases, errors

F64 = torch.float64
LAYOUTS = ("half", "interleaved")


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rotary_turns_pairs_by_their_angle(layout):
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    first, second = ([0, 1], [2, 3]) if layout == "half" else ([0, 2], [1, 3])
    angle = 3 * torch.tensor([1.0, 100.0**-0.5], dtype=torch.float64)
    turned = biases.rotate(x, torch.tensor([3]), base=100.0, layout=layout)[0]
    torch.testing.assert_close(turned[first], x[0, first] * angle.cos() - x[0, second] * angle.sin())
    torch.testing.assert_close(turned[second], x[0, first] * angle.sin() + x[0, second] * angle.cos())


def test_rotary_depends_on_differences_alone_and_keeps_the_dtype():
    q, k = torch.randn(2, 5, 6, dtype=torch.float64), torch.randn(2, 5, 6, dtype=torch.float64)
    at = torch.arange(5)
    near, far = (biases.rotate(q, at + shift) @ biases.rotate(k, at + shift).mT for shift in (0, 1000))
    torch.testing.assert_close(near, far, rtol=1e-9, atol=1e-9)
    assert torch.equal(biases.rotate(q, torch.zeros(1)), q)
    half = biases.rotate(q.half(), at)
    assert half.dtype == torch.float16 and (half.double() - biases.rotate(q, at)).abs().max() < 0.01
    assert math.isclose(biases.rotate(q, at).norm().item(), q.norm().item())


def test_positions_of_each_sequence():
    x, at = torch.randn(2, 3, 4), torch.tensor([[0, 1, 2], [5, 6, 7]])
    assert torch.equal(biases.rotate(x, at)[1], biases.rotate(x[1], at[1]))


def turned_by(x, angles, layout):
    """Each pair as a complex number times e^{i angle}."""
    pairs = x.unflatten(-1, (2, -1)).mT if layout == "half" else x.unflatten(-1, (-1, 2))
    found = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles))
    return (found.mT if layout == "half" else found).flatten(-2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("features", [None, 6, 2])
def test_frequencies_and_tables_are_angles(layout, features):
    x, at = torch.randn(2, 3, 5, 8, dtype=F64), torch.randint(50, (2, 1, 5))
    pairs = (8 if features is None else features) // 2
    frequencies = torch.randn(3, pairs, dtype=F64)
    angles = at[..., None] * frequencies[:, None]
    want = torch.cat((turned_by(x[..., : 2 * pairs], angles, layout), x[..., 2 * pairs :]), -1)
    options = {"features": features, "layout": layout}
    torch.testing.assert_close(biases.rotate(x, at, frequencies=frequencies, **options), want)
    torch.testing.assert_close(biases.rotate(x, tables=(angles.cos(), angles.sin()), **options), want)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_base_is_frequencies(layout):
    x, at = torch.randn(5, 8, dtype=F64), torch.arange(5)
    frequencies = 100.0 ** (-torch.arange(3, dtype=F64) / 3)
    by_base = biases.rotate(x, at, base=100.0, features=6, layout=layout)
    torch.testing.assert_close(by_base, biases.rotate(x, at, frequencies=frequencies, features=6, layout=layout))
    assert torch.equal(biases.rotate(x, at), biases.rotate(x, at, base=10000.0))


def test_no_features_are_turned_by_nothing():
    x = torch.randn(3, 5)
    assert torch.equal(biases.rotate(x, torch.arange(3), features=0), x)


def test_gradients_of_all_that_may_learn():
    x, at = torch.randn(2, 3, 6, dtype=F64, requires_grad=True), torch.rand(3, dtype=F64, requires_grad=True)
    frequencies = torch.rand(2, dtype=F64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, p, f: biases.rotate(x, p, frequencies=f, features=4), (x, at, frequencies)
    )
    tables = torch.rand(2, 3, 3, dtype=F64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, t: biases.rotate(x, tables=(t[0], t[1])), (x, tables))


def test_tables_scale_what_they_turn():
    """YaRN's factor of queries and keys may stand in the tables."""
    x, at = torch.randn(4, 6, dtype=F64), torch.arange(4)
    angles = at[:, None] * 10000.0 ** (-torch.arange(3, dtype=F64) / 3)
    found = biases.rotate(x, tables=(1.3 * angles.cos(), 1.3 * angles.sin()))
    torch.testing.assert_close(found, 1.3 * biases.rotate(x, at))


@pytest.mark.parametrize("name", ["positions", "frequencies", "tables"])
def test_what_is_elsewhere_is_refused(name):
    given = {"positions": torch.arange(3), "frequencies": torch.ones(2)}
    if name == "tables":
        given = {"tables": (torch.ones(3, 2, device="meta"),) * 2}
    else:
        given[name] = given[name].to("meta")
    with pytest.raises(errors.ArgumentError, match=rf"{name}: expected device cpu, that of x, got meta; move it"):
        biases.rotate(torch.zeros(3, 4), **given)


def test_angles_far_from_the_beginning_are_not_rounded():
    x, places = torch.randn(1, 3, 8), 10**6 + torch.arange(3)
    found, exact = biases.rotate(x, places), biases.rotate(x.double(), places)
    torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-6)
