"""How much each part of an image and each word of a question moves an answer."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded

__all__ = ["Gradients", "Score", "cells_of", "gradients", "images_of"]

Score = Callable[[Visual, Padded], Tensor]
"""What is moved: a number for each question of a batch, `(batch,)`."""


class Gradients(NamedTuple):
    """The gradients of a number of each question.

    >>> Gradients(torch.zeros(2, 3, 8, 8), None).seen.shape
    torch.Size([2, 3, 8, 8])
    """

    seen: Tensor | None
    """By pixels `(batch, channels, height, width)`, or by features `(batch, n, dim)`; None of models that see none."""
    words: Tensor | None
    """The norm of that by each word's vector, `(batch, length)`; None of models that read none."""


def gradients(model: nn.Module, visual: Visual, question: Padded, score: Score) -> Gradients:
    """Return what moves a number of each question, all of a batch at once: none depends on what is asked beside it.

    Args:
        model: in evaluation mode.
        visual: images or features of a batch, one for each question: see `images_of`.
        question: ids of words `(batch, length)`.
        score: computes the numbers by the model.

    Example:
        >>> from saccade.models.question_only import QuestionOnly
        >>> model, question = QuestionOnly(3, 9, 5).eval(), Padded(torch.tensor([[4, 5]]), torch.tensor([2]))
        >>> found = gradients(model, Visual(torch.rand(1, 3, 8, 8)), question, lambda *given: model(*given)[:, 0])
        >>> found.seen is None, found.words.shape
        (True, torch.Size([1, 2]))
    """
    vectors = list[Tensor]()
    reading = [part for each in _answerers(model) for part in each.modules() if isinstance(part, nn.Embedding)]
    # Whoever answers asks for no gradients, and cuDNN has none of recurrent layers in evaluation mode.
    with torch.inference_mode(mode=False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        values = visual.values.clone().requires_grad_()
        given = visual._replace(values=values, **{n: _own(getattr(visual, n)) for n in ("boxes", "lengths")})
        asked = Padded(question.values.clone(), question.lengths.clone())
        hooks = [each.register_forward_hook(lambda _, __, output: vectors.append(output)) for each in reading]
        try:
            total = score(given, asked).sum()
        finally:
            for hook in hooks:
                hook.remove()
        grads = torch.autograd.grad(total, [values, *vectors], allow_unused=True)
    sizes = [grad.norm(dim=-1) for grad in grads[1:] if grad is not None]
    return Gradients(grads[0], torch.stack(sizes).sum(0) if sizes else None)


def images_of(visual: Visual, rows: Sequence[int]) -> Visual:
    """Return the image of each of some questions, which may be about one and the same in the batch.

    Args:
        visual: images or features of a batch.
        rows: of the questions.

    Example:
        >>> two = Visual(torch.tensor([1.0, 2.0]).view(2, 1, 1, 1), about=torch.tensor([0, 0, 1]))
        >>> images_of(two, [1, 2]).values.flatten()
        tensor([1., 2.])
    """
    places = torch.tensor(rows, device=visual.values.device)
    places = places if visual.about is None else visual.about[places]
    values, boxes, lengths = (None if part is None else part[places] for part in visual[:3])
    assert values is not None
    return Visual(values, boxes, lengths)


def cells_of(model: Any, visual: Visual) -> tuple[int, int] | None:
    """Return the rows and columns of cells that a model, or the first of an ensemble that sees, has of images.

    None of regions, and of models that see none.
    """
    encoder = next((each.encoder for each in _answerers(model) if hasattr(each, "encoder")), None)
    found: tuple[int, int] | None = None if encoder is None else encoder(visual).shape
    return found


def _answerers(model: Any) -> list[Any]:
    """What reads questions: the model, the members of an ensemble, or what one that writes begins with."""
    return [getattr(member, "answerer", member) for member in getattr(model, "members", [model])]


def _own(part: Tensor | None) -> Tensor | None:
    return None if part is None else part.clone()
