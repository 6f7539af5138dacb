"""The kernels of a step, one by one, against autograd through the formulas."""

import pytest
import torch

from backends.cpu.cases import draw, flags
from near import assert_near
from saccade.backends.cpu.step_kernels import defined, forward, gradients, weigh
from saccade.backends.folding import Folded
from saccade.scores import exponentials

INPUTS = draw(2, 3, 9), draw(2, 5, 9, seed=1), draw(2, 5, 4, seed=2), draw(9, seed=3)
MASK = flags(2, 3, 5, density=0.7)


def masked(query, key, value, v):
    return Folded(query, key, value, v, exponentials(key), MASK)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_weights_are_those_of_formula_and_whole_step(temperature):
    found, kinds = weigh(masked(*INPUTS), temperature)
    _, whole, same = forward(masked(*INPUTS), temperature)
    assert torch.equal(found, whole) and torch.equal(kinds, same)
    assert_near(found, lambda query, key, value, v: defined(query, key, value, v, MASK, temperature)[0], *INPUTS)


def test_gradients_of_scores_are_those_of_the_output():
    inputs, temperature = masked(*INPUTS), 0.5
    _, weights, kinds = forward(inputs, temperature)
    grad = draw(2, 3, 4, seed=4)
    through = grad @ inputs.value.mT
    of_scores = weights * (through - (weights * through).sum(-1, keepdim=True)) / temperature
    whole = gradients(inputs, grad, weights, kinds, temperature, None)
    torch.testing.assert_close(gradients(inputs, of_scores, None, kinds, temperature, None), whole)


def test_the_keys_gradient_is_added_to_a_sum():
    inputs = masked(*INPUTS)
    _, weights, kinds = forward(inputs, 1.0)
    grad, key_sum = draw(2, 3, 4, seed=4), draw(2, 5, 9, seed=5)
    alone = gradients(inputs, grad, weights, kinds, 1.0, None)[1]
    total = gradients(inputs, grad, weights, kinds, 1.0, key_sum.clone())[1]
    torch.testing.assert_close(total, alone + key_sum)


def test_the_formula_takes_what_takes_part_in_nothing_for_zeros():
    query, key, value, v = (part.clone() for part in INPUTS)
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    mask[0, 1], mask[:, :, 2] = False, False
    clean = defined(query, key, value, v, mask, 1.0)
    query[0, 1], key[:, 2], value[:, 2] = torch.nan, torch.inf, torch.nan
    weights, values, allowed = defined(query, key, value, v, mask, 1.0)
    torch.testing.assert_close(weights, clean[0])
    assert bool(values.isfinite().all()) and torch.equal(allowed, mask) and bool((weights[0, 1] == 0).all())
