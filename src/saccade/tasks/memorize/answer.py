"""What a model says to a question, and what its memory did as it was asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade import look
from saccade.look import Band, sequential_jacobian, shares
from saccade.look._figure import rounded
from saccade.look._files import file_name
from saccade.look._jacobian import returning
from saccade.models.memorizer import Memorizer
from saccade.models.memory_network import MemoryNetwork
from saccade.models.padded import Padded
from saccade.tasks.answered import Answered
from saccade.tasks.batches import in_batches
from saccade.tasks.looking import JACOBIAN, MOVED, By
from saccade.tasks.memorize.data.episode import Batch, Episode, pad
from saccade.tasks.memorize.languages import Language
from saccade.train.task import Form

__all__ = ["Asked", "MemoryAnswer", "answers", "logits_of", "memories"]

_TITLE = 40  # characters of a question that a title holds
_STEPS = 20_000  # of sequences that are read at once, padding included
_BYTES = 1 << 30  # of external memories that are read at once


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
        steps: what is read or said at each step, in a few characters; none of vectors, nor where only lines are wanted.
        memory: what was attended to, and what the state did, by names: a row a place, of numbers a step.
        jacobian: how much all logits of each step that is asked move with what is read at each, `(asked, steps)`, where
            a picture is wanted of that.
    """

    asked: Asked | None
    texts: Sequence[str]
    count: int = 1
    panels: Sequence[Band] = ()
    steps: Sequence[str] = ()
    memory: Mapping[str, Tensor] = field(default_factory=dict)
    jacobian: Tensor | None = None

    def lines(self) -> list[str]:
        """Return what was said, blank lines where there are fewer answers than were asked for."""
        return [*self.texts, *[""] * (self.count - len(self.texts))]

    def to_json(self) -> dict[str, Any]:
        """Return the question, what was said, the likeliest first, and what was attended to."""
        memory = {name: rounded(values.tolist()) for name, values in self.memory.items()}
        asked = "" if self.asked is None else self.asked.text
        return {"input": asked, "outputs": list(self.texts), "steps": list(self.steps), "memory": memory}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw what was read and said, and what the memory did meanwhile, step by step."""
        if self.asked is None or self.asked.episode is None:
            return
        told = self.asked.text if len(self.asked.text) <= _TITLE else f"{self.asked.episode.order} steps"
        if self.jacobian is not None:
            yield from self._moved(folder / file_name(self.asked.text), f"{told}: {JACOBIAN}", json=json)
            return
        title, path = f"{told}: {_verdict(self.panels)}", folder / file_name(self.asked.text)
        yield from look.traces(self.panels, path, steps=self.steps, title=title, json=json)

    def _moved(self, path: Path, title: str, *, json: bool) -> list[Path]:
        """Draw the Jacobian: a row for each step at which something is said, a column for what is read."""
        assert self.jacobian is not None
        assert self.asked is not None
        assert self.asked.episode is not None
        names = list(self.steps) or [str(step) for step in range(1, 1 + self.jacobian.shape[1])]
        said = [name for name, asked in zip(names, self.asked.episode.asked, strict=False) if asked]
        return look.alignment(
            shares(self.jacobian), names, said, path, title=title, verb=MOVED, scale="share", json=json
        )


def _verdict(bands: Sequence[Band]) -> str:
    """How many of the bits that were said are right, if that is known.

    >>> _verdict([Band("right", torch.tensor([[1.0, 0.0]])), Band("said", torch.tensor([[0.9, 0.8]]))])
    '1 of 2 bits right'
    """
    values = {band.name: band.values for band in bands}
    if "right" not in values:
        return "what was read, said and remembered"
    known = ~values["right"].isnan()
    right = (values["right"][known] > 0.5) == (values["said"][known] > 0.5)
    return f"{int(right.sum())} of {len(right)} bits right"


def logits_of(model: Memorizer, episodes: Sequence[Episode]) -> list[Tensor]:
    """Return the logits at the steps of each sequence that are asked, `(asked, targets)` on the CPU."""
    device = next(model.parameters()).device

    def read(places: Sequence[int]) -> list[Tensor]:
        batch: Batch = pad([episodes[place] for place in places])
        found = model(batch.source.to(device)).detach().float().cpu()
        return [row[asked] for row, asked in zip(found, batch.asked, strict=True)]

    taken = max((memory.nbytes(memory.cells) for memory in memories(model)), default=0)
    least = _STEPS * taken // _BYTES  # so that no more are read together than there is room for their memories
    return in_batches([max(episode.order, least) for episode in episodes], _STEPS, read)


def memories(model: nn.Module) -> list[MemoryNetwork]:
    """Return the models with an external memory: itself, or those of an ensemble."""
    return [module for module in model.modules() if isinstance(module, MemoryNetwork)]


def answers(
    model: Memorizer, inputs: Sequence[Any], language: Language, count: int, form: Form, by: By | None = None
) -> list[MemoryAnswer]:
    """Return what a model says to each question; a blank line and one that could not be read have blank answers."""
    filled = [each for each in inputs if isinstance(each, Asked) and each.episode is not None]
    episodes = [each.episode for each in filled if each.episode is not None]
    said = dict(zip(map(id, filled), logits_of(model, episodes), strict=True))
    return [_answer(model, each, said.get(id(each)), language, count, form, by) for each in inputs]


def _answer(
    model: Memorizer, asked: Any, logits: Tensor | None, language: Language, count: int, form: Form, by: By | None
) -> MemoryAnswer:
    if logits is None or asked.episode is None:
        return MemoryAnswer(None, [], count)
    texts = language.said(logits, count)
    if form == "lines":
        return MemoryAnswer(asked, texts, count)
    steps = language.labels(asked.text, texts[0])
    episode = Episode(*(part[: len(steps) or None] for part in asked.episode))  # nothing is said behind an end
    if form == "pictures" and by == "jacobian":
        return MemoryAnswer(asked, texts, count, (), steps, jacobian=jacobian(model, episode))
    trace, attended = _remembered(model, episode)
    panels = _panels(trace, attended, episode, logits, language) if form == "pictures" else ()
    return MemoryAnswer(asked, texts, count, panels, steps, {**trace, **attended})


def jacobian(model: Memorizer, episode: Episode) -> Tensor:
    r"""Return how much all logits of each step that is asked move with what is read at each step.

    .. math:: J_{ts} = \lVert \partial y_t / \partial E x_s \rVert_F

    Args:
        model: in evaluation mode.
        episode: the sequence.

    Returns:
        `(asked, length)`, in float64 on the CPU.
    """
    with torch.inference_mode(mode=False), torch.no_grad():  # whoever answers is within that mode
        batch = pad([episode]).to(next(model.parameters()).device)
        values, lengths = batch.source
        vectors = model.embedding(values)[0]

    def logits_of_copies(moved: Tensor) -> Tensor:
        copies = Padded(values.expand(len(moved), *values.shape[1:]), lengths.expand(len(moved)))
        with returning(model.embedding, moved):
            read = model.read(copies)
        logits: Tensor = model.output(model.features(read)[:, batch.asked[0]])
        return logits

    return sequential_jacobian(logits_of_copies, vectors).cpu()


def _remembered(model: Memorizer, episode: Episode) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
    """What the state of a model did as it read, and what each step attended to."""
    device = next(model.parameters()).device
    with look.record(model, detach=True, required=False) as records:
        trace = model.trace(pad([episode]).source.to(device))
    return trace, model.attended(records)


def _panels(
    trace: Mapping[str, Tensor], attended: Mapping[str, Tensor], episode: Episode, logits: Tensor, language: Language
) -> list[Band]:
    """What was read, what is right, what was said, and the memory."""
    shown = {**trace, **attended}
    memory = [Band(name, values, square=name.endswith("links"), ring=name in trace) for name, values in shown.items()]
    if language.sizes.symbols:
        return memory
    asked = torch.from_numpy(episode.asked)
    read = torch.from_numpy(episode.inputs).T
    right = [Band.along("right", episode.wanted, asked)] if language.knows else []
    return [Band("input", read, whole=True), *right, Band.along("said", logits.sigmoid(), asked), *memory]
