"""A source text with its translation, for explanations, and their gradients."""

from typing import Any

import torch
from torch import Tensor, nn

from saccade.look import shares
from saccade.models.padded import Padded
from saccade.models.recurrent import Encoder
from saccade.tasks.attention_graph import stacked
from saccade.tasks.explaining import Subject, embedded, input_gradients
from saccade.tasks.translate.codec import Encoded, pad

__all__ = ["influence", "jacobian", "layer_of", "subject"]


def subject(
    model: Any,
    source: list[int],
    target: list[int],
    texts: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    attended: Tensor | None = None,
) -> Subject:
    """Return a source and its fixed translation.

    Args:
        model: a translator with a `source_embedding`, in evaluation mode.
        source: token ids, without an end.
        target: token ids, without an end.
        texts: of the tokens of both, ends included.
        attended: attention weights `(len(target) + 1, len(source) + 1)`, or None without attention.
    """
    with torch.inference_mode(mode=False):  # answers are computed in inference mode
        batch = pad([Encoded(source, target)]).to(next(model.parameters()).device)
    before, count = batch.target[:, :-1], len(source) + 1

    def features(copies: Padded) -> Tensor:
        rows: Tensor = model.decode(before.expand(len(copies.values), -1), model.encode(copies))
        return rows

    part = Padded(batch.source.values[:, :count], batch.source.lengths)
    embedding = getattr(model, "members", [model])[0].source_embedding
    vectors, run = embedded(embedding, part, features)
    return Subject(
        model=model,
        inputs=vectors,
        features=run,
        output=getattr(model, "output", None),
        targets=batch.target[0, 1:],
        tokens=texts[0],
        outputs=texts[1],
        attended=attended,
        readers=None if attended is None else count + torch.arange(len(target) + 1)[:, None],
        layer=layer_of(model),
    )


def layer_of(model: Any) -> nn.Module | None:
    """Return the part of a translator with one vector for each source token, if any."""
    encoder = getattr(model, "encoder", None)
    return model.encoder_norm if stacked(model) else encoder if isinstance(encoder, Encoder) else None


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
    return shares(input_gradients(subject(model, source, target))).cpu()


def jacobian(model: Any, source: list[int], target: list[int], *, signed: bool = False) -> Tensor:
    r"""Return how much all logits of each target token move with each source token.

    .. math:: J_{ts} = \lVert \partial y_t / \partial E x_s \rVert_F, \qquad y_t = W f_t + b

    Args:
        model: a translator with a `source_embedding`, in evaluation mode.
        source: token ids, without an end.
        target: token ids, without an end.
        signed: whether to return derivatives of the logit of each target token, with their signs.

    Returns:
        `(len(target) + 1, len(source) + 1)`, ends included, in float64 on the CPU.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3.
    """
    return subject(model, source, target).scores("jacobian", signed=signed).values
