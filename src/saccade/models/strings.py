"""String labels: logits, rewards and the most probable strings.

The last class ends a string. A string of the greatest length needs no end symbol. If that length is 1, labels are
single classes, and the last class is a class like any other.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.models.reinforce import to_come

__all__ = ["NOTHING", "Rewards", "likeliest", "rewards", "symbol_logits"]

NOTHING = -1
"""Padding after the end of a string."""


def symbol_logits(logits: Tensor, longest: int) -> Tensor:
    """Return the logits after the last glimpse of each symbol.

    Args:
        logits: after each glimpse, `(batch, rollouts, glimpses, classes)`. Symbols have equally many glimpses.
        longest: symbols of the longest string.

    Returns:
        `(batch, rollouts, longest, classes)`.

    Example:
        >>> symbol_logits(torch.arange(6.0).view(1, 1, 6, 1), longest=2).flatten()
        tensor([2., 5.])
    """
    glimpses = logits.shape[2] // longest
    return logits[:, :, glimpses - 1 :: glimpses]


class Rewards(NamedTuple):
    """Rewards from each symbol on, and the number of symbols that can still count.

    >>> Rewards(torch.zeros(2, 3), torch.zeros(2, 3)).to_come.shape
    torch.Size([2, 3])
    """

    to_come: Tensor
    """Sum of the rewards from this symbol on, `(rows, longest)`."""
    left: Tensor
    """Number of symbols from this one on, 0 after a mistake and after the end."""


def rewards(logits: Tensor, labels: Tensor, kind: Literal["right", "probability"] = "right") -> Rewards:
    r"""Return the rewards of symbols: 1 if all symbols so far are correct.

    .. math:: R_s = \sum_{j \ge s} \prod_{i \le j} [\hat y_i = y_i]

    for the most probable symbols. With "probability" it is the expectation over sampled symbols, a product of the
    labels' probabilities.

    Args:
        logits: `(rows, longest, classes)`.
        labels: classes, `(rows, longest)`, `NOTHING` after the end.
        kind: "right" or "probability", as above.

    Source:
        Ba, Mnih, Kavukcuoglu 2015, section 3.2.

    Example:
        >>> logits = torch.eye(3)[None]  # predicts 0, 1, 2
        >>> rewards(logits, torch.tensor([[0, 1, 1]]))
        Rewards(to_come=tensor([[2., 1., 0.]]), left=tensor([[3., 2., 1.]]))
        >>> rewards(torch.zeros(1, 1, 4), torch.tensor([[2]]), "probability").to_come
        tensor([[0.2500]])
    """
    inside = labels != NOTHING
    if kind == "probability":
        probabilities = logits.softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        products = torch.where(inside, probabilities, 0).cumprod(1)
        return Rewards(to_come(products), to_come(inside.to(logits.dtype)))
    right = ((logits.argmax(-1) == labels) & inside).to(logits.dtype).cumprod(1)
    before = torch.cat([torch.ones_like(right[:, :1]), right[:, :-1]], 1)
    return Rewards(to_come(right), to_come(inside.to(logits.dtype)) * before)


def likeliest(shares: Tensor, count: int) -> tuple[Tensor, Tensor]:
    r"""Return the most probable strings of at least one symbol.

    .. math:: p(y_1 \dots y_n) = p_{n+1}(\text{end}) \prod_{s \le n} p_s(y_s)

    A string of the greatest length has no factor for its end. Symbols are independent, so all strings of a length have
    the same best continuation. A beam search with `count` beams is therefore exact.

    Args:
        shares: probabilities of symbols, with the end as the last one, `(batch, longest, symbols + 1)`. `longest` is
            at least 2.
        count: number of strings. There may be fewer.

    Returns:
        Symbols of each string, `(batch, count, longest)`, with `NOTHING` after its end, and the probabilities
        `(batch, count)`, in descending order.

    Example:
        >>> shares = torch.tensor([[[0.5, 0.5, 0.0], [0.1, 0.7, 0.2]]])
        >>> strings, probabilities = likeliest(shares, 3)
        >>> strings.tolist(), probabilities
        ([[[0, 1], [1, 1], [0, -1]]], tensor([[0.3500, 0.3500, 0.1000]]))
    """
    batch, longest, classes = shares.shape
    symbols = classes - 1
    grown, strings = shares.new_ones(batch, 1), torch.empty(batch, 1, 0, dtype=torch.long, device=shares.device)
    ended, ends = list[Tensor](), list[Tensor]()
    for position in range(longest):
        here = shares[:, position, :symbols]
        if position == 0:  # a string has at least one symbol, so its first is not the end
            here = here / here.sum(-1, keepdim=True).clamp(min=torch.finfo(shares.dtype).tiny)
        else:
            ended.append(grown * shares[:, position, symbols:])
            ends.append(F.pad(strings, (0, longest - position), value=NOTHING))
        every = (grown[..., None] * here[:, None]).flatten(1)
        grown, chosen = _best(every, count)
        before = strings.gather(1, (chosen // symbols)[..., None].expand(-1, -1, position))
        strings = torch.cat([before, (chosen % symbols)[..., None]], -1)
    probabilities, order = _best(torch.cat([*ended, grown], 1), count)
    return torch.cat([*ends, strings], 1).gather(1, order[..., None].expand(-1, -1, longest)), probabilities


def _best(shares: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Greatest numbers of each row and their indices. A stable sort breaks ties."""
    ranked, order = shares.sort(dim=-1, descending=True, stable=True)
    return ranked[:, :count], order[:, :count]
