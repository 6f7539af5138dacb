"""Strings of symbols that are said one after another: what was said when, which strings are likeliest, which are right.

A string ends with a symbol of its own, the last class, or as the longest does, for which nothing more has to be said.
Labels of one symbol are strings whose longest has one: there the last class is a class as any other.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.models.reinforce import to_come

__all__ = ["NOTHING", "Rewards", "likeliest", "rewards", "symbol_logits"]

NOTHING = -1
"""What stands behind the end of a string."""


def symbol_logits(logits: Tensor, longest: int) -> Tensor:
    """Return the logits of symbols, each after the last of the glimpses that belong to it.

    Args:
        logits: after every glimpse, `(batch, rollouts, glimpses, classes)`; as many glimpses belong to each symbol.
        longest: symbols of the longest string.

    Returns:
        `(batch, rollouts, longest, classes)`.

    Example:
        >>> symbol_logits(torch.arange(6.0).view(1, 1, 6, 1), longest=2).flatten()
        tensor([2., 5.])
    """
    each = logits.shape[2] // longest
    return logits[:, :, each - 1 :: each]


class Rewards(NamedTuple):
    """What each symbol of strings `(rows, longest)` still brings, and how many symbols may bring something.

    >>> Rewards(torch.zeros(2, 3), torch.zeros(2, 3)).to_come.shape
    torch.Size([2, 3])
    """

    to_come: Tensor
    """Right symbols from this one on, while all before are right."""
    left: Tensor
    """Symbols from this one on; 0 behind a mistake, which nothing makes good, and behind the end."""


def rewards(logits: Tensor, wanted: Tensor, kind: Literal["right", "probability"] = "right") -> Rewards:
    r"""Return what symbols are rewarded with: 1 for each that is right while all before are right.

    .. math:: R_s = \sum_{j \ge s} \prod_{i \le j} [\hat y_i = y_i]

    for the likeliest symbols, or, with "probability", the mean of that over symbols that are drawn: the product of the
    right ones' probabilities.

    Args:
        logits: `(rows, longest, classes)`.
        wanted: the classes' numbers, `(rows, longest)`, `NOTHING` behind the end.
        kind: see above.

    Source:
        Ba, Mnih, Kavukcuoglu 2015, section 3.2.

    Example:
        >>> logits = torch.eye(3)[None]  # says 0, 1, 2
        >>> rewards(logits, torch.tensor([[0, 1, 1]]))
        Rewards(to_come=tensor([[2., 1., 0.]]), left=tensor([[3., 2., 1.]]))
        >>> rewards(torch.zeros(1, 1, 4), torch.tensor([[2]]), "probability").to_come
        tensor([[0.2500]])
    """
    inside = wanted != NOTHING
    if kind == "probability":
        found = logits.softmax(-1).gather(-1, wanted.clamp(min=0)[..., None])[..., 0]
        sure = torch.where(inside, found, 0).cumprod(1)
        return Rewards(to_come(sure), to_come(inside.to(logits.dtype)))
    right = ((logits.argmax(-1) == wanted) & inside).to(logits.dtype).cumprod(1)
    before = torch.cat([torch.ones_like(right[:, :1]), right[:, :-1]], 1)
    return Rewards(to_come(right), to_come(inside.to(logits.dtype)) * before)


def likeliest(shares: Tensor, count: int) -> tuple[Tensor, Tensor]:
    r"""Return the most probable strings, which have one symbol at the least.

    .. math:: p(y_1 \dots y_n) = p_{n+1}(\text{end}) \prod_{s \le n} p_s(y_s)

    where the longest string has no end to be said. Symbols do not depend on each other, so that the best continuation
    of all strings of a length is one: the best are found by going on with as many as are asked for.

    Args:
        shares: probabilities of symbols, the end the last of them, `(batch, longest, symbols + 1)`, `longest` above 1.
        count: how many strings; at most as many as there are.

    Returns:
        The symbols of each, `(batch, count, longest)`, `NOTHING` behind its end, and the probabilities
        `(batch, count)`, the most probable first.

    Example:
        >>> shares = torch.tensor([[[0.5, 0.5, 0.0], [0.1, 0.7, 0.2]]])
        >>> strings, found = likeliest(shares, 3)
        >>> strings.tolist(), found
        ([[[0, 1], [1, 1], [0, -1]]], tensor([[0.3500, 0.3500, 0.1000]]))
    """
    batch, longest, classes = shares.shape
    symbols = classes - 1
    grown, strings = shares.new_ones(batch, 1), torch.empty(batch, 1, 0, dtype=torch.long, device=shares.device)
    ended, ends = list[Tensor](), list[Tensor]()
    for place in range(longest):
        here = shares[:, place, :symbols]
        if place == 0:  # the end is none of the first symbols, and the others share its probability
            here = here / here.sum(-1, keepdim=True).clamp(min=torch.finfo(shares.dtype).tiny)
        else:
            ended.append(grown * shares[:, place, symbols:])
            ends.append(F.pad(strings, (0, longest - place), value=NOTHING))
        every = (grown[..., None] * here[:, None]).flatten(1)
        grown, chosen = _best(every, count)
        before = strings.gather(1, (chosen // symbols)[..., None].expand(-1, -1, place))
        strings = torch.cat([before, (chosen % symbols)[..., None]], -1)
    found, order = _best(torch.cat([*ended, grown], 1), count)
    return torch.cat([*ends, strings], 1).gather(1, order[..., None].expand(-1, -1, longest)), found


def _best(shares: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest of each row and their places; of two that are as great, the first."""
    found, order = shares.sort(dim=-1, descending=True, stable=True)
    return found[:, :count], order[:, :count]
