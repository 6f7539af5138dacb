"""Policies: densities and probabilities against torch's distributions, draws by their numbers, gradients."""

import math

import pytest
import torch

from saccade.models.policies import Anywhere, Gaussian, Grid

HIDDEN = torch.randn(7, 5, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("learned", [False, True])
def test_a_gaussian_is_torch_s_before_it_is_taken_back_to_the_image(learned):
    policy, numbers = Gaussian(5, 0.3, 0.1, learned=learned).double(), torch.rand(7, 2, dtype=torch.float64)
    hidden = HIDDEN.double()
    choice = policy(hidden, 0.5, numbers)
    scale = 0.3 if learned else math.sqrt(0.3 * 0.1)
    assert float(policy.deviation(0.5).detach()) == pytest.approx(scale, rel=1e-6)
    mean = policy.mean(hidden).tanh()
    normal = torch.distributions.Normal(mean, policy.deviation(0.5))
    place = mean + policy.deviation(0.5) * torch.special.ndtri(numbers + 2**-25)
    torch.testing.assert_close(choice.location, place.clamp(-1, 1).detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(choice.log_prob, normal.log_prob(place.detach()).sum(-1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(choice.entropy, normal.entropy().sum(-1).expand(7), rtol=1e-5, atol=1e-6)
    found = torch.autograd.grad(choice.log_prob.sum(), list(policy.parameters()))
    true = torch.autograd.grad(normal.log_prob(place.detach()).sum(), list(policy.parameters()))
    for one, other in zip(found, true, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert not choice.location.requires_grad


def test_gaussian_draws_have_its_mean_and_deviation():
    policy = Gaussian(5, 0.1, 0.1)
    hidden = torch.zeros(20_000, 5)
    choice = policy(hidden, numbers=torch.rand(20_000, 2))
    mean = policy.mean.bias.tanh()
    error = 4 * 0.1 / math.sqrt(20_000)
    assert (choice.location.mean(0) - mean).abs().max() < error
    assert (choice.location.std(0) - 0.1).abs().max() < error
    ends = policy(hidden[:2], numbers=torch.tensor([[0.0, 0.0], [1 - 2**-24, 1 - 2**-24]]))
    assert ends.log_prob.isfinite().all() and ends.location.isfinite().all()
    torch.testing.assert_close(policy(hidden[:1]).location[0], mean.detach())


def test_a_grid_is_a_softmax_over_the_middles_of_cells():
    policy = Grid(5, 2, 3)
    chosen = policy(HIDDEN)
    shares = policy.probabilities(HIDDEN)
    torch.testing.assert_close(shares.sum((1, 2)), torch.ones(7))
    row, column = divmod(int(shares[0].argmax()), 3)
    torch.testing.assert_close(chosen.location[0], torch.tensor([(2 * column + 1) / 3 - 1, (2 * row + 1) / 2 - 1]))
    known = torch.distributions.Categorical(shares.flatten(1))
    torch.testing.assert_close(chosen.entropy, known.entropy())
    torch.testing.assert_close(chosen.log_prob, shares.flatten(1).max(-1).values.log())


def test_a_grid_s_draws_are_as_often_as_their_probabilities():
    policy, count = Grid(5, 2, 2), 20_000
    hidden = HIDDEN[:1].expand(count, 5)
    drawn = policy(hidden, numbers=torch.rand(count, 2)).location
    for place, share in zip(policy.centres, policy.probabilities(HIDDEN[:1]).flatten(), strict=True):
        found = float((drawn == place).all(-1).float().mean())
        assert abs(found - float(share.detach())) < 4 * math.sqrt(0.25 / count)
    ends = policy(HIDDEN[:2], numbers=torch.tensor([[0.0, 0.0], [1 - 2**-24, 0.5]]))
    assert torch.equal(ends.location, policy.centres[[0, 3]])


def test_anywhere_is_anywhere_and_learns_nothing():
    numbers = torch.rand(7, 2)
    choice = Anywhere()(HIDDEN, 0.3, numbers)
    torch.testing.assert_close(choice.location, 2 * numbers - 1)
    assert choice.entropy.tolist() == (-choice.log_prob).tolist() == pytest.approx([math.log(4)] * len(HIDDEN))
    assert not list(Anywhere().parameters())
    assert not Anywhere()(HIDDEN).location.any()


@pytest.mark.parametrize("policy", [Gaussian(5, 0.05, 0.05), Anywhere()])
def test_places_are_float32_beside_half_precision(policy):
    numbers = torch.rand(7, 2)
    with torch.autocast("cpu", torch.bfloat16):
        choice = policy(HIDDEN.bfloat16(), numbers=numbers)
    assert choice.location.dtype == choice.log_prob.dtype == torch.float32
    if isinstance(policy, Gaussian):  # the number that was drawn, to more digits than half precision has
        drawn = torch.distributions.Normal(0.0, 0.05).icdf(numbers.double() + 2**-25).square().sum(-1)
        expected = -drawn / (2 * 0.05**2) - 2 * math.log(0.05 * math.sqrt(2 * math.pi))
        torch.testing.assert_close(choice.log_prob.double(), expected, rtol=1e-4, atol=1e-4)
