"""The deep recurrent attention model: its gradient against the exact one, what reaches what, strings and classes."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.models.dram import Dram, Options
from saccade.models.policies import Choice, Grid
from saccade.models.ram import Options as RamOptions
from saccade.models.ram import Ram
from saccade.models.strings import NOTHING

SMALL = {"patch": 2, "hidden_dim": 6, "glimpse_dim": 4, "glimpses": 2, "coarse": 4, "context_channels": 2}
IMAGES = torch.rand(4, 1, 9, 7, generator=torch.Generator().manual_seed(2))
STRINGS = torch.tensor([[0, 1], [1, 2], [0, 0], [1, 1]])  # of two symbols, and 2 that ends one


@pytest.fixture(params=["lstm", "rnn"])
def make(request):
    torch.manual_seed(0)
    return lambda longest=1, **more: Dram(1, 3, Options(**SMALL, core=request.param, **more), longest)


def test_the_image_chooses_the_first_place(make):
    model = make(2).eval()
    numbers = torch.rand(4, 3, 4, 2)
    path, again = model.look(IMAGES, 3, numbers=numbers), model.look(IMAGES, 3, numbers=numbers)
    assert path.location.shape == (4, 3, 4, 2) and path.logits.shape == (4, 3, 4, 3)
    assert path.log_prob.shape == path.entropy.shape == (4, 3, 4) and path.hidden.shape == (4, 3, 4, 6)
    assert all(torch.equal(one, other) for one, other in zip(path[:-1], again[:-1], strict=True))
    torch.testing.assert_close(model.look(IMAGES[1:2], 3, numbers=numbers[1:2]).logits[0], path.logits[1])
    likeliest = model.look(IMAGES, draw=False).location[:, 0, 0]
    assert len({tuple(place) for place in likeliest.tolist()}) == 4
    assert model(torch.rand(2, 1, 30, 50)).shape == (2, 2, 3) and make()(torch.rand(2, 1, 1, 3)).shape == (2, 3)


def test_the_context_reaches_no_answer_but_by_where_is_looked(make):
    model = make(2).eval()
    before = model.look(IMAGES, draw=False)
    fixed = before.location.flatten(0, 1).unbind(1)
    for parameter in [*model.context.parameters(), *model.upper.parameters()]:
        parameter.data.add_(0.5)
    assert not torch.equal(model.look(IMAGES, draw=False).location, before.location)
    left, known = iter(fixed), model.policy.forward
    model.policy.forward = lambda *given: known(*given)._replace(location=next(left))
    assert torch.equal(model.look(IMAGES, draw=False).logits, before.logits)


def test_labels_teach_what_is_seen_and_rewards_teach_where(make):
    model = make(2, baseline="learned", samples=2, entropy_bonus=0.1, learn_deviation=True)
    torch.manual_seed(1)
    model.cost(IMAGES, STRINGS, 0.5).backward()
    assert [name for name, one in model.named_parameters() if one.grad is None] == []
    torch.manual_seed(1)
    path = model.look(IMAGES, 2, progress=0.5)
    wanted, logits = STRINGS.repeat_interleave(2, 0), path.logits[:, :, 1::2].flatten(0, 1)
    each = F.cross_entropy(logits.transpose(1, 2), wanted, reduction="none")
    seen = {name for name, _ in model.named_parameters() if name.startswith(("glimpse.", "core.", "output."))}
    parameters = dict(model.named_parameters())
    names = sorted(seen)
    for name, grad in zip(names, torch.autograd.grad(each.sum(1).mean(), [parameters[n] for n in names]), strict=True):
        torch.testing.assert_close(parameters[name].grad, grad)  # the sum over symbols, and no reward


def test_behind_the_end_nothing_is_wanted(make):
    model = make(3, entropy_bonus=0.1, learn_deviation=True)
    labels = torch.tensor([[2, NOTHING, NOTHING]] * 4)
    torch.manual_seed(1)
    path = model.look(IMAGES, 4)
    path.log_prob.retain_grad()
    model.look = lambda *_, **__: path
    model.cost(IMAGES, labels).backward()
    assert not path.log_prob.grad[:, :, 2:].any()
    wanted = F.cross_entropy(path.logits[:, :, 1].flatten(0, 1), labels[:, 0].repeat_interleave(4))
    torch.testing.assert_close(model.cost(IMAGES, labels), wanted)


class Forced(Grid):
    """Four cells, of which given ones are chosen, one after another."""

    def forward(self, hidden, progress=1.0, numbers=None):
        log_probs, cell = self.scores(hidden).log_softmax(-1), next(self.cells)
        return Choice(self.centres[cell].expand(len(hidden), 2), log_probs[:, cell], torch.zeros(len(hidden)))


def test_the_gradient_of_strings_is_the_exact_one_over_all_paths():
    """A glimpse for each of two symbols: the mean over all sixteen paths, each weighed by its probability, is exact."""
    torch.manual_seed(3)
    options = Options(**{**SMALL, "glimpses": 1, "samples": 1, "baseline": "moving-average"})
    model = Dram(1, 3, options, 2).double().eval()
    model.policy = Forced(6, 2, 2).double()
    for name, parameter in model.named_parameters():
        parameter.data *= 4 if not name.startswith(("policy", "reinforce")) else 1  # so that the answer depends on it
    images, model.policy.cells = IMAGES[:2].double(), itertools.repeat(1)
    wanted = model.look(images, 1).logits[:, 0].argmax(-1)  # what one of the paths says
    chooses = [name for name, _ in model.named_parameters() if name.startswith(("policy", "upper", "context"))]
    weights = [dict(model.named_parameters())[name] for name in chooses]
    estimated, expected = [torch.zeros_like(weight) for weight in weights], torch.zeros((), dtype=torch.float64)
    for cells in itertools.product(range(4), repeat=2):
        for number in range(len(images)):
            model.policy.cells = iter(cells)
            path = Dram.look(model, images[number : number + 1], 1)
            right = (path.logits[0, 0].argmax(-1) == wanted[number]).double().cumprod(0)
            probability = path.log_prob.sum().exp()
            expected = expected - probability * right.sum() / len(images)
            model.look = lambda *_, path=path, **__: path
            grads = torch.autograd.grad(
                model.cost(images[number : number + 1], wanted[number : number + 1]), weights, retain_graph=True
            )
            for total, grad in zip(estimated, grads, strict=True):
                total += probability.detach() * grad / len(images)
    for found, true in zip(estimated, torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(found, true)
    assert max(float(each.abs().max()) for each in estimated) > 1e-4


@pytest.mark.parametrize(("kind", "choices"), [(Dram, 4), (Ram, 3)])
def test_a_choice_is_charged_with_the_symbols_that_it_can_change(kind, choices):
    torch.manual_seed(0)
    options = Options(**SMALL, samples=2) if kind is Dram else RamOptions(patch=2, hidden_dim=6, glimpses=2, samples=2)
    model = kind(1, 3, options, 2)
    path, says = model.look(IMAGES, 2), torch.tensor([[[0, 1], [0, 0]], [[0, 0], [1, 1]]])
    says = torch.cat([says, says])  # of two rollouts both symbols, or the first alone, or none before a mistake
    logits = F.one_hot(says.repeat_interleave(2, 2), 3).float()
    path = path._replace(logits=logits.requires_grad_())
    model.look = lambda *_, **__: path
    grad = torch.autograd.grad(model.cost(IMAGES, torch.tensor([[0, 1], [0, 2], [0, 1], [0, 2]])), path.log_prob)[0]
    both, first = [2.0, 2, 1, 1][-choices:], [1.0, 1, 0, 0][-choices:]
    one = torch.tensor([both, first]) - torch.tensor([first, both])
    two = torch.tensor([first, [0.0] * choices]) - torch.tensor([[0.0] * choices, first])
    two[1, -2:] = 0  # behind a mistake nothing is charged
    torch.testing.assert_close(grad, -torch.stack([one, two, one, two]) / 8)


def test_sizes_that_mean_nothing_are_refused():
    with pytest.raises(ArgumentError, match="--coarse: expected a number from 4"):
        Options(coarse=3)
    with pytest.raises(ArgumentError, match="--context-channels: expected a number from 1"):
        Options(context_channels=0)
