"""The kernels of a step, one by one, against autograd through the formulas."""

import math

import pytest
import torch

from backends.cpu.cases import draw, flags
from near import assert_near
from saccade.backends.cpu.step_kernels import Folded, defined, folded, forward, gradients, weigh
from saccade.scores import exponentials
from tiers import every

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


CASES = [  # batch; query, key, value, v, mask
    ((), (5, 3), (7, 3), (7, 2), (3,), None),
    ((2,), (2, 5, 3), (2, 7, 3), (2, 7, 2), (3,), (2, 5, 7)),
    ((2, 3), (2, 3, 5, 3), (2, 3, 7, 3), (2, 3, 7, 2), (3, 3), (5, 1)),
    ((2, 3), (2, 3, 5, 3), (2, 1, 7, 3), (2, 1, 7, 2), (3,), None),
    ((2, 3), (2, 3, 5, 3), (2, 1, 7, 3), (2, 1, 7, 2), (3,), (2, 3, 1, 7)),
    ((2, 3), (2, 3, 5, 3), (2, 1, 7, 3), (2, 1, 7, 2), (3,), (2, 1, 1, 7)),
    ((4, 3), (5, 3), (4, 1, 7, 3), (3, 7, 2), (4, 1, 3), (1, 1)),
    ((0, 3), (0, 3, 5, 3), (0, 1, 7, 3), (0, 1, 7, 2), (3,), None),
]


@every(("batch", "query", "key", "value", "v", "mask"), CASES)
def test_every_entry_is_in_its_place(batch, query, key, value, v, mask):
    parts = [draw(*shape, seed=seed) for seed, shape in enumerate((query, key, value, v, key))]
    allowed = None if mask is None else flags(*mask)
    found = folded(batch, *parts, allowed)
    count, rows = found.query.shape[:2]
    assert count * rows == math.prod(batch) * 5 and found.key.shape == (count, 7, 3) == found.powers.shape

    def scored(query, key, value, v, powers, mask):
        made = ((query[..., :, None, :] * key[..., None, :, :] + powers[..., None, :, :]) * v[..., None, None, :]).sum(
            -1
        )
        return (made if mask is None else made.masked_fill(~mask, 0.0)) @ value

    torch.testing.assert_close(scored(*found).reshape(*batch, 5, 2), scored(*parts, allowed).expand(*batch, 5, 2))


def test_queries_that_share_keys_become_rows_without_copy():
    query, key, value = draw(2, 4, 5, 3), draw(2, 1, 7, 3), draw(2, 1, 7, 2)
    found = folded((2, 4), query, key, value, draw(3), key, flags(2, 1, 1, 7))
    assert found.query.shape == (2, 20, 3) and found.mask.shape == (2, 1, 7)
    for part, whole in ((found.query, query), (found.key, key), (found.value, value), (found.powers, key)):
        assert part.data_ptr() == whole.data_ptr()


def test_a_mask_of_each_group_keeps_them_apart():
    found = folded(
        (2, 4), draw(2, 4, 5, 3), draw(2, 1, 7, 3), draw(2, 1, 7, 2), draw(3), draw(2, 1, 7, 3), flags(4, 1, 7)
    )
    assert found.query.shape == (8, 5, 3) and found.mask.shape == (8, 1, 7)
