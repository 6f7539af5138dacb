"""Influence of source tokens on a translation: gradients and the Jacobian.

It needs no attention.
"""

from typing import Any

import torch
from torch import Tensor

from saccade._threads import hooked
from saccade.look import shares
from saccade.look._jacobian import differentiable
from saccade.models.padded import Padded
from saccade.tasks import looking
from saccade.tasks.translate.codec import Encoded, pad

__all__ = ["influence", "jacobian"]


def influence(model: Any, source: list[int], target: list[int]) -> Tensor:
    r"""Return the shares of each target token's gradient by the source tokens.

    .. math::
        w_{ts} = \lVert \partial \log p(y_t \mid y_{<t}, x) / \partial E x_s \rVert \Big/ \sum_j w_{tj}

    Args:
        model: a translator with a `source_embedding`, in evaluation mode.
        source: token ids, without an end.
        target: token ids, without an end.

    Returns:
        `(len(target) + 1, len(source) + 1)`, ends included; rows sum to one, or are zero without gradients.

    Source:
        Kalchbrenner et al. 2016, "Neural Machine Translation in Linear Time", figure 6 (there not scaled by rows).
    """
    vectors: list[Tensor] = []
    with hooked([model.source_embedding], lambda module, args, output: vectors.append(output)), differentiable():
        batch = pad([Encoded(source, target)]).to(next(model.parameters()).device)
        logits = model(batch.source, batch.target[:, :-1])
        log_probs = logits[0].log_softmax(-1).gather(1, batch.target[0, 1:, None])[:, 0]
        # The source is embedded before any target, even if both sides share an embedding.
        grads = [torch.autograd.grad(number, vectors[0], retain_graph=True)[0][0] for number in log_probs]
    norms = torch.stack(grads)[:, : len(source) + 1].norm(dim=-1)  # some models read padding after the source
    return shares(norms).cpu()


def jacobian(model: Any, source: list[int], target: list[int], *, signed: bool = False) -> Tensor:
    r"""Return how much all logits of each target token move with each source token.

    .. math:: J_{ts} = \lVert \partial y_t / \partial E x_s \rVert_F, \qquad y_t = W f_t + b

    Args:
        model: a translator with a `source_embedding`, in evaluation mode.
        source: token ids, without an end.
        target: token ids, without an end.
        signed: whether to return derivatives of the logit of each target token (`saccade.tasks.looking.jacobian`).

    Returns:
        `(len(target) + 1, len(source) + 1)`, ends included, in float64 on the CPU.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3.
    """
    batch = pad([Encoded(source, target)]).to(next(model.parameters()).device)

    def features(copies: Padded) -> Tensor:
        before = batch.target[:, :-1].expand(len(copies.values), -1).clone()  # no tensor of inference mode
        rows: Tensor = model.decode(before, model.encode(copies))
        return rows

    written = batch.target[0, 1:].clone() if signed else None
    return looking.jacobian(model.source_embedding, batch.source, features, model.output[0], written)
