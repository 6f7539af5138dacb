"""Attributions of a prediction to its inputs.

The functions take tensors and callables, so they serve any model. None of them proves that an input was a cause:
`saccade.look.faithful` measures how far the output follows the scores.
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from saccade._definitions.numerics import divide
from saccade.errors import ArgumentError, SaccadeError, ShapeError, pip_install
from saccade.look._gradients import activation_map
from saccade.look._jacobian import differentiable
from saccade.look._records import Recording
from saccade.look._words import merge_words

__all__ = [
    "ablation",
    "flow",
    "gradient_weighted",
    "integrated_gradients",
    "merge_words",
    "rollout",
    "token_grad_cam",
]

Heads = Literal["mean", "max", "min"]
_SCALE = 2**30  # SciPy's capacities are integers of 32 bits


def rollout(weights: Sequence[Tensor] | Recording, *, residual: float = 0.5, heads: Heads = "mean") -> Tensor:
    r"""Return attention of the last layer to the inputs, through all layers.

    .. math::
        \tilde A_l = \operatorname{rows}\big((1 - r) \operatorname{heads}(A_l) + r I\big) \qquad
        R = \tilde A_n \tilde A_{n-1} \cdots \tilde A_1

    where rows divides each row by its sum, and r is the share of the residual connection. Weights of 16 bits are
    multiplied in float32.

    Args:
        weights: of self-attention, `(B, H, L, L)` for each layer, first layer first. A recording gives the weights of
            its records of kind "self", in their order.
        residual: r, from 0 to 1.
        heads: how the heads become one matrix: "mean", "max" or "min".

    Returns:
        `(B, L, L)`, a row for each position of the last layer, of the type of the weights.

    Raises:
        ShapeError: weights of other shapes, or of different ones.
        ArgumentError: no weights, an unknown kind of heads, or a residual outside 0 to 1.

    Source:
        Abnar, Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3: attention rollout, with r = 0.5
        (https://arxiv.org/abs/2005.00928).

    Example:
        >>> layer = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
        >>> rollout([layer, layer])
        tensor([[[1.0000, 0.0000],
                 [0.7500, 0.2500]]])
    """
    layers = _layers(weights)
    kind = torch.result_type(layers[0], 0.5)
    wide = torch.promote_types(kind, torch.float32)
    first, *others = _with_residual([layer.to(wide) for layer in layers], residual, heads)
    for layer in others:
        first = layer @ first
    return first.to(kind)


def flow(
    weights: Sequence[Tensor] | Recording,
    *,
    residual: float = 0.5,
    heads: Heads = "mean",
    rows: Sequence[int] | None = None,
) -> Tensor:
    r"""Return the maximum flow from each position of the last layer to each input.

    .. math::
        F_{ij} = \max_f \sum_k f_{(n,i),(n-1,k)} \quad \text{with} \quad
        0 \le f_{(l,i),(l-1,j)} \le (\tilde A_l)_{ij}

    where f conserves flow at every position between (n, i) and (0, j), and \(\tilde A\) is as for `rollout`. The
    capacities are computed in float64 and rounded to multiples of 2⁻³⁰. An entry of n layers then differs from the
    exact maximum by at most n L² 2⁻³¹ and the rounding of the result to the type of the weights. Time grows with B L²
    flows, for example a second for 20 positions and 4 layers.

    Args:
        weights: as for `rollout`.
        residual: as for `rollout`.
        heads: as for `rollout`.
        rows: positions of the last layer whose rows are computed. None is all.

    Returns:
        `(B, L, L)`, a row for each position of the last layer, from 0 to 1, or `(B, rows, L)`. Rows do not sum to 1.

    Raises:
        ShapeError: as for `rollout`.
        ArgumentError: as for `rollout`, weights that are negative or not finite, and rows outside 0 to L - 1.
        SaccadeError: SciPy is not installed.

    Source:
        Abnar, Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3: attention flow
        (https://arxiv.org/abs/2005.00928).

    Example:
        >>> layer = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
        >>> flow([layer, layer])
        tensor([[[1.0000, 0.0000],
                 [1.0000, 0.5000]]])
    """
    try:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow
    except ImportError as error:
        raise SaccadeError(f"attention flow needs SciPy: {pip_install('explain')}") from error
    layers = _layers(weights)
    if not all(bool(((layer >= 0) & layer.isfinite()).all()) for layer in layers):
        raise ArgumentError("weights: expected finite numbers of at least 0, got others. Pass normalized weights")
    mixed = torch.stack(_with_residual([layer.detach().cpu().double() for layer in layers], residual, heads))
    depth, batch, length, _ = mixed.shape
    sources = range(length) if rows is None else rows
    if not all(0 <= row < length for row in sources):
        raise ArgumentError(f"rows: expected numbers from 0 to {length - 1}, got {list(sources)}")
    flows = torch.zeros(batch, len(sources), length, dtype=torch.float64)
    for example in range(batch):
        capacities = (mixed[:, example] * _SCALE).round().int()
        level, query, key = capacities.nonzero(as_tuple=True)
        upper, lower = (level + 1) * length + query, level * length + key
        graph = coo_array(
            (capacities[level, query, key].numpy(), (upper.numpy(), lower.numpy())), shape=[(depth + 1) * length] * 2
        ).tocsr()
        for index, source in enumerate(sources):
            for sink in range(length):
                flows[example, index, sink] = maximum_flow(graph, depth * length + source, sink).flow_value / _SCALE
    return flows.to(layers[0].device, torch.result_type(layers[0], 0.5))


def gradient_weighted(weights: Sequence[Tensor] | Recording, gradients: Sequence[Tensor]) -> Tensor:
    r"""Return the relevance of each input by attention times gradients.

    .. math::
        \bar A_l = \operatorname{mean}_h \operatorname{relu}(\nabla A_l \odot A_l) \qquad
        R \leftarrow R + \bar A_l R, \quad R = I \text{ before the first layer}

    Args:
        weights: as for `rollout`.
        gradients: of the output of interest by each of the weights, with their shapes. For example
            `torch.autograd.grad(logit, weights)`.

    Returns:
        R `(B, L, L)`, the identity included. The row of the position that a classifier reads is its explanation.

    Raises:
        ShapeError: as for `rollout`, or gradients of other shapes than the weights.
        ArgumentError: no weights, or another number of gradients than of weights.

    Source:
        Chefer, Gur, Wolf 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
        Transformers", Eq. 5 and 6 (https://arxiv.org/abs/2103.15679).

    Example:
        >>> layer = torch.tensor([[[[0.5, 0.5], [0.2, 0.8]]]])
        >>> gradient_weighted([layer], [torch.tensor([[[[2.0, -2.0], [0.0, 1.0]]]])])
        tensor([[[2.0000, 0.0000],
                 [0.0000, 1.8000]]])
    """
    layers = _layers(weights)
    if len(gradients) != len(layers):
        raise ArgumentError(f"gradients: expected one for each of {len(layers)} layers, got {len(gradients)}")
    relevance = _identity(layers[0])
    for layer, gradient in zip(layers, gradients, strict=True):
        if gradient.shape != layer.shape:
            expected, got = tuple(layer.shape), tuple(gradient.shape)
            raise ShapeError(f"gradients: expected {expected}, as the weights, got {got}")
        relevance = relevance + (gradient * layer).relu().mean(1) @ relevance
    return relevance


def token_grad_cam(features: Tensor, gradients: Tensor) -> Tensor:
    r"""Return the class activation map of token features.

    .. math::
        \alpha_d = \frac{1}{L} \sum_i \frac{\partial f}{\partial h_{i,d}} \qquad
        S_i = \operatorname{relu}\Big(\sum_d \alpha_d h_{i,d}\Big)

    Args:
        features: h `(B, L, D)`, the output of a layer.
        gradients: of the output of interest by them, `(B, L, D)`.

    Returns:
        `(B, L)`, at least 0.

    Raises:
        ShapeError: other shapes.

    Source:
        Selvaraju et al. 2017, "Grad-CAM: Visual Explanations from Deep Networks via Gradient-based Localization",
        Eq. 1 and 2, with the L positions in place of pixels (https://arxiv.org/abs/1610.02391).

    Example:
        >>> token_grad_cam(torch.tensor([[[1.0, 2.0], [3.0, 0.0]]]), torch.tensor([[[1.0, -1.0], [1.0, 0.0]]]))
        tensor([[0., 3.]])
    """
    if features.ndim != 3 or gradients.shape != features.shape:
        got = f"{tuple(features.shape)} and {tuple(gradients.shape)}"
        raise ShapeError(f"features, gradients: expected two equal shapes (batch, length, features), got {got}")
    return activation_map(features.mT, gradients.mT)


def integrated_gradients(
    model: Callable[[Tensor], Tensor],
    inputs: Tensor,
    *,
    target: Tensor | int | None = None,
    baseline: Tensor | float = 0.0,
    steps: int = 50,
    batch_size: int | None = None,
) -> Tensor:
    r"""Return integrated gradients of an output, from a baseline to the inputs.

    .. math::
        S_i = (x_i - x'_i) \int_0^1 \frac{\partial f(x' + \alpha (x - x'))}{\partial x_i} \, d\alpha

    Captum computes the integral, by Gauss-Legendre quadrature. The attributions of an example sum to f(x) - f(x'),
    up to the error of the quadrature (completeness). Captum rounds the weights of the quadrature to float32, so results
    in float64 have the relative accuracy of float32, 2⁻²⁴ of each gradient. The model is called as it is: call `eval`
    before to turn dropout off. Its parameters get no gradients.

    Args:
        model: from inputs `(copies, L, ...)` to outputs `(copies,)`, or `(copies, classes)` with a target.
        inputs: x `(B, L, ...)`, of a floating type, for example embeddings.
        target: the class of each example, `(B,)`, or one for all. None if the model returns one number an example.
        baseline: x', a number, or a tensor that broadcasts to the inputs.
        steps: points of the quadrature.
        batch_size: the most copies that the model gets at once, which bounds memory. None is B · steps, all of them.

    Returns:
        Attributions in the shape of the inputs. Sum over the last dimension for one score a token.

    Raises:
        ArgumentError: inputs of integers, an empty batch, or steps or a batch_size below 1.
        ShapeError: a baseline that does not broadcast.
        SaccadeError: captum is not installed.

    Source:
        Sundararajan, Taly, Yan 2017, "Axiomatic Attribution for Deep Networks", Eq. 1
        (https://arxiv.org/abs/1703.01365).

    Example:
        >>> integrated_gradients(lambda x: (x**2).sum((1, 2)), torch.tensor([[[1.0, 2.0], [3.0, 0.0]]]))
        tensor([[[1., 4.],
                 [9., 0.]]])
    """
    if not inputs.is_floating_point():
        raise ArgumentError(f"inputs: expected floating-point numbers, got {inputs.dtype}. Embed them first")
    if len(inputs) == 0:
        raise ArgumentError("inputs: expected at least one example, got an empty batch. Leave the call out")
    if steps < 1:
        raise ArgumentError(f"steps: expected a number above 0, got {steps}")
    if batch_size is not None and batch_size < 1:
        raise ArgumentError(f"batch_size: expected a number above 0, got {batch_size}")
    start = broadcast_baseline(baseline, inputs)
    method = _captum().IntegratedGradients(model)
    size = batch_size or len(inputs) * steps
    options = {"n_steps": steps, "internal_batch_size": size}
    targets = target.split(size) if isinstance(target, Tensor) and target.ndim else repeat(target)
    parts = list[Tensor]()
    with differentiable():
        for part, origin, classes in zip(inputs.split(size), start.split(size), targets, strict=False):
            leaf = part.detach().clone().requires_grad_()
            parts.append(method.attribute(leaf, origin.detach().clone(), target=classes, **options).detach())
    return torch.cat(parts)


def ablation(
    model: Callable[[Tensor], Tensor],
    inputs: Tensor,
    *,
    target: Tensor | int | None = None,
    baseline: Tensor | float = 0.0,
) -> Tensor:
    r"""Return how much an output falls if a position is replaced by a baseline.

    .. math:: S_i = f(x) - f(x \text{ with } x'_i \text{ at } i)

    Captum calls the model once for each position.

    Args:
        model: from inputs `(B, L, ...)` to outputs `(B,)`, or `(B, classes)` with a target.
        inputs: x `(B, L, ...)`, embeddings or ids.
        target: as for `integrated_gradients`.
        baseline: x', a number, for example the id of a mask token, or a tensor that broadcasts to the inputs.

    Returns:
        `(B, L)`, below 0 where the output rises.

    Raises:
        ShapeError: inputs without positions, or a baseline that does not broadcast.
        SaccadeError: captum is not installed.

    Source:
        Zeiler, Fergus 2014, "Visualizing and Understanding Convolutional Networks", section 4.2, which occludes
        patches of an image. Li, Monroe, Jurafsky 2016, "Understanding Neural Networks through Representation Erasure",
        erase words, and divide by f(x) (https://arxiv.org/abs/1612.08220).

    Example:
        >>> ablation(lambda ids: ids.prod(1).float(), torch.tensor([[2, 3, 5]]), baseline=1)
        tensor([[15., 20., 24.]])
    """
    if inputs.ndim < 2:
        raise ShapeError(f"inputs: expected a shape (batch, length, ...), got {tuple(inputs.shape)}")
    start = broadcast_baseline(baseline, inputs)
    positions = torch.arange(inputs.shape[1], device=inputs.device).view(1, -1, *[1] * (inputs.ndim - 2))
    method = _captum().FeatureAblation(model)
    with torch.no_grad():
        result: Tensor = method.attribute(inputs, start, target=target, feature_mask=positions.expand_as(inputs[:1]))
    return result if result.ndim == 2 else result.flatten(2)[..., 0]  # every feature of a position has its score


def broadcast_baseline(baseline: Tensor | float, inputs: Tensor) -> Tensor:
    """Return a baseline in the shape, type and device of the inputs."""
    try:
        return torch.as_tensor(baseline).to(inputs).expand_as(inputs)
    except RuntimeError as error:
        expected, got = tuple(inputs.shape), tuple(torch.as_tensor(baseline).shape)
        raise ShapeError(f"baseline: expected a shape that broadcasts to {expected}, got {got}") from error


def _captum() -> Any:
    try:
        import captum.attr
    except ImportError as error:
        raise SaccadeError(f"these attributions need captum: {pip_install('explain')}") from error
    return captum.attr


def _layers(weights: Sequence[Tensor] | Recording) -> list[Tensor]:
    """Weights of self-attention in each layer, checked."""
    if isinstance(weights, Recording):
        records = [record for record in weights if record.kind == "self"]
        layers = [record.weights for record in records if record.weights is not None]
        if not records or len(layers) < len(records):
            got = f"{len(layers)} with weights of {len(records)}"
            raise ArgumentError(f"weights: expected records of self-attention with weights, got {got}. Record weights")
    else:
        layers = list(weights)
    if not layers:
        raise ArgumentError("weights: expected one tensor a layer, got none. Pass at least one layer")
    shape = tuple(layers[0].shape)
    if len(shape) != 4 or shape[-1] != shape[-2] or any(tuple(layer.shape) != shape for layer in layers):
        got = ", ".join(str(tuple(layer.shape)) for layer in layers)
        raise ShapeError(f"weights: expected equal shapes (batch, heads, length, length), got {got}")
    return layers


def _with_residual(layers: Sequence[Tensor], residual: float, heads: Heads) -> list[Tensor]:
    """Return a matrix `(B, L, L)` for each layer, with the residual connection."""
    if heads not in get_args(Heads):
        raise ArgumentError(f"heads: expected {', '.join(get_args(Heads))}, got {heads!r}")
    if not 0 <= residual <= 1:
        raise ArgumentError(f"residual: expected a number from 0 to 1, got {residual}")
    merges: dict[str, Callable[..., Tensor]] = {"mean": torch.mean, "max": torch.amax, "min": torch.amin}
    merge = merges[heads]
    mixed = [(1 - residual) * merge(layer, 1) + residual * _identity(layer) for layer in layers]
    return [divide(layer, layer.sum(-1, keepdim=True)) for layer in mixed]


def _identity(layer: Tensor) -> Tensor:
    return torch.eye(layer.shape[-1], dtype=layer.dtype, device=layer.device).expand(len(layer), -1, -1)
