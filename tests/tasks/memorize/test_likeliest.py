import heapq
import itertools
import math

import pytest
import torch
from hypothesis import given, strategies

from saccade.tasks.memorize import likeliest
from saccade.tasks.memorize.likeliest import choices, ended


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


@pytest.mark.slow
@given(strategies.integers(0, 10_000), strategies.integers(1, 3), strategies.integers(1, 3), strategies.booleans())
def test_answers_come_in_the_order_of_their_probabilities_each_once(seed, steps, width, bits):
    logits = torch.randn(steps, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2
    expected = every(logits, bits=bits)
    found = [
        (cost, tuple(int(one) for one in values.flatten().tolist())) for cost, values in choices(logits, bits=bits)
    ]
    assert sorted(answer for _, answer in found) == sorted(expected)
    assert [cost for cost, _ in found] == pytest.approx([-expected[answer] for _, answer in found])
    assert all(one[0] <= other[0] + 1e-9 for one, other in itertools.pairwise(found))


@given(strategies.integers(0, 10_000), strategies.integers(1, 3), strategies.integers(0, 2))
def test_an_ending_is_as_probable_as_all_that_reads_so(seed, steps, end):
    logits = torch.randn(steps, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2
    expected = {}
    for picked, log_prob in every(logits, bits=False).items():
        said = picked[: picked.index(end)] if end in picked else picked
        expected[said] = expected.get(said, 0.0) + math.exp(log_prob)
    found = [(tuple(values.tolist()), math.exp(-cost)) for cost, values in ended(logits, end)]
    assert len(found) == len(expected) and dict(found) == pytest.approx(expected)
    assert all(one[1] >= other[1] - 1e-9 for one, other in itertools.pairwise(found))


@given(strategies.integers(0, 10_000), strategies.integers(1, 4), strategies.sampled_from([0.0, 1.0, 30.0]))
def test_answers_of_all_lengths_are_those_of_each_merged(seed, steps, scale):
    """Equal ones, of which there are many where logits are whole numbers, the shortest first."""
    logits = (torch.randn(steps, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale).round()
    log_probs = logits.log_softmax(-1)
    costs = [*(-log_probs[:, 0]).tolist(), 0.0]

    def of_length(length):
        others = log_probs[:length, 1:]
        lost = float(others.logsumexp(-1).sum())
        return [(cost - lost + costs[length], (values + 1).tolist()) for cost, values in choices(others, bits=False)]

    expected = heapq.merge(*map(of_length, range(steps + 1)), key=lambda one: one[0])
    assert [(cost, values.tolist()) for cost, values in ended(logits, 0)] == list(expected)


def test_lengths_begin_no_sooner_than_they_may_be_next(monkeypatch):
    begun = list[int]()

    def counted(logits, *, bits):
        begun.append(len(logits))
        return choices(logits, bits=bits)

    monkeypatch.setattr(likeliest, "choices", counted)
    logits = torch.randn(50, 7, generator=torch.Generator().manual_seed(3))
    logits[20, 0] = 20.0
    assert len(next(ended(logits, 0)).values) in begun and len(begun) < 5


def test_nothing_asked_has_one_answer():
    assert [choice.values.shape for choice in choices(torch.zeros(0, 3), bits=True)] == [(0, 3)]
