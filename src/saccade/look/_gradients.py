"""Gradients of a class of an image model, by pixels and by channels (Grad-CAM).

Both need no attention and take any model. Neither is an explanation: a gradient is how the logit would change.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from saccade._threads import hooked
from saccade.errors import ArgumentError, ShapeError


def saliency(model: Callable[[Tensor], Tensor], images: Tensor, classes: Tensor) -> Tensor:
    r"""Return how much each pixel of images moves the logit of a class.

    .. math:: S_{i,j} = \sum_c \Big| \frac{\partial f_k}{\partial x_{c,i,j}} \Big|

    The model is called as it is: call `eval` before to turn dropout off. Its parameters get no gradients.

    Args:
        model: from images `(batch, channels, height, width)` to logits `(batch, classes)`.
        images: of any floating type.
        classes: k, the number of a class each, `(batch,)`.

    Returns:
        `(batch, height, width)`, at least 0.

    Raises:
        ShapeError: other shapes.
        ArgumentError: an unknown class, or images of integers.

    Source:
        Simonyan, Vedaldi, Zisserman 2014, "Deep Inside Convolutional Networks", section 3, which takes the largest
        channel instead of the sum.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False))
        >>> with torch.no_grad():
        ...     _ = model[1].weight.copy_(torch.tensor([[1.0, -2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]]))
        >>> saliency(model, torch.zeros(1, 1, 2, 2), torch.tensor([0]))
        tensor([[[1., 2.],
                 [0., 3.]]])
    """
    _check_images(images, classes)
    with torch.inference_mode(mode=False), torch.enable_grad():
        leaf = images.detach().clone().requires_grad_()
        [gradient] = torch.autograd.grad(_chosen(model(leaf), classes), leaf, materialize_grads=True)
    return gradient.abs().sum(1)


def grad_cam(model: nn.Module, images: Tensor, classes: Tensor, layer: str) -> Tensor:
    r"""Return gradient-weighted class activation maps of a layer.

    .. math::
        \alpha_c = \frac{1}{hw} \sum_{i,j} \frac{\partial f_k}{\partial A_{c,i,j}} \qquad
        L_{i,j} = \operatorname{relu}\Big(\sum_c \alpha_c A_{c,i,j}\Big)

    with the layer's output A. If a mean over its positions and a linear map follow the layer, this is the class
    activation map of Zhou et al. (2016). A factor differs, and negative numbers are 0 here.

    Args:
        model: as for `saliency`.
        images: `(batch, channels, height, width)`.
        classes: k, the number of a class each, `(batch,)`.
        layer: name of a module in the model, whose output is `(batch, channels', height', width')`; of several calls
            the last one counts.

    Returns:
        `(batch, height', width')`, at least 0; the size of the layer's map, not of the images.

    Raises:
        ShapeError: other shapes, the layer's output included.
        ArgumentError: an unknown class or layer, or a layer that the model does not call.

    Source:
        Selvaraju et al. 2017, "Grad-CAM: Visual Explanations from Deep Networks via Gradient-based Localization",
        Eq. 1 and 2 (https://arxiv.org/abs/1610.02391).

    Example:
        >>> from saccade.models.cnn import CNN, Options
        >>> model = CNN(3, 5, Options(widths="4,8")).eval()
        >>> grad_cam(model, torch.rand(2, 3, 32, 32), torch.tensor([0, 4]), "stages.1").shape
        torch.Size([2, 8, 8])
    """
    _check_images(images, classes)
    modules, outputs = dict(model.named_modules()), list[Tensor]()
    if layer not in modules or not layer:
        names = ", ".join(name for name in modules if name)
        raise ArgumentError(f"layer: expected the name of a module ({names:.200}), got {layer!r}")
    hook = hooked([modules[layer]], lambda module, args, output: outputs.append(output))
    with torch.inference_mode(mode=False), torch.enable_grad(), hook:
        logit = _chosen(model(images.detach().clone().requires_grad_()), classes)
        if not outputs:
            raise ArgumentError(f"layer: expected a module that the model calls, got {layer}")
        features = outputs[-1]
        if features.ndim != 4 or len(features) != len(images):
            expected = f"an output ({len(images)}, channels, height, width)"
            raise ShapeError(f"layer: expected {expected}, got {tuple(features.shape)} of {layer}")
        [gradient] = torch.autograd.grad(logit, features, materialize_grads=True)
    return activation_map(features, gradient)


def activation_map(features: Tensor, gradient: Tensor) -> Tensor:
    """Return Eq. 1 and 2 of Grad-CAM for features `(batch, channels, ...)`."""
    weights = gradient.mean(tuple(range(2, features.ndim)), keepdim=True)
    return (weights * features).sum(1).relu().detach()


def _check_images(images: Tensor, classes: Tensor) -> None:
    if not images.is_floating_point():
        raise ArgumentError(f"images: expected floating-point numbers, got {images.dtype}; divide them by 255")
    if images.ndim != 4 or classes.shape != images.shape[:1]:
        got = f"{tuple(images.shape)} and {tuple(classes.shape)}"
        raise ShapeError(f"images, classes: expected shapes (batch, channels, height, width) and (batch,), got {got}")


def _chosen(logits: Tensor, classes: Tensor) -> Tensor:
    """Sum of one logit an image. Images do not depend on each other, nor do gradients."""
    if logits.ndim != 2 or len(logits) != len(classes):
        raise ShapeError(f"model: expected logits ({len(classes)}, classes), got {tuple(logits.shape)}")
    if len(classes) and not 0 <= int(classes.min()) <= int(classes.max()) < logits.shape[1]:
        raise ArgumentError(f"classes: expected numbers from 0 to {logits.shape[1] - 1}, got {classes.tolist()}")
    return logits.gather(1, classes.to(logits.device)[:, None]).sum()
