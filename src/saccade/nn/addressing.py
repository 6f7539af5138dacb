"""Addressing of an external memory: pure functions from weights to weights.

Weights are `(..., cells)`. Parameters of a head are `(..., 1)`, and its shifts `(..., 2 s + 1)`. Equations 5 to 9 are
from Graves, Wayne, Danihelka 2014, "Neural Turing Machines" (https://arxiv.org/abs/1410.5401). Usage, allocation and
links are from Graves et al. 2016, "Hybrid computing using a neural network with dynamic external memory"
(https://doi.org/10.1038/nature20101), Methods.
"""

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.scores import Cosine

__all__ = ["allocation", "content", "follow", "sharpen", "shift", "usage", "write"]

_WEIGHTS = AuxRequest(weights=True)


def content(key: Tensor, beta: Tensor, memory: Tensor) -> Tensor:
    r"""Weights by content, equations 5 and 6.

    .. math:: w_i = \mathrm{softmax}_i(\beta \cos(k, M_i))

    Args:
        key: k, `(..., heads, features)`.
        beta: the strength, `(..., heads, 1)`, above 0.
        memory: M, `(..., cells, features)`.

    Returns:
        `(..., heads, cells)`.

    >>> content(torch.tensor([[1.0, 0.0]]), torch.tensor([[9.0]]), torch.eye(2)).argmax().item()
    0
    """
    weights = attend(key, memory, memory, score=Cosine(beta), aux=_WEIGHTS)[1].weights  # Eq. 5, K of Eq. 6
    return cast("Tensor", weights).to(memory.dtype)  # for half types they are float32


def shift(weights: Tensor, shifts: Tensor) -> Tensor:
    r"""Weights shifted by some cells, equation 8.

    .. math:: \tilde w_i = \sum_j w_j \, s_{i - j}

    The first cell follows the last one.

    Args:
        weights: w, `(..., cells)`.
        shifts: s, `(..., 2 n + 1)`, the shares that move by −n, …, 0, …, n cells.

    >>> shift(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, 0.25, 0.75]))
    tensor([0.7500, 0.0000, 0.2500])
    """
    furthest = shifts.shape[-1] // 2
    moved = torch.stack([weights.roll(by, -1) for by in range(-furthest, furthest + 1)], -1)
    return (moved @ shifts[..., None])[..., 0]


def sharpen(weights: Tensor, gamma: Tensor) -> Tensor:
    r"""Weights to a power, equation 9.

    .. math:: w_i = \tilde w_i^\gamma / \sum_j \tilde w_j^\gamma

    It works on logarithms, since powers underflow: for example, 0.001²⁰ is 0 in float32.

    >>> sharpen(torch.full((4,), 1e-3), torch.tensor([50.0]))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    logs = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
    return torch.softmax(gamma * logs, -1)


def write(memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    r"""The memory after a write by some heads, equations 3 and 4.

    .. math:: M_i \leftarrow M_i \prod_h (1 - w_i^h e^h) + \sum_h w_i^h a^h

    Args:
        memory: M, `(..., cells, features)`.
        weights: w, `(..., heads, cells)`.
        erase, add: e between 0 and 1, and a, `(..., heads, features)`.

    >>> write(torch.ones(2, 1), torch.tensor([[1.0, 0.0]]), torch.ones(1, 1), torch.full((1, 1), 5.0)).tolist()
    [[5.0], [1.0]]
    """
    kept = 1 - weights[..., None] * erase[..., None, :]
    left = kept[..., 0, :, :] if kept.shape[-3] == 1 else kept.prod(-3)
    return memory * left + weights.mT @ add  # erased by Eq. 3, then added by Eq. 4


def usage(used: Tensor, written: Tensor, read: Tensor, free: Tensor) -> Tensor:
    r"""Usage of each cell.

    .. math:: u \leftarrow (u + w^w - u \odot w^w) \odot \prod_r (1 - f^r w^r)

    Args:
        used: u before, `(..., cells)`.
        written: the weights of the last write, `(..., cells)`.
        read: the weights of the last reads, `(..., heads, cells)`.
        free: f between 0 and 1, `(..., heads, 1)`: 1 frees the cells of a read.

    >>> usage(torch.zeros(2), torch.tensor([1.0, 0.5]), torch.tensor([[1.0, 0.0]]), torch.ones(1, 1))
    tensor([0.0000, 0.5000])
    """
    return (used + written - used * written) * (1 - free * read).prod(-2)


def allocation(used: Tensor) -> Tensor:
    r"""Weights of free cells, the freest first.

    .. math:: a_{\phi_j} = (1 - u_{\phi_j}) \prod_{i < j} u_{\phi_i}

    φ is the order of rising usage. Of equal cells the first comes first.

    >>> allocation(torch.tensor([1.0, 0.0, 0.5]))
    tensor([0., 1., 0.])
    """
    rising, order = used.sort(dim=-1, stable=True)
    before = F.pad(rising.cumprod(-1)[..., :-1], (1, 0), value=1.0)
    return torch.zeros_like(used).scatter(-1, order, (1 - rising) * before)


def follow(links: Tensor, precedence: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
    r"""Links from each cell to the cell written next.

    .. math::
        L_{ij} &\leftarrow (1 - w_i - w_j) L_{ij} + w_i p_j, \qquad L_{ii} = 0 \\
        p &\leftarrow (1 - \sum_i w_i) \, p + w

    Args:
        links: L, `(..., cells, cells)`.
        precedence: p, how much each cell was the last one written, `(..., cells)`.
        written: w, the weights of this write, `(..., cells)`.

    Returns:
        The next L and p.

    >>> _, last = follow(torch.zeros(2, 2), torch.zeros(2), torch.tensor([1.0, 0.0]))
    >>> follow(torch.zeros(2, 2), last, torch.tensor([0.0, 1.0]))[0].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    rows, columns = written[..., :, None], written[..., None, :]
    new = (1 - rows - columns) * links + rows * precedence[..., None, :]
    diagonal = torch.eye(written.shape[-1], dtype=torch.bool, device=written.device)
    return new.masked_fill(diagonal, 0.0), (1 - written.sum(-1, keepdim=True)) * precedence + written
