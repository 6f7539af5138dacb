import pytest
import torch
from torch import nn

from saccade.errors import ArgumentError, ShapeError
from saccade.look import grad_cam, saliency
from saccade.models.cnn import CNN, Options
from saccade.models.cnn_attention import CNNAttention
from saccade.models.cnn_attention import Options as AttentionOptions


def networks():
    yield CNN(3, 5, Options(widths="4,6")).eval(), "stages.1"
    yield CNNAttention(3, 5, AttentionOptions(widths="4,6", attention_dim=4, attention_gain=1.0)).eval(), "across"


def test_a_map_is_the_jacobian_summed_over_channels():
    for model, _ in networks():
        images, classes = torch.rand(2, 3, 9, 11), torch.tensor([4, 1])
        jacobian = torch.autograd.functional.jacobian(model, images)
        expected = torch.stack([jacobian[place, label, place] for place, label in enumerate(classes)]).abs().sum(1)
        assert torch.allclose(saliency(model, images, classes), expected, atol=1e-6)


def test_the_last_layer_makes_what_classes_are_the_mean_of():
    for stage in (1, 2, None):
        options = AttentionOptions(widths="4,6", attention_dim=4, attention_gain=1.0, attention_stage=stage or 1)
        model = (CNNAttention(3, 5, options) if stage else CNN(3, 5, Options(widths="4,6"))).eval()
        outputs = list[torch.Tensor]()
        model.get_submodule(model.last_layer).register_forward_hook(lambda *seen, own=outputs: own.append(seen[2]))
        assert torch.equal(model.features(torch.rand(2, 3, 9, 11)), outputs[0])


def test_grad_cam_is_what_its_equations_say():
    """A layer and the map of a class worked out by hand: weights by Eq. 1, their sum by Eq. 2."""
    layer = nn.Conv2d(1, 2, 1, bias=False)
    head = nn.Linear(8, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, -1.0]).view(2, 1, 1, 1))
        head.weight.copy_(torch.tensor([[4.0, 0, 0, 0, 0, 0, 0, 8.0], [-4.0, 0, 0, 0, 0, 0, 0, 4.0]]))
    model = nn.Sequential(layer, nn.Flatten(), head)
    images = torch.tensor([[[[1.0, 2.0], [-3.0, 4.0]]]])
    # activations x and -x; weights 4 / 4 = 1 and 8 / 4 = 2: 1 · x - 2 · x = -x
    assert grad_cam(model, images, torch.tensor([0]), "0").tolist() == [[[0.0, 0.0], [3.0, 0.0]]]
    # weights -1 and 1: -x - x
    assert grad_cam(model, images, torch.tensor([1]), "0").tolist() == [[[0.0, 0.0], [6.0, 0.0]]]


def test_before_a_mean_it_is_the_class_activation_map():
    model, images = CNN(3, 5, Options(widths="4,6")).eval(), torch.rand(2, 3, 32, 24)
    classes, found = torch.tensor([2, 0]), model.features(images)
    maps = torch.einsum("bchw,bc->bhw", found, model.output.weight[classes]) / found[0, 0].numel()
    assert torch.allclose(grad_cam(model, images, classes, "stages.1"), maps.relu(), atol=1e-6)


def test_captum_finds_the_same():
    captum = pytest.importorskip("captum.attr", reason="captum is not installed")
    for model, layer in networks():
        images, classes = torch.rand(2, 3, 16, 24), torch.tensor([4, 1])
        module = dict(model.named_modules())[layer]
        expected = captum.LayerGradCam(model, module).attribute(images, classes, relu_attributions=True)
        assert torch.allclose(grad_cam(model, images, classes, layer), expected[:, 0], atol=1e-6)
        pixels = captum.Saliency(model).attribute(images.clone().requires_grad_(), classes, abs=True)
        assert torch.allclose(saliency(model, images, classes), pixels.sum(1), atol=1e-6)


def test_images_do_not_see_each_other():
    for model, layer in networks():
        images, classes = torch.rand(3, 3, 16, 16), torch.tensor([0, 1, 2])
        together, alone = (grad_cam(model, images[place], classes[place], layer) for place in (slice(None), slice(1)))
        assert torch.allclose(together[:1], alone, atol=1e-6)


def test_nothing_is_left_behind():
    for model, layer in networks():
        images, label = torch.rand(1, 3, 16, 16), torch.tensor([0])
        with torch.no_grad():
            first, second = saliency(model, images, label), grad_cam(model, images, label, layer)
        assert not first.requires_grad
        assert not second.requires_grad
        assert not images.requires_grad
        assert all(parameter.grad is None for parameter in model.parameters())
        assert not any(module._forward_hooks for module in model.modules())


def test_gradients_are_the_same_in_inference_mode():
    (model, layer), classes = next(networks()), torch.tensor([4, 1])
    with torch.inference_mode():
        images = torch.rand(2, 3, 9, 11)
        inside = saliency(model, images, classes), grad_cam(model, images, classes, layer)
    outside = saliency(model, images, classes), grad_cam(model, images.clone(), classes, layer)
    assert all(torch.equal(*pair) for pair in zip(inside, outside, strict=True)) and inside[0].any()


def test_what_a_class_does_not_hang_on_is_zero():
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Flatten(), nn.Linear(8, 3))
    nn.init.zeros_(model[2].weight)
    images = torch.rand(1, 1, 2, 2)
    assert saliency(model, images, torch.tensor([1])).abs().sum() == 0
    assert grad_cam(model, images, torch.tensor([1]), "0").abs().sum() == 0


def test_what_means_nothing_is_refused():
    model, images = CNN(3, 5, Options(widths="4,6")).eval(), torch.rand(2, 3, 16, 16)
    classes = torch.tensor([0, 1])
    for wrong in (images[0], images[:, :, 0]):
        with pytest.raises(ShapeError, match="images, classes: expected shapes"):
            saliency(model, wrong, classes)
    with pytest.raises(ShapeError, match="images, classes: expected shapes"):
        saliency(model, images, classes[:1])
    with pytest.raises(ArgumentError, match="images: expected floating-point numbers, got torch.uint8"):
        grad_cam(model, (images * 255).byte(), classes, "stem")
    for label in (-1, 5):
        with pytest.raises(ArgumentError, match="classes: expected numbers from 0 to 4"):
            saliency(model, images, torch.tensor([0, label]))
    for layer in ("", "stage.7"):
        with pytest.raises(ArgumentError, match=r"layer: expected the name of a module \(stem, .*\), got"):
            grad_cam(model, images, classes, layer)
    with pytest.raises(ShapeError, match=r"layer: expected an output \(2, channels, height, width\), got \(2, 5\)"):
        grad_cam(model, images, classes, "output")
    with pytest.raises(ArgumentError, match="layer: expected a module that the model calls, got down"):
        grad_cam(model, images, classes, "down")
    with pytest.raises(ShapeError, match=r"model: expected logits \(2, classes\)"):
        saliency(nn.Identity(), images, classes)
