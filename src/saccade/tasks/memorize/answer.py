"""What a model says to a question, and what its memory did as it was asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import look
from saccade.look.files import file_name
from saccade.look.traces import Panel, traces
from saccade.models.memorizer import Memorizer
from saccade.tasks.answered import Answered
from saccade.tasks.batches import in_batches
from saccade.tasks.memorize.data.episode import Batch, Episode, pad
from saccade.tasks.memorize.languages import Language
from saccade.train.task import Form

__all__ = ["Asked", "MemoryAnswer", "answers", "logits_of"]

_TITLE = 40  # characters of a question that a title holds
_STEPS = 20_000  # of sequences that are read at once, padding included


class Asked(NamedTuple):
    """A question, as it was given and as it is read."""

    text: str
    episode: Episode | None
    """None of a blank line."""

    @property
    def inputs(self) -> list[Any]:
        """What is read at each step."""
        found: list[Any] = [] if self.episode is None else self.episode.inputs.tolist()
        return found


@dataclass(frozen=True, repr=False)
class MemoryAnswer(Answered):
    """What a model says to one question.

    Args:
        asked: the question; None of a line that was blank or could not be read.
        texts: what was said, the likeliest first.
        count: how many answers were asked for.
        panels: what is drawn; none where no picture is wanted.
        steps: what is read at each step, in a few characters; none of vectors.
    """

    asked: Asked | None
    texts: Sequence[str]
    count: int = 1
    panels: Sequence[Panel] = ()
    steps: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Return what was said, blank lines where there are fewer answers than were asked for."""
        return [*self.texts, *[""] * (self.count - len(self.texts))]

    def to_json(self) -> dict[str, Any]:
        """Return the question and what was said, the likeliest first."""
        return {"input": "" if self.asked is None else self.asked.text, "outputs": list(self.texts)}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw what was read and said, and what the memory did meanwhile, step by step."""
        if self.asked is None or self.asked.episode is None:
            return
        told = self.asked.text if len(self.asked.text) <= _TITLE else f"{self.asked.episode.order} steps"
        title = f"{told}: what was read, said and remembered"
        yield from traces(self.panels, folder / file_name(self.asked.text), steps=self.steps, title=title, json=json)


def logits_of(model: Memorizer, episodes: Sequence[Episode]) -> list[Tensor]:
    """Return the logits at the steps of each sequence that are asked, `(asked, targets)` on the CPU."""
    device = next(model.parameters()).device

    def read(places: Sequence[int]) -> list[Tensor]:
        batch: Batch = pad([episodes[place] for place in places])
        found = model(batch.source.to(device)).detach().float().cpu()
        return [row[asked] for row, asked in zip(found, batch.asked, strict=True)]

    return in_batches([episode.order for episode in episodes], _STEPS, read)


def answers(model: Memorizer, inputs: Sequence[Any], language: Language, count: int, form: Form) -> list[MemoryAnswer]:
    """Return what a model says to each question; a blank line and one that could not be read have blank answers."""
    filled = [each for each in inputs if isinstance(each, Asked) and each.episode is not None]
    episodes = [each.episode for each in filled if each.episode is not None]
    said = dict(zip(map(id, filled), logits_of(model, episodes), strict=True))
    return [_answer(model, each, said.get(id(each)), language, count, form) for each in inputs]


def _answer(
    model: Memorizer, asked: Any, logits: Tensor | None, language: Language, count: int, form: Form
) -> MemoryAnswer:
    if logits is None or asked.episode is None:
        return MemoryAnswer(None, [], count)
    texts = language.said(logits, count)
    if form != "pictures":
        return MemoryAnswer(asked, texts, count)
    steps = language.labels(asked.text, texts[0])
    return MemoryAnswer(asked, texts, count, _panels(model, asked.episode, logits, language), steps)


def _panels(model: Memorizer, episode: Episode, logits: Tensor, language: Language) -> list[Panel]:
    """What was read, what is right, what was said, and the memory."""
    device = next(model.parameters()).device
    with look.record(model, detach=True) as records:
        trace = model.trace(pad([episode]).source.to(device))
    shown = {**trace, **model.attended(records)}
    memory = [Panel(name, values, square=name.endswith("links"), ring=name in trace) for name, values in shown.items()]
    if language.sizes.symbols:
        return memory
    asked = torch.from_numpy(episode.asked)
    read = torch.from_numpy(episode.inputs).T
    right = [Panel.along("right", episode.wanted, asked)] if language.knows else []
    return [Panel("input", read, whole=True), *right, Panel.along("said", logits.sigmoid(), asked), *memory]
