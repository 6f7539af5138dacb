"""`likeliest`: the most probable tokens after logits, without laying out all probabilities."""

import torch
from torch import Tensor

from saccade.kernels.team import Kernel, serves

__all__ = ["likeliest"]

_forward = Kernel("likeliest:forward")


def likeliest(logits: Tensor, count: int, token: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the `count` largest log-probabilities of each row and their tokens, and that of one token beside them.

    Args:
        logits: `(rows, vocabulary)`.
        count: how many, at most the vocabulary; equal ones come in the order of their tokens.
        token: whose log-probability is wanted in any case.

    Returns:
        `(rows, count)`, largest first, int64 `(rows, count)`, and `(rows,)`.

    Example:
        >>> likeliest(torch.tensor([[0.0, 3.0, 2.0]]), 2, token=0)[1]
        tensor([[1, 2]])
    """
    if serves(logits) and len(logits) and not (torch.is_grad_enabled() and logits.requires_grad):
        logits = logits if logits.stride(-1) == 1 else logits.contiguous()
        rows, size = logits.shape
        values, of_token = logits.new_empty(rows, count), logits.new_empty(rows)
        places = logits.new_empty(rows, count, dtype=torch.int64)
        _forward(rows, logits, logits.stride(0), size, values, places, count, token, of_token)
        return values, places, of_token
    gains = logits.float().log_softmax(-1)  # torch takes twice as long for the logsumexp alone, on a CPU
    values, places = gains.topk(count)
    return values, places, gains[:, token]
