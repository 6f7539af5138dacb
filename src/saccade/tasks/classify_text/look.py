"""Which words a classifier attended to, or what each of them added where it attends to nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.look.files import file_name
from saccade.look.highlights import highlights
from saccade.tasks.classify_text.answers import Answer, classify, mention

if TYPE_CHECKING:
    from saccade.tasks.classify_text.task import ClassifyText

__all__ = ["draw"]


def draw(task: "ClassifyText", model: Any, text: str, folder: Path, name: str = "text") -> Iterator[Path]:
    """Classify one text and colour its words by the attention that they got, or by what they added to the answer.

    Args:
        task: the task.
        model: its model.
        text: the text.
        folder: where the pictures go; made if it is not there.
        name: what the text is called where it is too long, which is said.

    Returns:
        The paths of the pictures.
    """
    mention(task, name, text)
    with torch.inference_mode():
        [answer] = classify(task, model, [text], attended=True)
        if answer is None:
            return
        best = answer.ranked()[0]
        rows = answer.weights if answer.weights is not None else _shares(task, model, answer, best)
    label = f"{task.labels[best]} {float(answer.probabilities[best]):.2f}"
    if answer.weights is not None:
        title = f"{label}: attention of {'the learned query' if len(rows) == 1 else f'{len(rows)} learned queries'}"
    else:
        title = f"{label}: no attention; what each word adds to the logit of {task.labels[best]} over the others"
    yield from highlights(rows, answer.tokens, folder / file_name(text), title=title)


def _shares(task: "ClassifyText", model: Any, answer: Answer, label: int) -> Tensor:
    device = next(model.parameters()).device
    shares = model.shares(torch.tensor(task.words.numbers(answer.tokens), device=device), label)
    return shares.cpu()[None]  # type: ignore[no-any-return]
