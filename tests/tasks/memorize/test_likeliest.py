import itertools

import torch
from hypothesis import given, strategies

from saccade.tasks.memorize.likeliest import choices


def every(logits, *, bits):
    """All answers and their probabilities, by trying all."""
    if bits:
        flat = torch.stack([-torch.nn.functional.softplus(logits), -torch.nn.functional.softplus(-logits)], -1)
        flat = flat.flatten(0, 1)
    else:
        flat = logits.log_softmax(-1)
    found = {}
    for picked in itertools.product(range(flat.shape[1]), repeat=len(flat)):
        found[picked] = float(sum(flat[place, one] for place, one in enumerate(picked)))
    return found


@given(strategies.integers(0, 10_000), strategies.integers(1, 3), strategies.integers(1, 3), strategies.booleans())
def test_answers_come_in_the_order_of_their_probabilities_each_once(seed, steps, width, bits):
    logits = torch.randn(steps, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2
    expected = every(logits, bits=bits)
    found = [tuple(int(one) for one in values.flatten().tolist()) for values in choices(logits, bits=bits)]
    assert sorted(found) == sorted(expected)
    shares = [expected[answer] for answer in found]
    assert all(one >= other - 1e-9 for one, other in itertools.pairwise(shares))


def test_nothing_asked_has_one_answer():
    assert [values.shape for values in choices(torch.zeros(0, 3), bits=True)] == [(0, 3)]
