"""Influence of an image on a text about it: gradients by pixels or features."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade._threads import hooked
from saccade.look._jacobian import differentiable
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.attention_graph import stacked
from saccade.tasks.explaining import Subject
from saccade.tasks.image.shown import Shown, shares
from saccade.tasks.image.sight import visual as visual_of
from saccade.tasks.text.special import BEGIN, END

__all__ = [
    "Gradients",
    "Score",
    "cells_of",
    "convolutions_of",
    "gradients",
    "images_of",
    "influence",
    "moved",
    "subject",
    "word_vectors",
]

_COPIES = 16  # of an image, for the gradients of as many words at once

Score = Callable[..., Tensor]
"""Function from images, and questions if any, to a number per row, `(batch,)`."""


class Gradients(NamedTuple):
    """The gradients of a number of each row.

    >>> Gradients(torch.zeros(2, 3, 8, 8), None).seen.shape
    torch.Size([2, 3, 8, 8])
    """

    seen: Tensor | None
    """Gradients by pixels or features, None of models without images.

    Their shape is `(batch, channels, height, width)` for pixels and `(batch, n, dim)` for features.
    """
    words: Tensor | None
    """Norms of gradients by word embeddings, `(batch, length)`, None without words."""


def gradients(visual: Visual, score: Score, *questions: Padded, reading: Sequence[nn.Module] = ()) -> Gradients:
    """Return the gradients of a number of each row. Rows do not depend on each other.

    Args:
        visual: images or features, one for each row: see `images_of`.
        score: computes the numbers by a model in evaluation mode.
        questions: questions, if the model takes them.
        reading: embeddings of the words.

    Example:
        >>> from saccade.models.question_only import QuestionOnly
        >>> model, question = QuestionOnly(None, 9, 5).eval(), Padded(torch.tensor([[4, 5]]), torch.tensor([2]))
        >>> reading = [part for part in model.modules() if isinstance(part, nn.Embedding)]
        >>> images = Visual(torch.rand(1, 3, 8, 8))
        >>> found = gradients(images, lambda *given: model(*given)[:, 0], question, reading=reading)
        >>> found.seen is None, found.words.shape
        (True, torch.Size([1, 2]))
    """
    vectors = list[Tensor]()
    with differentiable():
        values = visual.values.clone().requires_grad_()
        boxes, lengths = (None if part is None else part.clone() for part in visual[1:3])
        inputs = visual._replace(values=values, boxes=boxes, lengths=lengths)
        copies = [Padded(question.values.clone(), question.lengths.clone()) for question in questions]
        with hooked(reading, lambda module, args, output: vectors.append(output)):
            total = score(inputs, *copies).sum()
        grads = torch.autograd.grad(total, [values, *vectors], allow_unused=True)
    sizes = [grad.norm(dim=-1) for grad in grads[1:] if grad is not None]
    return Gradients(grads[0], torch.stack(sizes).sum(0) if sizes else None)


def images_of(visual: Visual, rows: Sequence[int]) -> Visual:
    """Return the image of each text of some rows. Texts of a batch may share an image.

    Example:
        >>> two = Visual(torch.tensor([1.0, 2.0]).view(2, 1, 1, 1), about=torch.tensor([0, 0, 1]))
        >>> images_of(two, [1, 2]).values.flatten()
        tensor([1., 2.])
    """
    indices = torch.tensor(rows, device=visual.values.device)
    indices = indices if visual.about is None else visual.about[indices]
    values, boxes, lengths = (None if part is None else part[indices] for part in visual[:3])
    assert values is not None
    return Visual(values, boxes, lengths)


def moved(model: Any, visual: Visual, score: Score, *questions: Padded) -> tuple[Tensor | None, tuple[int, int] | None]:
    """Return the share of each cell in the gradients, and the shape of the cells.

    Shares are `(batch, cells)`, and the shape is rows and columns. Both are None for regions, or without images. For
    the arguments see `gradients`.
    """
    shape = cells_of(model, visual)
    by_image = None if shape is None else gradients(visual, score, *questions).seen
    return None if by_image is None else shares(by_image, shape), shape


def influence(model: Any, image: Shown, ids: Sequence[int], shape: tuple[int, int] | None) -> Tensor:
    r"""Return the share of each cell in the gradients of each word.

    They are gradients of \(\log p(y_t \mid y_{<t}, x)\): see `saccade.tasks.image.shown.shares`.

    Args:
        model: a writer about images, in evaluation mode.
        image: the image.
        ids: of the sentence, without an end.
        shape: rows and columns of cells, or None of regions.

    Returns:
        `(len(ids) + 1, n)` for n cells, the end included.
    """
    every, device = range(len(ids) + 1), next(model.parameters()).device

    def of_words(positions: Sequence[int]) -> Tensor:
        def log_probs(copies: Visual) -> Tensor:
            before, after = torch.tensor([BEGIN, *ids], device=device), torch.tensor([*ids, END], device=device)
            words = torch.tensor(positions, device=device)
            rows = torch.arange(len(positions), device=device)
            logits = model(copies, before.expand(len(positions), -1))[rows, words]
            chosen: Tensor = logits.double().log_softmax(-1).gather(1, after[words, None])
            return chosen[:, 0]

        by_image = gradients(visual_of([image.seen] * len(positions)).to(device), log_probs).seen
        assert by_image is not None  # writers about images take them as input
        return shares(by_image, shape).cpu()

    return torch.cat([of_words(every[first : first + _COPIES]) for first in every[::_COPIES]])


def convolutions_of(model: Any) -> nn.Module | None:
    """Return the module of the last map of an image encoder, None for features."""
    model = _members(model)[0]
    network = getattr(getattr(model, "image_encoder", getattr(model, "encoder", None)), "cnn", None)
    module: nn.Module | None = None if network is None else network.get_submodule(network.last_layer)
    return module


def subject(
    model: Any,
    image: Shown,
    ids: Sequence[int],
    shape: tuple[int, int] | None,
    words: tuple[str, ...] = (),
    attended: Tensor | None = None,
) -> Subject:
    """Return an image and a fixed text about it.

    Args:
        model: a writer about images, in evaluation mode.
        image: the image, or its features.
        ids: of the text, without an end.
        shape: rows and columns of cells, or None of regions.
        words: of the text, with a mark for the end.
        attended: attention weights `(len(ids) + 1, cells)`, or None without attention.
    """
    device = next(model.parameters()).device
    with torch.inference_mode(mode=False):  # answers are computed in inference mode
        before, after = (torch.tensor(row, device=device) for row in ([BEGIN, *ids], [*ids, END]))
        seen = Visual(*(None if part is None else part.clone() for part in visual_of([image.seen]).to(device)[:3]))  # type: ignore[arg-type]

    def features(copies: Tensor) -> Tensor:
        count = len(copies)
        more = (None if part is None else part.expand(count, *part.shape[1:]) for part in seen[1:3])
        if hasattr(model, "members"):  # their probabilities have no common features
            return model(Visual(copies, *more), before.expand(count, -1))  # type: ignore[no-any-return]
        return model.features(Visual(copies, *more), before.expand(count, -1))  # type: ignore[no-any-return]

    positions = seen.values.shape[1] if shape is None else shape[0] * shape[1]
    layers = stacked(model) and attended is not None
    return Subject(
        model=model,
        inputs=seen.values[0],
        features=features,
        output=None if hasattr(model, "members") else model.output,
        targets=after,
        tokens=(),
        outputs=words,
        cells=shape,
        attended=attended,
        readers=positions + torch.arange(len(after))[:, None] if layers else None,
        layer=convolutions_of(model),
    )


def cells_of(model: Any, visual: Visual) -> tuple[int, int] | None:
    """Return the rows and columns of cells, None without an encoder.

    Of an ensemble, the first member with an encoder counts.
    """
    sees = (getattr(member, "image_encoder", getattr(member, "encoder", None)) for member in _members(model))
    encoder: Any = next(filter(None, sees), None)
    shape: tuple[int, int] | None = None if encoder is None else encoder(visual).shape
    return shape


def word_vectors(model: Any) -> list[nn.Module]:
    """Return the embeddings of words that a model or its members read."""
    return [part for member in _members(model) for part in member.modules() if isinstance(part, nn.Embedding)]


def _members(model: Any) -> list[Any]:
    """Return the model, the model before a writer, or those of an ensemble."""
    return [getattr(member, "answerer", member) for member in getattr(model, "members", [model])]
