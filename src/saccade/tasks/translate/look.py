"""Where each target token of a translation comes from: what the model attended to, or else what mattered to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.look import pictures
from saccade.look.files import file_name
from saccade.numerics import divide
from saccade.tasks.translate.batches import Encoded, pad
from saccade.tasks.translate.translation import encode_sources, mention, tokens_of, translate

if TYPE_CHECKING:
    from saccade.tasks.translate.task import Translate

__all__ = ["draw", "influence"]

_TITLE = "No attention: shares of each token's gradient"


def draw(task: "Translate", model: Any, text: str, folder: Path, name: str = "text") -> Iterator[Path]:
    """Translate one text and draw what each token of its best translation attended to, or what mattered to it.

    Args:
        task: the task.
        model: its model.
        text: the source.
        folder: where the pictures go; made if it is not there.
        name: what the text is called where it is too long, which is said.

    Returns:
        The paths of the pictures.
    """
    [source] = encode_sources(task, [text])
    mention(task, name, source)
    with torch.inference_mode():
        [found] = translate(task, model, [source], attended=True)
    for best in found[:1]:
        attends = best.weights is not None
        weights = best.weights if best.weights is not None else influence(model, source.ids, best.ids)
        tokens, title = tokens_of(task, source, best), None if attends else _TITLE
        yield from pictures.alignment(weights, *tokens, folder / file_name(text), title=title)


def influence(model: Any, source: list[int], target: list[int]) -> Tensor:
    r"""Return how much each source token mattered to each target token of a model without attention.

    .. math::
        w_{ts} = \lVert \partial \log p(y_t \mid y_{<t}, x) / \partial E x_s \rVert \Big/ \sum_j w_{tj}

    Args:
        model: a translator with a `source_embedding`, in evaluation mode.
        source: token ids, without an end.
        target: token ids, without an end.

    Returns:
        `(len(target) + 1, len(source) + 1)`, ends included; rows sum to one, or are zero where nothing mattered.

    Source:
        Kalchbrenner et al. 2016, "Neural Machine Translation in Linear Time", figure 6 (there not scaled by rows).
    """
    batch, seen = pad([Encoded(source, target)]).to(next(model.parameters()).device), []
    hook = model.source_embedding.register_forward_hook(lambda module, inputs, output: seen.append(output))
    try:
        with torch.enable_grad():
            logits = model(batch.source, batch.lengths, batch.target[:, :-1])
            gains = logits[0].log_softmax(-1).gather(1, batch.target[0, 1:, None])[:, 0]
            # The source is read before any target, even where both sides have one embedding.
            grads = [torch.autograd.grad(gain, seen[0], retain_graph=True)[0][0] for gain in gains]
    finally:
        hook.remove()
    norms = torch.stack(grads)[:, : len(source) + 1].norm(dim=-1)  # some models read padding behind the source
    return divide(norms, norms.sum(-1, keepdim=True)).cpu()
