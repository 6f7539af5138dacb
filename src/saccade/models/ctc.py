"""Connectionist temporal classification (Graves et al. 2006) of given texts."""

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["BLANK", "NEVER", "alignment", "log_probs_of_texts"]

BLANK = 0
"""Class of the blank, the padding of texts."""
NEVER = -1e6
"""Log-probability of a text that cannot be aligned."""


def log_probs_of_texts(log_probs: Tensor, steps: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Return the log-probability of each text, a sum over its alignments, Eq. 3 and 8.

    Args:
        log_probs: of the classes at each step, `(examples, steps, classes)`.
        steps: number of steps of each example, `(examples,)`.
        tokens: n texts of each example, `(examples, n, length)`. Padding is ignored.
        lengths: number of tokens of each text, `(examples, n)`.

    Returns:
        `(examples, n)`, in nats. It is `NEVER` for a text with too few steps, or with a blank.

    Example:
        >>> halves = torch.full((1, 2, 2), 0.5).log()
        >>> log_probs_of_texts(halves, torch.tensor([2]), torch.tensor([[[1]]]), torch.tensor([[1]])).exp()
        tensor([[0.7500]])
    """
    count = tokens.shape[1]
    # On a CPU, because torch's gradient on a GPU is not deterministic.
    columns = log_probs.movedim(1, 0).repeat_interleave(count, 1).cpu()
    steps, sizes = steps.repeat_interleave(count).cpu(), lengths.flatten().cpu()
    texts = F.pad(tokens.flatten(0, 1), (0, 1)).cpu()  # one position even for empty texts
    cost = F.ctc_loss(columns, texts, steps, sizes, BLANK, "none", zero_infinity=True)
    within = torch.arange(texts.shape[1]) < sizes[:, None]
    repeated = (texts[:, 1:] == texts[:, :-1]) & within[:, 1:]  # a blank between two equal tokens takes a step
    possible = (within.sum(1) + repeated.sum(1) <= steps) & ((texts != BLANK) | ~within).all(1)
    log_prob = torch.where(possible, -cost, NEVER)
    return log_prob.to(tokens.device).view(len(tokens), count)


def alignment(log_probs: Tensor, tokens: Tensor) -> Tensor:
    r"""Return the probability of each token at each step, Eq. 14 to 16.

    .. math:: \gamma_{ij} = p(\pi_j = i \mid y, x)

    The whole text y is given. Two equal tokens in a row may be adjacent here, without the blank that they need in
    `log_probs_of_texts`.

    Args:
        log_probs: of the classes at each step of one example, `(steps, classes)`.
        tokens: of the text, `(length,)`.

    Returns:
        `(length, steps)` on the CPU. Each row sums to the expected number of steps of a token.
    """
    with torch.enable_grad():
        # A column for each position of the text, so that equal tokens have their own.
        columns = log_probs.detach().cpu()[:, [BLANK, *tokens.tolist()]].requires_grad_()
        text = torch.arange(1, columns.shape[1])[None]
        steps, size = (torch.tensor([length]) for length in (len(columns), text.shape[1]))
        cost = F.ctc_loss(columns[:, None], text, steps, size, BLANK, "sum")
        [gradient] = torch.autograd.grad(cost, columns)  # by the logits, Eq. 16: p - γ
    return (columns.detach().exp() - gradient)[:, 1:].mT
