"""The alignment of a translation: for each target token, where in the source the model looked when it wrote it."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from saccade.errors import SaccadeError
from saccade.look import pictures
from saccade.tasks.translate.translation import encode_sources, tokens_of, translate

if TYPE_CHECKING:
    from saccade.tasks.translate.task import Translate

__all__ = ["draw"]


def draw(task: "Translate", model: Any, text: str, folder: Path) -> Iterator[Path]:
    """Translate one text and draw what each token of its best translation attended to.

    Args:
        task: the task.
        model: its model.
        text: the source.
        folder: where the pictures go; made if it is not there.

    Returns:
        The paths of the pictures.

    Raises:
        SaccadeError: if the model has no attention.
    """
    [source] = encode_sources(task, [text])
    with torch.inference_mode():
        [found] = translate(task, model, [source], attended=True)
    for best in found[:1]:
        if best.weights is None:
            raise SaccadeError(f"{task.settings.model}: it attends to nothing that could be drawn")
        sources, targets = tokens_of(task, source, best)
        yield from pictures.alignment(best.weights, sources, targets, folder / _file_name(text))


def _file_name(text: str) -> str:
    """The text as a file name: letters, marks and digits of any script, else dashes, not longer than systems allow."""
    kept = (character if _names(character) else "-" for character in text[:200])
    return re.sub("-+", "-", "".join(kept)).strip("-")[:40] or "text"


def _names(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
