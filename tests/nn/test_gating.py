"""A gate is attention with a top-k read, and its load is the probability that its paper defines, by sampling."""

import math

import pytest
import torch

from saccade import attend, reads, scores
from saccade.nn import gating


def drawn(tokens=3, experts=5):
    numbers = torch.Generator().manual_seed(4)
    clean, spread = (torch.randn(2, tokens, experts, dtype=torch.float64, generator=numbers)).unbind(0)
    return clean, spread


@pytest.mark.parametrize("k", [1, 2, 5])
def test_it_is_attention_with_a_read_of_the_k_largest(k):
    numbers = torch.Generator().manual_seed(2)
    tokens, gate = (torch.randn(size, 6, dtype=torch.float64, generator=numbers) for size in (7, 5))
    spread = torch.randn(7, 5, dtype=torch.float64, generator=numbers)
    torch.manual_seed(9)
    choice = gating.choose(tokens @ gate.mT, spread, k)
    torch.manual_seed(9)
    noise = torch.randn(7, 5, dtype=torch.float64) * torch.nn.functional.softplus(spread)
    one_hot = torch.eye(5, dtype=torch.float64)
    wanted = attend(tokens, gate, one_hot, score=scores.Dot(), bias=noise, read=reads.TopK(k))
    found = torch.zeros(7, 5, dtype=torch.float64).scatter(-1, choice.experts, choice.weight)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_load_is_the_probability_of_being_taken(k):
    """Equation 8, drawn: new noise on one expert, the others' as they were, and whether it is among the k."""
    clean, spread = drawn()
    torch.manual_seed(0)
    choice = gating.choose(clean, spread, k)
    draws, deviation = 40_000, torch.nn.functional.softplus(spread)
    for expert in range(clean.shape[1]):
        fresh = clean[:, expert] + torch.randn(draws, len(clean), dtype=torch.float64) * deviation[:, expert]
        logits = choice.logits.expand(draws, -1, -1).clone()
        logits[..., expert] = fresh
        share = (logits.topk(k).indices == expert).any(-1).double().mean(0)
        error = 5 * math.sqrt(0.25 / draws)
        assert (share - choice.probability[:, expert]).abs().max() < error


def test_an_estimator_of_softmaxed_logits_would_be_told_apart():
    """What one known implementation compares is far from what is drawn: the test above can fail."""
    clean, spread = drawn()
    torch.manual_seed(0)
    choice = gating.choose(clean, spread, 2)
    deviation = torch.nn.functional.softplus(spread)
    wrong = gating.selection_probability(clean.softmax(-1), choice.logits.softmax(-1), deviation, 2)
    assert (wrong - choice.probability).abs().max() > 0.2


def test_the_threshold_leaves_the_expert_out():
    clean = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    logits, one = torch.tensor([[5.0, 3.0, 4.0, 1.0]]), torch.ones(1, 4)
    thresholds = torch.tensor([[3.0, 4.0, 3.0, 4.0]])  # the second largest of the others
    found = gating.selection_probability(clean, logits, one, 2)
    torch.testing.assert_close(found, torch.special.ndtr(-thresholds))
    assert gating.selection_probability(clean, logits, one, 4).tolist() == [[1.0] * 4]


def test_expected_loads_are_those_that_are_drawn():
    """The sum of P over all tokens is k a token on average, however uneven the gate."""
    clean, spread = (part.repeat(2000, 1) for part in drawn())
    torch.manual_seed(1)
    choice = gating.choose(clean, spread, 2)
    taken = torch.zeros_like(clean).scatter(-1, choice.experts, 1.0).mean(0)
    torch.testing.assert_close(choice.probability.mean(0), taken, atol=0.02, rtol=0)


def test_derivatives_are_those_of_differences():
    clean, spread = (part.requires_grad_() for part in drawn())

    def measures(clean, spread):
        torch.manual_seed(3)
        choice = gating.choose(clean, spread, 2)
        return choice.weight, choice.probability, gating.squared_variation(choice.probability.sum(0))

    assert torch.autograd.gradcheck(measures, (clean, spread))
    assert torch.autograd.gradgradcheck(measures, (clean, spread))


def test_without_noise_who_is_taken_is_the_load():
    choice = gating.choose(torch.tensor([[1.0, 1.0, 1.0]]), None, 2)
    assert choice.experts.tolist() == [[0, 1]]  # the first ones of equals
    assert choice.probability.tolist() == [[1.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("amounts", "wanted"), [([2.0, 2.0], 0.0), ([1.0, 3.0], 0.25), ([4.0], 0.0), ([0.0, 0.0], 0.0)]
)
def test_the_squared_variation(amounts, wanted):
    amounts = torch.tensor(amounts, requires_grad=True)
    found = gating.squared_variation(amounts)
    found.backward()
    assert found.item() == wanted and amounts.grad.isfinite().all()


@pytest.mark.parametrize("spread", [-20.0, -50.0, -90.0, -200.0, -math.inf])
def test_gradients_are_finite_however_little_noise_there_is(spread):
    """Of softplus(-50) the square is 0 in float32, by which a quotient's derivative divides."""
    clean = torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]], requires_grad=True)
    spread = torch.full((2, 3), spread, requires_grad=True)
    choice = gating.choose(clean, spread, 2)
    (choice.weight.sum() + gating.squared_variation(choice.probability.sum(0))).backward()
    assert clean.grad.isfinite().all() and spread.grad.isfinite().all()
    assert choice.probability[0].tolist() == [0.0, 1.0, 1.0]
    deviation = torch.zeros(2, 3, requires_grad=True)
    gating.selection_probability(clean, clean, deviation, 2).sum().backward()
    assert deviation.grad.isfinite().all() and clean.grad.isfinite().all()
