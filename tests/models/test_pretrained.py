"""A frozen network with a linear classifier: features computed once, and what is refused."""

import copy

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look import grad_cam
from saccade.models import encoders
from saccade.models.pretrained import Features, Options, Pretrained
from tiny_encoder import WITH_TINY, Tiny


@pytest.fixture(autouse=True)
def library(monkeypatch):
    monkeypatch.setattr(encoders, "BUILDERS", WITH_TINY)


def made(channels=3, resolution=32, **more):
    torch.manual_seed(0)
    return Pretrained(channels, 4, Options(encoder="own:tiny", resolution=resolution, **more))


def started(**more):
    model, network = made(**more), Tiny()
    state = {name: tensor for name, tensor in network.state_dict().items() if not name.startswith("fc")}
    model.start_from(state)
    return model, network


def calls(model, monkeypatch):
    """The numbers of images of all calls of the network."""
    counts = []
    cells = model._built.cells
    monkeypatch.setattr(
        type(model._built), "cells", lambda self, images, size: counts.append(len(images)) or cells(images, size)
    )
    return counts


def test_logits_are_linear_in_the_features_of_the_network():
    model, network = started()
    images = torch.rand(6, 3, 32, 32)
    with torch.no_grad():
        features = network.eval().layer4(network.stem((images - 0.5) / 0.25)).mean((2, 3))
    logits = model.train()(images)
    scaled = (features - features.mean(0)) / (features.var(0, correction=0) + model.norm.eps).sqrt()
    torch.testing.assert_close(logits, scaled @ model.output.weight.T + model.output.bias, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.norm.running_mean, features.mean(0))


def test_only_the_classifier_learns_and_the_network_stays_in_evaluation_mode():
    model, _ = started()
    model.train()
    assert model.training and not any(module.training for module in model.encoder.modules())
    model(torch.rand(6, 3, 32, 32)).square().sum().backward()
    learned = [name for name, parameter in model.named_parameters() if parameter.grad is not None]
    assert learned == ["output.weight", "output.bias"]


def test_features_are_computed_once_and_for_copies_too(monkeypatch):
    model, _ = started()
    counts, images = calls(model, monkeypatch), torch.rand(5, 3, 32, 32)
    first = model.eval()(images)
    assert counts == [1] * 5
    again = copy.deepcopy(model)(images[[4, 0, 0]])
    assert counts == [1] * 5
    torch.testing.assert_close(again, first[[4, 0, 0]])
    model(images.flip(3))
    assert counts == [1] * 10  # mirror images are other images


def test_an_image_has_the_same_features_in_any_batch():
    images = torch.rand(5, 3, 32, 32)
    (one, _), (other, _) = started(), started()
    other.start_from(one.encoder.state_dict())
    other.output.load_state_dict(one.output.state_dict())
    alone = torch.cat([one.eval()(image[None]) for image in images.flip(0)]).flip(0)
    assert torch.equal(alone, torch.cat([other.eval()(images[index : index + 1]) for index in range(5)]))
    assert one.features.get((one._mark_of_weights(), hash(images[2].numpy().tobytes()))) is not None


def test_other_weights_have_other_features():
    model, _ = started()
    images = torch.rand(2, 3, 32, 32)
    before = model.eval()(images)
    with torch.no_grad():
        model.encoder.stem.weight.mul_(2)
    assert not torch.equal(before, model(images))


def test_a_store_is_bounded():
    features = Features(limit=20)
    for number in range(9):
        features.put((0, number), torch.full((10,), float(number)))
    assert [number for number in range(9) if features.get((0, number)) is not None] == [7, 8]


def test_features_of_evaluations_serve_in_training():
    model, _ = started()
    images = torch.rand(3, 3, 32, 32)
    with torch.inference_mode():
        model.eval()(images)
    model.train()(images).sum().backward()
    assert model.output.weight.grad is not None


def test_images_are_scaled_to_the_resolution_and_grey_ones_are_repeated():
    model, network = started(channels=1, resolution=16)
    images = torch.rand(2, 1, 40, 24)
    scaled = torch.nn.functional.interpolate(images, (16, 16), mode="bilinear", antialias=True)
    with torch.no_grad():
        truth = network.eval().layer4(network.stem((scaled.expand(-1, 3, -1, -1) - 0.5) / 0.25)).mean((2, 3))
    torch.testing.assert_close(model._remembered(images), truth)


def test_gradients_reach_pixels_and_the_last_map():
    model, _ = started()
    images = torch.rand(1, 3, 32, 32)
    assert grad_cam(model.eval(), images, torch.tensor([1]), model.last_layer).shape == (1, 4, 4)
    leaf = images.clone().requires_grad_()
    model(leaf)[0, 1].backward()
    assert float(leaf.grad.abs().sum()) > 0


def test_the_classifier_of_the_network_is_left_out():
    assert not [name for name in made().state_dict() if ".fc." in name]


def test_images_of_other_channels_are_refused():
    with pytest.raises(ShapeError, match=r"images: expected shape \(batch, 3, height, width\), got \(2, 1, 8, 8\)"):
        made()(torch.rand(2, 1, 8, 8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "tiny"}, "--encoder: expected torchvision:NAME or timm:NAME or own:NAME, got tiny"),
        ({"layer": "layer3"}, "--layer: expected a module of own:tiny, got layer3; did you mean layer4"),
        ({"layer": "behind"}, "--layer: expected a map .* got an output of shape"),
        ({"resolution": 15}, "--resolution"),
        ({"dropout": 1.0}, "--dropout: expected 0 <= dropout < 1, got 1.0"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(options, message):
    with pytest.raises(ArgumentError, match=message) as error:
        Pretrained(3, 4, Options(**{"encoder": "own:tiny", "resolution": 32, **options}))
    assert "\n" not in str(error.value)


def test_the_usual_network_has_equal_random_weights_in_every_run():
    first, second = (Pretrained(3, 4, Options(resolution=32)).eval() for _ in range(2))
    weights, others = first.encoder.state_dict(), second.encoder.state_dict()
    assert [tuple(tensor.shape) for tensor in weights.values()] == [(32, 3, 8, 8), (32,), (128, 32, 4, 4), (128,)]
    assert all(torch.equal(tensor, others[name]) for name, tensor in weights.items())
    assert first(torch.rand(2, 3, 20, 20)).shape == (2, 4)
