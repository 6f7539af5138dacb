"""Faithfulness of attributions: does the output follow the scores of its inputs?"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.attribute import broadcast_baseline

_FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)
_DRAWS = 5  # orders of random scores, whose mean is an example's


class Mean(NamedTuple):
    """Mean over examples, and its standard error; NaN for one example.

    >>> Mean(0.5, 0.1).mean
    0.5
    """

    mean: float
    error: float


class Faithfulness(NamedTuple):
    """Measures of faithfulness by the name of the scores.

    Args:
        comprehensiveness: fall of the output without the highest scored inputs. Higher is better.
        sufficiency: fall of the output with these inputs alone. Lower is better.
        deletion: area under the output as inputs go, highest scores first. Lower is better.
        insertion: area under the output as inputs come. Higher is better.
    """

    comprehensiveness: dict[str, Mean]
    sufficiency: dict[str, Mean]
    deletion: dict[str, Mean]
    insertion: dict[str, Mean]


def faithful(
    model: Callable[[Tensor], Tensor],
    inputs: Tensor,
    scores: Tensor,
    *,
    baseline: Tensor | float = 0.0,
    lengths: Tensor | None = None,
    steps: int = 20,
    compared: Mapping[str, Tensor] | None = None,
    seed: int = 0,
) -> Faithfulness:
    r"""Measure how far a probability follows the scores of its inputs.

    .. math::
        \text{comprehensiveness} = \operatorname{mean}_q \big(p(x) - p(x \setminus r_q)\big) \qquad
        \text{sufficiency} = \operatorname{mean}_q \big(p(x) - p(r_q)\big)

    .. math::
        \text{deletion} = \int_0^1 p(x \setminus r_q) \, dq \qquad \text{insertion} = \int_0^1 p(r_q) \, dq

    with the share q of inputs of the highest scores, \(r_q\). The means are over 1, 5, 10, 20 and 50% of the inputs,
    rounded up. The integrals are computed by the trapezoidal rule. An input that goes is replaced by the baseline. Such
    inputs may be unlike the data that the model was trained on, so compare with the random scores beside.

    Args:
        model: from inputs `(B, L, ...)` to the probability of the target, `(B,)`. It runs without gradients, and may
            be any callable. Call `eval` before.
        inputs: x `(B, L, ...)`, embeddings or ids.
        scores: of each position, `(B, L)`. Equal scores are taken from left to right.
        baseline: as for `saccade.look.attribute.ablation`.
        lengths: `(B,)`, if inputs are padded. Positions from there on stay as they are.
        steps: points of the integrals after the first, at most one a position.
        compared: further scores by name, `(B, L)` each, for example `{"attention": weights}`.
        seed: of the random scores, which are the mean of 5 orders.

    Returns:
        Each measure by the name of the scores, with its standard error over the B examples.

    Raises:
        ShapeError: scores or lengths of other shapes, or a model that returns another shape.
        ArgumentError: no example, steps below 1, lengths outside 1 to L, scores that are NaN, or a name that is taken.

    Source:
        DeYoung et al. 2020, "ERASER: A Benchmark to Evaluate Rationalized NLP Models", Eq. 1 and 2, with the five
        shares of its section 4 (https://arxiv.org/abs/1911.03429). The mean is that of the authors' code. Eq. 3 of the
        paper adds the share q = 0 to the sum, and divides it by 6.
        Petsiuk, Das, Saenko 2018, "RISE: Randomized Input Sampling for Explanation of Black-box Models", section 4,
        for deletion and insertion (https://arxiv.org/abs/1806.07421).

    Example:
        >>> inputs = torch.tensor([[0.1, 0.5, 0.0, 0.2], [0.4, 0.0, 0.1, 0.1]])
        >>> result = faithful(lambda x: x.sum(1), inputs, inputs, compared={"reverse": -inputs})
        >>> {name: round(mean, 3) for name, (mean, error) in result.deletion.items()}
        {'scores': 0.175, 'random': 0.345, 'reverse': 0.525}
    """
    if inputs.ndim < 2 or not inputs.shape[0] or not inputs.shape[1]:
        raise ShapeError(f"inputs: expected (batch, length, ...) of at least one position, got {tuple(inputs.shape)}")
    if steps < 1:
        raise ArgumentError(f"steps: expected a number above 0, got {steps}")
    shape, generator = inputs.shape[:2], torch.Generator().manual_seed(seed)
    sizes = _sizes(lengths, inputs)
    random = [torch.rand(shape, generator=generator) for _ in range(_DRAWS)]
    named = {"scores": [scores], "random": random}
    for name, values in (compared or {}).items():
        if name in named:
            raise ArgumentError(f"compared: expected names other than scores and random, got {name}")
        named[name] = [values]
    start = broadcast_baseline(baseline, inputs)
    with torch.no_grad():
        measured = dict[str, Tensor]()
        for name, draws in named.items():
            ranks = [_ranks(name, values, shape, sizes) for values in draws]
            rows = [_measure(model, inputs, start, order, sizes, steps) for order in ranks]
            measured[name] = torch.stack(rows).mean(0)
    return Faithfulness(*({name: _mean(rows[part]) for name, rows in measured.items()} for part in range(4)))


def _sizes(lengths: Tensor | None, inputs: Tensor) -> Tensor:
    """Number of positions of each example, `(B,)`."""
    batch, length = inputs.shape[:2]
    if lengths is None:
        return torch.full((batch,), length, device=inputs.device)
    if lengths.shape != (batch,):
        raise ShapeError(f"lengths: expected ({batch},), got {tuple(lengths.shape)}")
    if not 1 <= int(lengths.min()) <= int(lengths.max()) <= length:
        raise ArgumentError(f"lengths: expected numbers from 1 to {length}, got {lengths.tolist()}")
    return lengths.to(inputs.device)


def _ranks(name: str, scores: Tensor, shape: torch.Size, sizes: Tensor) -> Tensor:
    """Place of each position by falling score, `(B, L)`, padding last."""
    argument = name if name == "scores" else f"compared[{name!r}]"
    if scores.shape != shape:
        raise ShapeError(f"{argument}: expected {tuple(shape)}, as the inputs, got {tuple(scores.shape)}")
    values = scores.detach().to(sizes.device, torch.float64)
    padding = torch.arange(shape[1], device=sizes.device) >= sizes[:, None]
    if bool((values.isnan() & ~padding).any()):
        raise ArgumentError(f"{argument}: expected numbers, got NaN")
    order = values.masked_fill(padding, -torch.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1)


def _measure(
    model: Callable[[Tensor], Tensor], inputs: Tensor, start: Tensor, ranks: Tensor, sizes: Tensor, steps: int
) -> Tensor:
    """The four measures of each example, `(4, B)`, float64 on the CPU."""

    def output(removed: Tensor) -> Tensor:
        mask = (removed & (ranks < sizes[:, None])).view(*ranks.shape, *[1] * (inputs.ndim - 2))
        probabilities = model(torch.where(mask, start, inputs))
        if probabilities.shape != sizes.shape:
            raise ShapeError(f"model: expected one probability an example, got {tuple(probabilities.shape)}")
        return probabilities.double()

    shares = torch.linspace(0, 1, min(steps, inputs.shape[1]) + 1, dtype=torch.float64, device=sizes.device)
    counts = (shares[:, None] * sizes + 1e-9).floor()
    without = torch.stack([output(ranks < count[:, None]) for count in counts])
    alone = torch.stack([output(ranks >= count[:, None]) for count in counts])
    tops = [(fraction * sizes - 1e-9).ceil()[:, None] for fraction in _FRACTIONS]
    comprehensiveness = torch.stack([without[0] - output(ranks < top) for top in tops]).mean(0)
    sufficiency = torch.stack([without[0] - output(ranks >= top) for top in tops]).mean(0)
    areas = (torch.trapezoid(curve, counts / sizes, dim=0) for curve in (without, alone))
    return torch.stack([comprehensiveness, sufficiency, *areas]).cpu()


def _mean(values: Tensor) -> Mean:
    error = values.std().item() / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return Mean(values.mean().item(), error)
