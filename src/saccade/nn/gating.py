"""Gates of a mixture of experts, and measures of balance, as pure functions.

Equations are from Shazeer et al. 2017, "Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts
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
        probability: P(x, i) of all experts, or without noise 1 for the chosen ones, `(tokens, experts)`.
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

    That is attention with the read `reads.TopK(k)` and the noise as bias. Ties go to the first expert.

    Args:
        clean: x W_g, `(tokens, experts)`.
        spread: x W_noise, `(tokens, experts)`; None draws no noise.
        k: experts of a token, at most their number.

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
    r"""Probability of an expert to be among the k, if its noise were drawn again.

    Equations 8 and 9.

    .. math:: P(x, i) = \Phi\left(\frac{(x W_g)_i - \mathrm{kth\_excluding}(H(x), k, i)}
                                      {\mathrm{softplus}((x W_\mathrm{noise})_i)}\right)

    with kth_excluding, the k-th largest logit of the other experts. It compares logits, before any softmax. If all
    experts are chosen, it is 1.

    Args:
        clean: x W_g, `(tokens, experts)`.
        logits: H(x), with their noise.
        deviation: softplus(x W_noise), of the noise.
        k: experts of a token.

    >>> selection_probability(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.ones(1, 2), 1)
    tensor([[0.1587, 0.5000]])
    """
    return _probability(clean, *_largest(logits, min(k + 1, clean.shape[-1])), deviation, k)


def _probability(clean: Tensor, values: Tensor, index: Tensor, deviation: Tensor, k: int) -> Tensor:
    """`selection_probability` from the k + 1 largest logits and their experts."""
    if k >= clean.shape[-1]:
        return torch.ones_like(clean)
    inside = torch.zeros_like(clean, dtype=torch.bool).scatter(-1, index[..., :k], True)
    kth_excluding = torch.where(inside, values[..., k:], values[..., k - 1 : k])
    # The derivative divides by the squared deviation, which the clamp keeps above 0 in float32.
    probability: Tensor = torch.special.ndtr((clean - kth_excluding) / deviation.clamp(min=_LEAST_DEVIATION))
    return probability


def _largest(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest logits and their experts, expert 0 for logits of −inf."""
    values, index = largest(logits, k, None)
    return values, index.clamp(min=0)


def squared_variation(amounts: Tensor) -> Tensor:
    r"""Squared coefficient of variation, \(\sigma^2 / \mu^2\), or 0 for a mean of 0.

    >>> squared_variation(torch.tensor([1.0, 3.0])).item()
    0.25
    """
    return divide(amounts.var(correction=0), amounts.mean().square())
