"""What is known of a mask without a look at its tensors, which off the CPU would have to be waited for."""

from saccade import masks
from saccade.masks import Mask

POSITIONED = (masks.Causal, masks.Window, masks.Prefix, masks.Intervals)
"""Masks that numbers alone may describe."""


def outline(mask: Mask, k_len: int, *, most: bool = True) -> Mask:
    """A mask without tensors that allows whatever this one may allow: what a tensor decides is taken for allowed, and
    below a `~` for forbidden.

    Args:
        mask: of any definitions.
        k_len: keys of the call.
        most: whether it allows at least what the mask does; else at most.

    >>> import torch
    >>> outline(masks.Causal() & ~masks.Lengths(torch.tensor([3, 5])), 9)
    Both(first=Causal(align=None), second=Not(other=Prefix(length=0)))
    """
    if isinstance(mask, masks.Not):
        return masks.Not(outline(mask.other, k_len, most=not most))
    if isinstance(mask, masks.Both | masks.Either):
        return type(mask)(outline(mask.first, k_len, most=most), outline(mask.second, k_len, most=most))
    return mask if by_numbers(mask) else masks.Prefix(k_len if most else 0)


def by_numbers(mask: Mask) -> bool:
    """Whether all of a mask is known without its tensors.

    >>> by_numbers(~masks.Causal() | masks.Prefix(3)), by_numbers(masks.Causal() & masks.Where(lambda i, j: i == j))
    (True, False)
    """
    if isinstance(mask, masks.Not):
        return by_numbers(mask.other)
    if isinstance(mask, masks.Both | masks.Either):
        return by_numbers(mask.first) and by_numbers(mask.second)
    return type(mask) in POSITIONED and not mask.leaves()
