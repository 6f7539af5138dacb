"""The recurrent attention model: its gradient against the exact one, what teaches what, sizes and shapes."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.models import ram, ram_grid
from saccade.models.ram import Options, Ram
from saccade.models.ram_grid import RamGrid
from saccade.models.random_glimpses import RandomGlimpses
from saccade.models.whole import Options as WholeOptions
from saccade.models.whole import Whole
from tiers import every

SMALL = {"patch": 2, "hidden_dim": 6, "glimpse_dim": 4, "glimpses": 3}
MODELS = {
    "ram": lambda **more: Ram(1, 3, Options(**SMALL, **more)),
    "lstm": lambda **more: Ram(1, 3, Options(**SMALL, core="lstm", combine="multiply", **more)),
    "learned deviation": lambda **more: Ram(1, 3, Options(**SMALL, learn_deviation=True, scales=2, **more)),
    "grid": lambda **more: RamGrid(1, 3, ram_grid.Options(**SMALL, rows=2, columns=2, **more)),
    "random": lambda baseline="", samples=1: RandomGlimpses(1, 3, ram.Sizes(**SMALL)),  # which has no reward
}
IMAGES, LABELS = torch.rand(4, 1, 9, 7, generator=torch.Generator().manual_seed(2)), torch.tensor([0, 1, 2, 1])


@pytest.fixture(params=MODELS)
def make(request):
    torch.manual_seed(0)
    return MODELS[request.param]


def test_images_of_any_size_are_answered(make):
    model = make().eval()
    numbers = torch.rand(4, 2, 3, 2)
    path, again = model.look(IMAGES, 2, numbers=numbers), model.look(IMAGES, 2, numbers=numbers)
    assert path.location.shape == (4, 2, 3, 2) and path.logits.shape == (4, 2, 3, 3)
    assert path.log_prob.shape == path.entropy.shape == (4, 2, 2) and path.hidden.shape == (4, 2, 2, 6)
    assert all(torch.equal(one, other) for one, other in zip(path[:-1], again[:-1], strict=True))
    assert path.weights is None
    torch.testing.assert_close(model.look(IMAGES[1:2], 2, numbers=numbers[1:2]).logits[0], path.logits[1])
    assert path.location.abs().max() <= 1 and not path.location[:, :, 0].any()  # the first is the middle
    assert model(torch.rand(2, 1, 30, 50)).shape == (2, 3)
    torch.testing.assert_close(model(IMAGES), model.look(IMAGES, draw=False).logits[:, 0, -1])
    model.train()
    first = model.look(IMAGES, 2).location[:, :, 0]
    assert first.any() and first.abs().max() <= 0.1


def test_only_the_policy_learns_by_reward_and_all_else_by_the_label(make):
    model = make(baseline="learned", samples=2)
    model.cost(IMAGES, LABELS, 0.5).backward()
    moved = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    every = {name for name, _ in model.named_parameters()}
    policy = {name for name in every if name.startswith(("policy.", "reinforce."))}
    assert every - policy <= moved
    assert moved >= policy or isinstance(model, RandomGlimpses)
    torch.manual_seed(1)
    rollouts = 2 if model.reinforce else 1
    path = model.look(IMAGES, rollouts, progress=0.5)
    torch.manual_seed(1)
    cost = model.cost(IMAGES, LABELS, 0.5)
    wanted = F.cross_entropy(path.logits[:, :, -1].flatten(0, 1), LABELS.repeat_interleave(rollouts))
    torch.testing.assert_close(cost, wanted)  # the number is the label's; the reward is in the gradient alone


def test_the_policys_gradient_is_exact_on_a_tiny_grid():
    """Two choices of four cells: the mean over all sixteen paths, each weighed by its probability, is exact.

    The loss is the sum over glimpses and the mean over the batch of minus the reward.
    """
    torch.manual_seed(3)
    options = ram_grid.Options(**SMALL, rows=2, columns=2, samples=1, baseline="moving-average")
    model = RamGrid(1, 3, options).double().eval()  # whose first place is the middle, and whose average stays
    for parameter in [*model.glimpse.parameters(), *model.core.parameters()]:
        parameter.data *= 3  # so that the answer depends on the path
    images = IMAGES.double()
    weights = list(model.policy.parameters())
    estimated, expected = [torch.zeros_like(weight) for weight in weights], torch.zeros((), dtype=torch.float64)
    for cells in itertools.product(range(4), repeat=2):
        model.policy.forward = forced(model.policy, cells)
        path = model.look(images, 1, draw=False)
        probability = path.log_prob.sum(-1).exp()[:, 0]
        reward = (path.logits[:, 0, -1].argmax(-1) == LABELS).double()
        expected = expected - (probability * reward).mean()
        model.look, kept = (lambda *_, path=path, **__: path), model.look
        for number in range(len(images)):  # of one image, so that each path is weighed by its own probability
            parts = {name: getattr(path, name)[number : number + 1] for name in path._fields[:-1]}
            one = path._replace(**parts)
            model.look = lambda *_, one=one, **__: one
            cost = model.cost(images[number : number + 1], LABELS[number : number + 1])
            grads = torch.autograd.grad(cost, weights, retain_graph=True)
            for total, grad in zip(estimated, grads, strict=True):
                total += probability[number].detach() * grad / len(images)
        model.look = kept
    for found, true in zip(estimated, torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(found, true)
        assert true.abs().max() > 1e-4


def forced(policy, cells):
    """A policy that chooses these cells, one after another."""
    left = iter(cells)

    def forward(hidden, progress=1.0, numbers=None):
        cell = next(left)
        below = policy.probabilities(hidden).detach().flatten(1).cumsum(-1)
        before = torch.zeros(len(hidden), dtype=below.dtype) if cell == 0 else below[:, cell - 1]
        inside = (before + below[:, cell]) / 2 / below[:, -1]
        return type(policy).forward(policy, hidden, progress, torch.stack([inside, inside], -1))

    return forward


def test_the_reward_is_charged_to_every_glimpse():
    model = MODELS["grid"](samples=2)
    path = model.look(IMAGES, 2)
    grad = torch.autograd.grad(model_cost(model, path), path.log_prob)[0]
    right = (path.logits[:, :, -1].argmax(-1) == LABELS[:, None]).float()
    surplus = -(right - right.flip(1))  # of two rollouts, each is compared with the other
    torch.testing.assert_close(grad, (surplus[..., None] / 8).expand(4, 2, 2))


def model_cost(model, path):
    model.look = lambda *_, **__: path
    return model.cost(IMAGES, LABELS)


def test_one_glimpse_chooses_nothing():
    model = Ram(1, 3, Options(**{**SMALL, "glimpses": 1}))
    assert model.look(IMAGES).log_prob.shape == (4, 1, 0)
    model.cost(IMAGES, LABELS).backward()
    assert model.policy.mean.weight.grad is None


@pytest.mark.parametrize("network", ["cnn", "mlp"])
def test_a_network_that_sees_everything_goes_nowhere(network):
    model = Whole(1, 3, WholeOptions(network=network, channels=2, pooled=3, hidden_dim=5))
    path = model.look(IMAGES, 4)
    assert path.location.shape == (4, 4, 0, 2) and path.logits.shape == (4, 4, 1, 3)
    torch.testing.assert_close(path.logits[:, 2, 0], model(IMAGES))
    torch.testing.assert_close(model.cost(IMAGES, LABELS), F.cross_entropy(model(IMAGES), LABELS))


@every(
    ("options", "said"),
    [
        ({"patch": 3, "scales": 2}, "--patch: expected an even number"),
        ({"patch": 1024, "scales": 4}, "--patch: expected at most 512 where --scales is 4, got 1024"),
        ({"learn_deviation": True, "last_deviation": 0.1}, "--last-deviation: expected none, got 0.1 with"),
        ({"glimpses": 0}, "--glimpses: expected a number from 1"),
        ({"samples": 1}, "--samples: expected a number from 2"),
        ({"deviation": 0.0}, "--deviation: expected a number from 0.001"),
        ({"last_deviation": 3.0}, "--last-deviation: expected a number"),
        ({"entropy_bonus": -1.0}, "--entropy-bonus: expected"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, said):
    with pytest.raises(ArgumentError, match=said):
        Options(**options)
    with pytest.raises(ArgumentError, match="--rows"):
        ram_grid.Options(rows=0)
