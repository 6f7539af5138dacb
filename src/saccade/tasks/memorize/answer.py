"""Answers to questions, and pictures of the memory."""

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

_TITLE = 40  # characters of a question in a title
_STEPS = 20_000  # of the sequences of a batch, padding included
_BYTES = 1 << 30  # of the external memories of a batch


class Asked(NamedTuple):
    """A question as text and as a sequence, None for a blank line."""

    text: str
    episode: Episode | None

    @property
    def inputs(self) -> list[Any]:
        """Ids or vectors of the steps."""
        return [] if self.episode is None else list(self.episode.inputs.tolist())


@dataclass(frozen=True, repr=False)
class MemoryAnswer(Answered):
    """Answer to a question.

    Args:
        asked: the question, None for a line that is blank or could not be read.
        texts: answers, the most probable first.
        count: number of answers that the request asks for.
        panels: bands of the picture, () if none is drawn.
        steps: input or answer at each step. () for vectors, and for lines of text.
        memory: attention and state by name, `(cells, steps)`.
        jacobian: sensitivity of the logits at answering steps to each input, `(asked, steps)`, if it is drawn.
    """

    asked: Asked | None
    texts: Sequence[str]
    count: int = 1
    panels: Sequence[Band] = ()
    steps: Sequence[str] = ()
    memory: Mapping[str, Tensor] = field(default_factory=dict)
    jacobian: Tensor | None = None

    def lines(self) -> list[str]:
        """Return the answers, and a blank line for each that is missing."""
        return [*self.texts, *[""] * (self.count - len(self.texts))]

    def to_json(self) -> dict[str, Any]:
        """Return the question, the answers and the memory."""
        memory = {name: rounded(values.tolist()) for name, values in self.memory.items()}
        text = "" if self.asked is None else self.asked.text
        return {"input": text, "outputs": list(self.texts), "steps": list(self.steps), "memory": memory}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw inputs, answers and the memory by step, or the Jacobian."""
        if self.asked is None or (episode := self.asked.episode) is None:
            return
        text, path = self.asked.text, folder / file_name(self.asked.text)
        subject = text if len(text) <= _TITLE else f"{episode.order} steps"
        if self.jacobian is None:
            title = f"{subject}: {_verdict(self.panels)}"
            yield from look.traces(self.panels, path, steps=self.steps, title=title, json=json)
            return
        names = list(self.steps) or [str(step) for step in range(1, 1 + self.jacobian.shape[1])]
        rows = [name for name, asked in zip(names, episode.asked, strict=False) if asked]
        title, values = f"{subject}: {JACOBIAN}", shares(self.jacobian)
        yield from look.alignment(values, names, rows, path, title=title, verb=MOVED, scale="share", json=json)


def _verdict(bands: Sequence[Band]) -> str:
    """Return the number of right bits, if it follows from the question.

    >>> _verdict([Band("right", torch.tensor([[1.0, 0.0]])), Band("said", torch.tensor([[0.9, 0.8]]))])
    '1 of 2 bits right'
    """
    values = {band.name: band.values for band in bands}
    if "right" not in values:
        return "what was read, said and remembered"
    answered = ~values["right"].isnan()
    right = (values["right"][answered] > 0.5) == (values["said"][answered] > 0.5)
    return f"{int(right.sum())} of {len(right)} bits right"


def logits_of(model: Memorizer, episodes: Sequence[Episode]) -> list[Tensor]:
    """Return the logits at the answering steps of each sequence, `(asked, targets)`, on the CPU."""
    device = next(model.parameters()).device

    def read(places: Sequence[int]) -> list[Tensor]:
        batch: Batch = pad([episodes[place] for place in places])
        logits = model(batch.source.to(device)).detach().float().cpu()
        return [row[asked] for row, asked in zip(logits, batch.asked, strict=True)]

    nbytes = max((memory.nbytes(memory.cells) for memory in memories(model)), default=0)
    least = _STEPS * nbytes // _BYTES  # the memories of a batch have to fit into _BYTES
    return in_batches([max(episode.order, least) for episode in episodes], _STEPS, read)


def memories(model: nn.Module) -> list[MemoryNetwork]:
    """Return the models with an external memory: the model, or members of an ensemble."""
    return [module for module in model.modules() if isinstance(module, MemoryNetwork)]


def answers(
    model: Memorizer, inputs: Sequence[Any], language: Language, count: int, form: Form, by: By | None = None
) -> list[MemoryAnswer]:
    """Answer questions. Blank lines and lines that could not be read have blank answers."""
    episodes = [getattr(question, "episode", None) for question in inputs]
    logits = iter(logits_of(model, [episode for episode in episodes if episode is not None]))
    rows = [None if episode is None else next(logits) for episode in episodes]
    pairs = zip(inputs, rows, strict=True)
    return [_answer(model, question, row, language, count, form, by) for question, row in pairs]


def _answer(
    model: Memorizer, asked: Any, logits: Tensor | None, language: Language, count: int, form: Form, by: By | None
) -> MemoryAnswer:
    if logits is None or asked.episode is None:
        return MemoryAnswer(None, [], count)
    texts = language.said(logits, count)
    if form == "lines":
        return MemoryAnswer(asked, texts, count)
    steps = language.labels(asked.text, texts[0])
    episode = Episode(*(part[: len(steps) or None] for part in asked.episode))  # without steps behind the end
    if form == "pictures" and by == "jacobian":
        return MemoryAnswer(asked, texts, count, (), steps, jacobian=jacobian(model, episode))
    trace, attended = _remembered(model, episode)
    panels = _panels(trace, attended, episode, logits, language) if form == "pictures" else ()
    return MemoryAnswer(asked, texts, count, panels, steps, {**trace, **attended})


def jacobian(model: Memorizer, episode: Episode) -> Tensor:
    r"""Return the sensitivity of the logits at each answering step to the input at each step.

    .. math:: J_{ts} = \lVert \partial y_t / \partial E x_s \rVert_F

    Args:
        model: in evaluation mode.
        episode: the sequence.

    Returns:
        `(asked, length)`, in float64 on the CPU.
    """
    with torch.inference_mode(mode=False), torch.no_grad():  # answers are computed in inference mode
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
    """State and attention at each step."""
    device = next(model.parameters()).device
    with look.record(model, detach=True, required=False) as records:
        trace = model.trace(pad([episode]).source.to(device))
    return trace, model.attended(records)


def _panels(
    trace: Mapping[str, Tensor], attended: Mapping[str, Tensor], episode: Episode, logits: Tensor, language: Language
) -> list[Band]:
    """Bands of the inputs, the right answer, the answer and the memory."""
    shown = {**trace, **attended}
    memory = [Band(name, values, square=name.endswith("links"), ring=name in trace) for name, values in shown.items()]
    if language.sizes.symbols:
        return memory
    asked = torch.from_numpy(episode.asked)
    read = torch.from_numpy(episode.inputs).T
    right = [Band.along("right", episode.wanted, asked)] if language.knows else []
    return [Band("input", read, whole=True), *right, Band.along("said", logits.sigmoid(), asked), *memory]
