"""How a mixture chooses its experts, and how evenly: pure functions of logits.

Equations are those of Shazeer et al. 2017, "Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts
Layer" (https://arxiv.org/abs/1701.06538). Tokens are rows, experts are columns.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade._definitions.numerics import divide
from saccade.reads import largest

__all__ = ["Choice", "choose", "selection_probability", "squared_variation"]

_LEAST_DEVIATION = 1e-9


class Choice(NamedTuple):
    """The experts of each token.

    Args:
        experts: the k of the largest logits, falling, int64 `(tokens, k)`.
        weight: G(x) of these, which sum to one, `(tokens, k)`.
        probability: P(x, i) of all experts, or without noise 1 of those that are taken, `(tokens, experts)`.
        logits: H(x), `(tokens, experts)`.
    """

    experts: Tensor
    weight: Tensor
    probability: Tensor
    logits: Tensor


def choose(clean: Tensor, spread: Tensor | None, k: int) -> Choice:
    r"""Noisy top-k gating, equations 3 to 5.

    .. math::
        G(x) &= \mathrm{softmax}(\mathrm{KeepTopK}(H(x), k)) \\
        H(x)_i &= (x W_g)_i + \varepsilon_i \, \mathrm{softplus}((x W_\mathrm{noise})_i), \qquad
            \varepsilon_i \sim \mathcal N(0, 1)

    That is attention with a read of `reads.TopK(k)`, the noise being a bias. Of experts that are equal, the first ones
    are taken.

    Args:
        clean: x W_g, `(tokens, experts)`.
        spread: x W_noise, likewise; None draws no noise.
        k: how many a token is given to, at most the number of experts.

    >>> choose(torch.tensor([[0.0, 2.0, 2.0, -1.0]]), None, 2).experts.tolist()
    [[1, 2]]
    """
    if spread is None:
        index = _largest(clean, k)[1]
        taken = torch.zeros_like(clean, requires_grad=False).scatter(-1, index, 1.0)
        return Choice(index, clean.gather(-1, index).softmax(-1), taken, clean)
    deviation = F.softplus(spread)
    logits = clean + torch.randn_like(clean) * deviation
    values, index = _largest(logits, min(k + 1, clean.shape[-1]))
    probability = _probability(clean, values, index, deviation, k)
    return Choice(index[..., :k], values[..., :k].softmax(-1), probability, logits)


def selection_probability(clean: Tensor, logits: Tensor, deviation: Tensor, k: int) -> Tensor:
    r"""How probably an expert would be among the k, were its own noise drawn anew, equations 8 and 9.

    .. math:: P(x, i) = \Phi\left(\frac{(x W_g)_i - \mathrm{kth\_excluding}(H(x), k, i)}
                                      {\mathrm{softplus}((x W_\mathrm{noise})_i)}\right)

    where kth_excluding is the k-th largest logit of the others. It compares logits, before any softmax; where all
    experts are taken it is 1.

    Args:
        clean: x W_g, `(tokens, experts)`.
        logits: H(x), as they were drawn.
        deviation: softplus(x W_noise), the noise's.
        k: how many are taken.

    >>> selection_probability(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.ones(1, 2), 1)
    tensor([[0.1587, 0.5000]])
    """
    return _probability(clean, *_largest(logits, min(k + 1, clean.shape[-1])), deviation, k)


def _probability(clean: Tensor, values: Tensor, index: Tensor, deviation: Tensor, k: int) -> Tensor:
    """The same from the k + 1 largest logits and whose they are."""
    if k >= clean.shape[-1]:
        return torch.ones_like(clean)
    inside = torch.zeros_like(clean, dtype=torch.bool).scatter(-1, index[..., :k], True)
    kth_excluding = torch.where(inside, values[..., k:], values[..., k - 1 : k])
    # Whose square, by which the derivative divides, is above 0 in float32: there P is a step anyway.
    found: Tensor = torch.special.ndtr((clean - kth_excluding) / deviation.clamp(min=_LEAST_DEVIATION))
    return found


def _largest(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest logits and their experts; where fewer are above minus infinity, the first stands for the rest."""
    values, index = largest(logits, k, None)
    return values, index.clamp(min=0)


def squared_variation(amounts: Tensor) -> Tensor:
    r"""The squared coefficient of variation, \(\sigma^2 / \mu^2\), of what experts get; 0 where they get nothing.

    >>> squared_variation(torch.tensor([1.0, 3.0])).item()
    0.25
    """
    return divide(amounts.var(correction=0), amounts.mean().square())
