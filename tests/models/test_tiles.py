"""Tiles: a partition of the image, of which what is read alone is encoded; hard, soft and between."""

import itertools

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.tiles import Options, SoftTiles, Tiles, Tiling

SMALL = {"patch": 4, "hidden_dim": 6, "glimpse_dim": 4, "glimpses": 2, "thumbnail": 2, "key_dim": 4}
IMAGES, LABELS = torch.rand(3, 1, 8, 7, generator=torch.Generator().manual_seed(2)), torch.tensor([0, 1, 2])


def hard(**more):
    torch.manual_seed(0)
    return Tiles(1, 3, Options(**(SMALL | more)))


def soft():
    torch.manual_seed(0)
    return SoftTiles(1, 3, Tiling(**SMALL))


class Counted(torch.nn.Module):
    """Counts the tiles that are encoded."""

    def __init__(self, glimpse):
        super().__init__()
        self.glimpse, self.retina, self.count = glimpse, glimpse.retina, 0

    def forward(self, images, location, index=None):
        self.count += location.shape[:-1].numel()
        return self.glimpse(images, location, index)


def test_every_pixel_is_in_one_tile():
    model = hard()
    places = model._centres(IMAGES, 2, 2)
    seen = model.glimpse.retina(IMAGES, places.expand(3, 4, 2))[:, :, 0, 0]
    whole = torch.cat([torch.cat([seen[:, 0], seen[:, 1]], 2), torch.cat([seen[:, 2], seen[:, 3]], 2)], 1)
    assert torch.equal(whole[:, :8, :7], IMAGES[:, 0]) and not whole[:, :, 7:].any()


@pytest.mark.parametrize(("options", "each"), [({}, 1), ({"read": "topk", "k": 3}, 3)])
def test_what_is_read_is_encoded_and_nothing_else(options, each):
    model = hard(**options).eval()
    model.glimpse = Counted(model.glimpse)
    model.look(torch.rand(2, 1, 80, 80), 5 if each == 1 else 1)
    assert 0 < model.glimpse.count <= 2 * 2 * (5 if each == 1 else each)  # those that two eyes read, once


def test_paths_are_of_their_numbers_and_their_tiles_middles():
    model, numbers = hard().eval(), torch.rand(3, 5, 2, 2)
    path, again = (model.look(IMAGES, 5, numbers=numbers) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(path, again, strict=True))
    assert path.location.shape == (3, 5, 2, 2) and path.weights.shape == (3, 5, 2, 2, 2)
    torch.testing.assert_close(path.weights.sum((-1, -2)), torch.ones(3, 5, 2))
    middles = model._centres(IMAGES, 2, 2)
    assert ((path.location[..., None, :] - middles).square().sum(-1).amin(-1) == 0).all()
    assert model(torch.rand(2, 1, 40, 21)).shape == (2, 3)


def test_soft_is_the_expectation_of_the_largest():
    expected, every = soft().eval(), hard(read="topk", k=4).eval()
    every.load_state_dict(expected.state_dict())
    torch.testing.assert_close(every(IMAGES), expected(IMAGES))
    places = expected._centres(IMAGES, 2, 2)
    weights = expected.look(IMAGES).weights[:, 0, 0].flatten(1)
    values = expected.glimpse(IMAGES, places.expand(3, 4, 2))
    state = expected._next((weights[:, None] @ values)[:, 0], (torch.zeros(3, 6),))[0]
    torch.testing.assert_close(expected.look(IMAGES).logits[:, 0, 0], expected.output(state))


def test_the_gradient_of_draws_is_the_exact_one():
    """The mean over all sixteen paths of two draws among four tiles, each weighed by its probability."""
    model = hard(samples=1, baseline="moving-average").double().eval()
    torch.manual_seed(1)
    for parameter in [*model.glimpse.parameters(), *model.core.parameters(), *model.output.parameters()]:
        parameter.data = torch.randn_like(parameter) / 2  # so that the answer depends on the path
    image, label = IMAGES[1:2].double(), LABELS[:1]
    weights = [*model.policy.parameters(), *model.key.parameters()]
    estimated, expected = [torch.zeros_like(weight) for weight in weights], torch.zeros((), dtype=torch.float64)
    look = model.look
    for tiles in itertools.product(range(4), repeat=2):
        numbers = torch.zeros(1, 1, 2, 2, dtype=torch.float64)
        path = look(image, 1, numbers=numbers)
        for step, tile in enumerate(tiles):  # the first's weights depend on nothing, the second's on the first draw
            shares = path.weights[0, 0, step].flatten().cumsum(0)
            inside = (shares[tile] + (shares[tile - 1] if tile else 0)) / 2
            numbers[0, 0, step, 0] = inside
            path = look(image, 1, numbers=numbers)
        probability = path.log_prob.sum().exp()
        expected = expected - probability * (path.logits[0, 0, -1].argmax() == label[0]).double()
        model.look = lambda *_, path=path, **__: path
        grads = torch.autograd.grad(model.cost(image, label), weights, retain_graph=True, allow_unused=True)
        for total, grad in zip(estimated, grads, strict=True):
            total += probability.detach() * (0 if grad is None else grad)
    for found, true in zip(estimated, torch.autograd.grad(expected, weights, allow_unused=True), strict=True):
        torch.testing.assert_close(found, torch.zeros_like(found) if true is None else true)
    assert max(total.abs().max() for total in estimated) > 1e-4


@pytest.mark.parametrize("make", [hard, soft, lambda: hard(read="topk", k=2)])
def test_all_weights_learn(make):
    model = make()
    model.cost(IMAGES, LABELS).backward()
    without = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert without <= {name for name in without if name.startswith("reinforce.")}


@pytest.mark.parametrize(
    ("options", "said"), [({"thumbnail": 9}, "--thumbnail"), ({"k": 3}, "--k"), ({"key_dim": 0}, "--key-dim")]
)
def test_what_means_nothing_is_refused(options, said):
    with pytest.raises(ArgumentError, match=f"^{said}: expected"):
        Options(**({"patch": 8} | options))
