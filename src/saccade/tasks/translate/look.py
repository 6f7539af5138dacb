"""The alignment of a translation: for each target token, where in the source the model looked when it wrote it."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from saccade import look
from saccade.look import pictures
from saccade.tasks.decoding import search
from saccade.tasks.translate.batches import Encoded, pad
from saccade.tasks.translate.tokenizer import BEGIN, END

if TYPE_CHECKING:
    from saccade.tasks.translate.task import Translate

__all__ = ["draw"]

_END_MARK = "⏎"
_NOTHING = "·"  # a special token in the middle, as untrained models write them


def draw(task: "Translate", model: Any, text: str, folder: Path) -> Iterator[Path]:
    """Translate one text greedily and draw what each step attended to.

    Args:
        task: the task.
        model: its model; must attend once a step.
        text: the source.
        folder: where the pictures go; made if it is not there.

    Returns:
        The paths of the pictures.
    """
    batch = pad([Encoded(task.encode_source(text), [])]).to(next(model.parameters()).device)
    with torch.inference_mode(), look.record(model) as records:
        state = model.encode(batch.source, batch.lengths)
        found = search(model, state, task.limits(batch.lengths), begin=BEGIN, end=END)
    target = [*(task.target.decode([number]) or _NOTHING for number in found.lists()[0][0]), _END_MARK]
    source = [*task.source.pieces(text.strip()), _END_MARK]
    weights = torch.cat([aux.weights[0] for _, aux in records if aux.weights is not None])
    yield from pictures.alignment(weights, source, target, folder / _file_name(text))


def _file_name(text: str) -> str:
    """The text as a file name: letters, marks and digits of any script, else dashes, not longer than systems allow."""
    kept = (character if _names(character) else "-" for character in text[:200])
    return re.sub("-+", "-", "".join(kept)).strip("-")[:40] or "text"


def _names(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
