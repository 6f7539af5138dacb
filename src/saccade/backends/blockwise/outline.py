"""What is known of a mask without a look at its tensors, which off the CPU would have to be waited for."""

from saccade import masks
from saccade.masks import Mask
from saccade.masks._intervals import by_numbers


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
