"""What is read off weights, against sums written out."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree

from saccade import AuxOutput, AuxRequest
from saccade.auxiliary import AUX_FIELDS, entropy, log_probability, top
from saccade.errors import ArgumentError, ArgumentTypeError


@st.composite
def distributions(draw):
    """Rows that sum to one, or to nothing; zeros among their weights."""
    count, keys, seed = draw(st.integers(1, 4)), draw(st.integers(1, 9)), draw(st.integers(0, 999))
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(count, keys, generator=generator, dtype=torch.float64)
    weights = weights * (torch.rand(count, keys, generator=generator) < draw(st.sampled_from([0.0, 0.5, 1.0])))
    total = weights.sum(-1, keepdim=True)
    return torch.where(total > 0, weights / total.masked_fill(total == 0, 1.0), 0.0)


@given(distributions())
def test_entropy_is_the_sum(weights):
    expected = [0.0 - sum(w * math.log(w) for w in row if w > 0) for row in weights.tolist()]
    found = entropy(weights)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
    assert not found.signbit()[found == 0].any() and (found <= math.log(weights.shape[-1]) + 1e-12).all()


def test_the_derivative_of_zero_log_zero_is_zero():
    weights = torch.tensor([[0.0, 0.25, 0.75]], dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(entropy(weights).sum(), weights)
    torch.testing.assert_close(found, torch.tensor([[0.0, -1 - math.log(0.25), -1 - math.log(0.75)]]).double())


@given(distributions(), st.data())
def test_the_log_probability_is_of_the_share(weights, data):
    scale = data.draw(st.sampled_from([1.0, 0.3]))
    positive = [[j for j, w in enumerate(row) if w > 0] for row in weights.tolist()]
    index = torch.tensor([data.draw(st.sampled_from(row)) if row else -1 for row in positive])
    found = log_probability(scale * weights, index)
    expected = [math.log(weights[row, j]) if j >= 0 else 0.0 for row, j in enumerate(index.tolist())]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_the_gradient_of_a_log_probability_is_that_of_its_score():
    """Of a softmax: the one that was drawn, minus the probabilities (Williams 1992)."""
    scores, index = torch.randn(4, 5, dtype=torch.float64, requires_grad=True), torch.tensor([0, 4, 2, 2])
    weights = torch.softmax(scores, -1)
    (found,) = torch.autograd.grad(log_probability(weights, index).sum(), scores)
    torch.testing.assert_close(found, torch.nn.functional.one_hot(index, 5) - weights.detach())


def test_no_keys_have_log_probability_zero():
    assert log_probability(torch.zeros(3, 0), torch.full((3,), -1)).tolist() == [0.0] * 3


def test_what_weighs_nothing_has_no_index():
    values, indices = top(torch.tensor([[0.7, 0.3, 0.0]]), torch.tensor([[2, 0, 1]]))
    assert indices.tolist() == [[2, 0, -1]] and values.tolist() == [[pytest.approx(0.7), pytest.approx(0.3), 0.0]]


@given(st.sets(st.sampled_from([name for name in AUX_FIELDS if name != "top"])), st.integers(0, 3))
def test_names_are_those_asked_for_in_their_order(asked, count):
    request = AuxRequest(**dict.fromkeys(asked, True), top=count)
    assert request.names() == [name for name in AUX_FIELDS if name in asked or (name == "top" and count)]


@given(st.sets(st.sampled_from([name for name in AUX_FIELDS if name != "top"])), st.booleans())
def test_an_output_is_a_tree_of_what_there_is(there, pair):
    fields = {name: torch.randn(2, 3) for name in there} | ({"top": (torch.ones(2), torch.zeros(2))} if pair else {})
    aux = AuxOutput(**fields)
    leaves, structure = pytree.tree_flatten(aux)
    assert len(leaves) == len(there) + 2 * pair
    again = pytree.tree_unflatten(leaves, structure)
    for name in AUX_FIELDS:
        assert (getattr(again, name) is None) == (name not in fields)
    assert {path[0].name for path, _ in pytree.tree_flatten_with_path(aux)[0]} == set(fields)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"lse": 1}, ArgumentTypeError), ({"weights": None}, ArgumentTypeError), ({"top": -1}, ArgumentError)],
    ids=str,
)
def test_requests_of_other_kinds_are_refused(options, error):
    with pytest.raises(error, match=r"expected .*got"):
        AuxRequest(**options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_too_small_for_a_gradient_have_none(dtype):
    """As those far from the centre of a Gaussian gate: one NaN would end a training."""
    weights = torch.full((2, 3), 0.25, dtype=dtype)
    weights[0] = torch.finfo(dtype).tiny / 8
    weights.requires_grad_()
    found = log_probability(weights, torch.tensor([1, 1]))
    torch.testing.assert_close(found, torch.full((2,), -math.log(3), dtype=dtype))
    found.sum().backward()
    assert not weights.grad[0].any() and weights.grad[1].tolist() == pytest.approx([-4 / 3, 8 / 3, -4 / 3])
