"""Scores of inputs by several attributions, for classifiers, translators and answers."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxRequest, look
from saccade._definitions.numerics import divide
from saccade.look import attribute
from saccade.look._jacobian import differentiable, returning
from saccade.models.answerer import Reads
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.translate.codec import Encoded, pad

__all__ = ["by_depth", "of_image", "of_pair", "of_text"]

ATTENTION, ROLLOUT, FLOW, WEIGHTED = "attention", "rollout", "flow", "gradient-weighted"
CAM, INTEGRATED, BLANKED = "Grad-CAM", "integrated gradients", "blank-out"
STEPS = 20  # points of an integral
Scores = dict[str, Tensor]


def of_text(model: Any, source: Padded, label: int, depths: dict[str, list[Tensor]] | None = None) -> Scores:
    """Return scores of the words of one text for a class, `(length,)` each.

    The model has layers of self-attention below a pooling by one query. Gradients are those of the logit, and blank-out
    is the fall of the probability. A dictionary for `by_depth` is filled.
    """
    with differentiable(), look.record(model) as records:
        logit = model(source)[0, label]
    layers, pool = model.layers_attended(records), model.pooled(records, source)
    *gradients, last = torch.autograd.grad(logit, [*layers, pool])
    read = pool[0, 0].detach()
    depths = {} if depths is None else depths
    depths.update(by_depth([layer.detach() for layer in layers], read))
    relevance = (last * pool)[0, 0].relu() @ attribute.gradient_weighted(layers, gradients)[0]

    def logits(vectors: Tensor) -> Tensor:
        with returning(model.words.embedding, vectors):
            output: Tensor = model(_copies(source, len(vectors)))
        return output

    def probabilities(ids: Tensor) -> Tensor:
        output: Tensor = model(Padded(ids, source.lengths)).softmax(-1)
        return output

    return {
        ATTENTION: read,
        ROLLOUT: depths[ROLLOUT][-1],
        FLOW: depths[FLOW][-1],
        WEIGHTED: relevance.detach(),
        INTEGRATED: _integrated(model.words.embedding, logits, source.values, torch.tensor([label]))[0],
        BLANKED: attribute.ablation(probabilities, source.values, target=label, baseline=UNKNOWN)[0],
    }


def by_depth(layers: Sequence[Tensor], read: Tensor) -> dict[str, list[Tensor]]:
    """Return raw attention, rollout and flow from a read of each layer's output to the words.

    Args:
        layers: weights of self-attention, `(1, heads, length, length)`, first layer first.
        read: weights of the read, `(length,)`. It has no residual connection.

    Returns:
        By name a vector `(length,)` for each layer.
    """
    mixed = [attribute.rollout([layer])[:, None] for layer in layers]
    top = read.expand(1, 1, len(read), -1)
    depths: dict[str, list[Tensor]] = {
        ATTENTION: [read @ layer[0].mean(0) for layer in layers],
        ROLLOUT: [],
        FLOW: [],
    }
    for depth in range(1, 1 + len(layers)):
        depths[ROLLOUT].append(read @ attribute.rollout(layers[:depth])[0])
        depths[FLOW].append(attribute.flow([*mixed[:depth], top], residual=0.0, rows=[0])[0, 0])
    return depths


def of_pair(model: Any, pair: Encoded, outputs: Sequence[int]) -> Scores:
    """Return scores of source tokens for some target tokens, `(outputs, source)` each.

    The model is a Transformer, which is given the true target. Rollout and flow follow the encoder's layers from the
    weights that `Transformer.alignment` returns.
    """
    batch, count = pad([pair]), len(pair.source)
    source, before, true = batch.source, batch.target[:, :-1], batch.target[0, 1:]
    rows = torch.tensor(outputs)

    def chosen(logits: Tensor) -> Tensor:
        picked = logits[:, rows].gather(-1, true[rows].expand(len(logits), -1)[..., None])
        return picked[..., 0]

    with differentiable(), look.record(model) as records:
        written = chosen(model(source, before))[0]
    encoder, decoder, cross = (
        [
            aux.weights
            for name, aux in records
            if aux.weights is not None and name.startswith(side) and name.endswith(part)
        ]
        for side, part in (("encoder", ".attention"), ("decoder", ".attention"), ("decoder", ".source_attention"))
    )
    read = model.alignment(records)[0, rows].detach()
    encoded = [layer.detach() for layer in encoder]

    def logits(vectors: Tensor) -> Tensor:
        with returning(model.source_embedding, vectors):
            return chosen(model(_copies(source, len(vectors)), before.expand(len(vectors), -1)))

    def probabilities(ids: Tensor) -> Tensor:
        output = model(Padded(ids, source.lengths.expand(len(ids))), before.expand(len(ids), -1))
        return chosen(output.softmax(-1))

    ids, targets = source.values.expand(len(rows), -1), torch.arange(len(rows))
    scores = {
        ATTENTION: read,
        ROLLOUT: read @ attribute.rollout(encoded)[0],
        FLOW: _flow_of_reads(encoded, read),
        WEIGHTED: torch.stack(
            [_weighted(output, row, encoder, decoder, cross) for output, row in zip(written, outputs, strict=True)]
        ),
        INTEGRATED: _integrated(model.source_embedding, logits, ids, targets),
        BLANKED: attribute.ablation(probabilities, ids, target=targets, baseline=UNKNOWN),
    }
    return {name: values[:, :count] for name, values in scores.items()}


def _weighted(
    output: Tensor, row: int, encoder: Sequence[Tensor], decoder: Sequence[Tensor], cross: Sequence[Tensor]
) -> Tensor:
    """Relevance of source tokens for one output (Chefer, Gur, Wolf 2021, Eq. 5 to 10)."""
    several = [encoder, decoder, cross]
    flat = torch.autograd.grad(output, [layer for layers in several for layer in layers], retain_graph=True)
    gradients = iter(flat)
    of_encoder, of_decoder, of_cross = ([next(gradients) for _ in layers] for layers in several)
    source = _normalized(attribute.gradient_weighted(encoder, of_encoder)[0])
    relevance = output.new_zeros(decoder[0].shape[-1], source.shape[-1])
    for depth in range(len(decoder)):
        inner, outer = (
            (weights[depth] * slopes[depth])[0].relu().mean(0)
            for weights, slopes in ((decoder, of_decoder), (cross, of_cross))
        )
        relevance = relevance + inner @ relevance
        target = _normalized(attribute.gradient_weighted(decoder[: depth + 1], of_decoder[: depth + 1])[0])
        relevance = relevance + target.mT @ outer @ source
    return relevance[row].detach()


def _normalized(relevance: Tensor) -> Tensor:
    """The relevance with rows of what was added to the identity divided by their sums (Eq. 8 and 9)."""
    identity = torch.eye(len(relevance))
    added = relevance - identity
    return divide(added, added.sum(-1, keepdim=True)) + identity


def _flow_of_reads(layers: Sequence[Tensor], read: Tensor) -> Tensor:
    """Flow from reads `(outputs, length)` of the last layer to the words; fewer outputs than words."""
    mixed = [attribute.rollout([layer])[:, None] for layer in layers]
    top = F.pad(read, (0, 0, 0, read.shape[1] - len(read)))[None, None]
    return attribute.flow([*mixed, top], residual=0.0, rows=range(len(read)))[0]


def _integrated(embedding: nn.Embedding, logits: Callable[[Tensor], Tensor], ids: Tensor, targets: Tensor) -> Tensor:
    """Integrated gradients from the unknown token's vector, `(outputs, length)`."""
    vectors, start = embedding(ids).detach(), embedding.weight[UNKNOWN].detach()
    parts = attribute.integrated_gradients(logits, vectors, target=targets, baseline=start, steps=STEPS)
    return parts.sum(-1)


def _copies(source: Padded, count: int) -> Padded:
    return Padded(source.values[:1].expand(count, -1), source.lengths[:1].expand(count))


def of_image(model: Any, image: Tensor, question: Padded, answer: int, shape: tuple[int, int]) -> Scores:
    """Return scores of the cells of one image for an answer, `(cells,)` each.

    Attention is the mean of all reads. An image is black where it is blank.
    """
    size = image.shape[2:]
    side = (size[0] // shape[0], size[1] // shape[1])
    cells = F.unfold(image, side, stride=side).mT

    def logits(parts: Tensor) -> Tensor:
        copies = Padded(question.values.expand(len(parts), -1), question.lengths.expand(len(parts)))
        output: Tensor = model(Visual(F.fold(parts.mT, size, side, stride=side)), copies)
        return output

    reads = Reads(AuxRequest(weights=True))
    with torch.no_grad():
        model.answers(Visual(image), question, 1, reads)
    wrapped, label = _Answers(model, question), torch.tensor([answer])
    layer = f"model.encoder.cnn.stages.{len(model.encoder.cnn.stages) - 1}"
    return {
        ATTENTION: torch.cat(reads.weights, 1)[0].mean(0),
        CAM: look.grad_cam(wrapped, image, label, layer)[0].flatten(),
        INTEGRATED: attribute.integrated_gradients(logits, cells, target=answer, steps=STEPS).sum(-1)[0],
        BLANKED: attribute.ablation(lambda parts: logits(parts).softmax(-1), cells, target=answer)[0],
    }


class _Answers(nn.Module):
    """A model as a function of images alone."""

    def __init__(self, model: nn.Module, question: Padded) -> None:
        super().__init__()
        self.model, self.question = model, question

    def forward(self, images: Tensor) -> Tensor:
        output: Tensor = self.model(Visual(images), self.question)
        return output
