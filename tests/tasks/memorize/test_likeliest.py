import itertools
import math

import pytest
import torch
from hypothesis import given, strategies

from saccade.tasks.memorize.likeliest import likeliest


def every(logits, *, bits=False, end=None):
    """All answers and their probabilities, by trying all."""
    if bits:
        flat = torch.stack([-torch.nn.functional.softplus(logits), -torch.nn.functional.softplus(-logits)], -1)
        log_probs = flat.flatten(0, 1)
    else:
        log_probs = logits.log_softmax(-1)
    answers = {}
    for values in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        answer = values[: values.index(end)] if end in values else values
        total = float(sum(log_probs[step, value] for step, value in enumerate(values)))
        answers[answer] = answers.get(answer, 0.0) + math.exp(total)
    return answers


@given(
    strategies.integers(0, 10_000),
    strategies.integers(1, 3),
    strategies.sampled_from([{}, {"bits": True}, {"end": 0}, {"end": 1}, {"end": 2}]),
    strategies.sampled_from([1.0, 30.0]),
)
def test_answers_come_in_the_order_of_their_probabilities_each_once(seed, steps, words, scale):
    """An answer before an end is as probable as all values behind it together."""
    drawn = torch.Generator().manual_seed(seed)
    logits = torch.randn(steps, 3, generator=drawn, dtype=torch.float64) * scale
    expected = every(logits, **words)
    answers = [(cost, tuple(map(int, values.flatten().tolist()))) for cost, values in likeliest(logits, **words)]
    assert sorted(answer for _, answer in answers) == sorted(expected)
    assert {answer: math.exp(-cost) for cost, answer in answers} == pytest.approx(expected)
    assert all(first[0] <= second[0] + 1e-9 for first, second in itertools.pairwise(answers))


def test_equal_answers_come_in_a_fixed_order_the_shortest_first():
    answers = [values.tolist() for _, values in likeliest(torch.zeros(2, 2), end=0)]
    assert answers == [[], [1], [1, 1]]  # 1/2, 1/4 and 1/4


def test_nothing_asked_has_one_answer():
    assert [values.shape for _, values in likeliest(torch.zeros(0, 3), bits=True)] == [(0, 3)]
