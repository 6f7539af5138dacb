"""REINFORCE's gradient against the exact one, and its baselines."""

import itertools

import pytest
import torch

from saccade.models.hard import Options, TextOptions
from saccade.models.reinforce import _DECAY, Reinforce, Samples


def test_the_gradient_is_that_of_the_expected_cost():
    """Two steps of three choices: the mean over all nine paths, each weighed by its probability, is exact."""
    torch.manual_seed(0)
    first, second = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in ((3,), (3, 3)))
    table = torch.randn(3, 3, 2, dtype=torch.float64, requires_grad=True)  # what the two tokens cost after each path
    reinforce = Reinforce(Options(read="reinforce"), 4).double()
    wanted, query = torch.tensor([[5, 6]]), torch.randn(1, 2, 4, dtype=torch.float64)
    expected, estimated = 0.0, [0.0, 0.0, 0.0]
    for i, j in itertools.product(range(3), repeat=2):
        log_prob = torch.stack([first.log_softmax(0)[i], second[i].log_softmax(0)[j]])[None]
        probability = log_prob.sum().exp()
        # the first token is written before the second draw, and cannot depend on it
        losses = torch.stack([table[i, 0, 0], table[i, j, 1]])[None]
        cost = reinforce.cost(losses, Samples(False, [query], [log_prob]), wanted)
        torch.testing.assert_close(cost, losses.mean())
        expected = expected + probability * losses.mean()
        grads = torch.autograd.grad(cost, (first, second, table), allow_unused=True, retain_graph=True)
        estimated = [e + probability.detach() * (0 if g is None else g) for e, g in zip(estimated, grads, strict=True)]
    for found, true in zip(estimated, torch.autograd.grad(expected, (first, second, table)), strict=True):
        torch.testing.assert_close(found, true)


def test_entropy_is_worth_its_bonus():
    reinforce = Reinforce(Options(read="reinforce", entropy_bonus=0.25), 4)
    log_prob, entropy = torch.zeros(1, 3), torch.ones(1, 3, requires_grad=True)
    samples = Samples(True, [torch.zeros(1, 3, 4)], [log_prob], [entropy])
    reinforce.cost(torch.tensor([[1.0, 2.0, 0.0]]), samples, torch.tensor([[5, 5, 0]])).backward()
    torch.testing.assert_close(entropy.grad, torch.tensor([[-0.125, -0.125, 0.0]]))


@pytest.mark.parametrize("baseline", ["learned", "leave-one-out", "moving-average"])
def test_a_rewards_weight_scales_the_gradient_of_draws_alone(baseline):
    def grads(weight):
        torch.manual_seed(0)
        options = Options(read="reinforce", baseline=baseline, samples=2, entropy_bonus=0.25, reward_weight=weight)
        reinforce = Reinforce(options, 4)
        log_prob, entropy = (torch.zeros(2, 3, requires_grad=True) for _ in range(2))
        losses = torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]], requires_grad=True)
        samples = Samples(True, [torch.randn(2, 3, 4)], [log_prob], [entropy])
        reinforce.cost(losses, samples, torch.tensor([[5, 5, 5]])).backward()
        return log_prob.grad, entropy.grad, losses.grad, [part.grad for part in reinforce.parameters()]

    (whole, *rest), (tenth, *same) = grads(1.0), grads(0.1)
    assert bool(whole.abs().sum() > 0)
    torch.testing.assert_close(tenth, 0.1 * whole)
    torch.testing.assert_close(same, rest, rtol=0, atol=0)


def test_a_read_that_is_not_fed_on_changes_its_token_alone():
    reinforce = Reinforce(Options(read="reinforce"), 4, feeds=False)
    for parameter in reinforce.parameters():
        torch.nn.init.zeros_(parameter)
    log_prob = torch.zeros(1, 4, requires_grad=True)
    losses = torch.tensor([[1.0, 10.0, 100.0, 0.0]])
    samples = Samples(False, [torch.zeros(1, 4, 4)], [log_prob])
    reinforce.cost(losses, samples, torch.tensor([[5, 5, 5, 0]])).backward()
    torch.testing.assert_close(log_prob.grad * 3, losses)


def test_leaving_one_out_is_unbiased_too():
    """One step of three choices, drawn twice: the mean over all nine pairs."""
    scores = torch.tensor([0.3, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    costs = torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64)
    reinforce = Reinforce(Options(read="reinforce", baseline="leave-one-out", samples=2), 4)
    total = torch.zeros(3, dtype=torch.float64)
    for pair in itertools.product(range(3), repeat=2):
        chosen = torch.tensor(pair)
        log_prob = scores.log_softmax(0)[chosen][:, None]
        cost = reinforce.cost(
            costs[chosen][:, None], Samples(False, [torch.zeros(2, 1, 4)], [log_prob]), torch.ones(1, 1)
        )
        total += log_prob.sum().exp().detach() * torch.autograd.grad(cost, scores)[0]
    torch.testing.assert_close(total, torch.autograd.grad((scores.softmax(0) * costs).sum(), scores)[0])


def test_what_a_token_cannot_change_is_not_charged_to_its_draw():
    reinforce = Reinforce(Options(read="reinforce"), 4)
    for parameter in reinforce.parameters():
        torch.nn.init.zeros_(parameter)
    log_prob = torch.zeros(1, 4, requires_grad=True)
    losses = torch.tensor([[1.0, 10.0, 100.0, 0.0]])
    cost = reinforce.cost(losses, Samples(False, [torch.zeros(1, 4, 4)], [log_prob]), torch.tensor([[5, 5, 5, 0]]))
    cost.backward()
    torch.testing.assert_close(log_prob.grad * 3, torch.tensor([[111.0, 110.0, 100.0, 0.0]]))


def test_the_baseline_learns_the_mean_cost_to_come():
    torch.manual_seed(0)
    reinforce = Reinforce(Options(read="reinforce"), 2)
    optimizer = torch.optim.Adam(reinforce.parameters(), 0.05)
    query, losses = torch.eye(2)[None], torch.tensor([[3.0, 1.0]])  # (3 + 1) / 2 tokens to come, then 1 / 1
    for _ in range(300):
        optimizer.zero_grad()
        samples = Samples(False, [query], [torch.zeros(1, 2)])
        reinforce.cost(losses, samples, torch.tensor([[5, 5]])).backward()
        optimizer.step()
    torch.testing.assert_close(reinforce.baseline(query)[0, :, 0], torch.tensor([2.0, 1.0]), atol=0.02, rtol=0)


def test_a_moving_average_moves_in_training_alone():
    reinforce = Reinforce(Options(read="reinforce", baseline="moving-average"), 4)
    losses, wanted = torch.tensor([[3.0, 1.0]]), torch.tensor([[5, 5]])
    log_prob = torch.zeros(1, 2, requires_grad=True)
    samples = Samples(False, [torch.zeros(1, 2, 4)], [log_prob])
    reinforce.cost(losses, samples, wanted)
    torch.testing.assert_close(reinforce.average, torch.tensor(0.1 * 5 / 3))  # 4 for two tokens to come, 1 for one
    torch.testing.assert_close(reinforce.state_dict()["average"], reinforce.average)
    reinforce.eval()
    reinforce.average.fill_(1.5)
    reinforce.cost(losses, samples, wanted).backward()
    torch.testing.assert_close(log_prob.grad * 2, torch.tensor([[4 - 2 * 1.5, 1 - 1.5]]))
    assert reinforce.average == 1.5


def test_a_moving_average_of_whole_texts_is_the_papers():
    """b <- 0.9 b + 0.1 log p(y), in the mean over texts that were drawn; each draw has the reward log p(y) - b."""
    options = TextOptions(read="reinforce", baseline="moving-average", charge="whole", soft_share=0.5)
    reinforce = Reinforce(options, 4)
    losses, wanted = torch.tensor([[3.0, 1.0], [2.0, 0.0], [50.0, 50.0]]), torch.tensor([[5, 5], [5, 0], [5, 5]])
    log_prob = torch.zeros(3, 2, requires_grad=True)
    samples = Samples(False, [torch.zeros(3, 2, 4)], [log_prob], soft=torch.tensor([False, False, True]))
    baseline = 0.0
    for _ in range(3):
        log_prob.grad = None
        reinforce.cost(losses, samples, wanted).backward()
        surplus = [[4 - baseline, 4 - baseline], [2 - baseline, 0.0], [0.0, 0.0]]
        torch.testing.assert_close(log_prob.grad * 5, torch.tensor(surplus))
        baseline = 0.9 * baseline + 0.1 * (4 + 2) / 2
    torch.testing.assert_close(reinforce.average, torch.tensor(baseline))


def test_rows_that_read_the_mean_teach_no_baseline():
    following, left = torch.tensor([[4.0, 2.0], [100.0, 50.0]]), torch.tensor([[2.0, 1.0], [2.0, 1.0]])
    soft = torch.tensor([False, True])
    for baseline in ("moving-average", "learned"):
        reinforce = Reinforce(Options(read="reinforce", baseline=baseline, soft_share=0.5), 3).train()
        log_prob = torch.zeros(2, 2, requires_grad=True)
        samples = Samples(False, [torch.zeros(2, 2, 3)], [log_prob], [], soft)
        learned, error = reinforce.charged(following, samples, left)
        learned.sum().backward()
        assert log_prob.grad[0].ne(0).all() and log_prob.grad[1].eq(0).all()
        if error is None:
            assert reinforce.average.item() == pytest.approx(2.0 * (1 - _DECAY))  # six for three things
        else:
            assert error[0].ne(0).all() and error[1].eq(0).all()
