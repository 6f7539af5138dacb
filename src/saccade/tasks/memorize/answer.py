"""Answers to questions, and pictures of the memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade import look
from saccade.look import Band
from saccade.look._figure import rounded
from saccade.look._files import file_name
from saccade.models.causal_transformer import CausalTransformer
from saccade.models.lstm import LSTM
from saccade.models.memorizer import Memorizer
from saccade.models.memory_network import MemoryNetwork
from saccade.models.padded import Padded
from saccade.tasks.answered import Answered
from saccade.tasks.batches import in_batches
from saccade.tasks.explaining import Subject, embedded
from saccade.tasks.looking import MOVED, Moved
from saccade.tasks.memorize.data import Language
from saccade.tasks.memorize.episode import Episode, pad
from saccade.train.task import Form

__all__ = ["Asked", "MemoryAnswer", "described", "explained", "logits_of", "memories", "methods_of", "subject"]

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
        asked: the question, None for a blank or unreadable line.
        texts: answers, the most probable first.
        count: number of answers in the request.
        steps: input or answer at each step. () for vectors, and for lines of text.
        memory: attention and state by name, `(cells, steps)`.
        panels: bands of the picture, () if none is drawn.
        title: of the picture, behind the question.
        moved: how the logits at answering steps move with each input, `(asked, steps)`, if it is drawn.
    """

    asked: Asked | None
    texts: Sequence[str]
    count: int = 1
    steps: Sequence[str] = ()
    memory: Mapping[str, Tensor] = field(default_factory=dict)
    panels: Sequence[Band] = ()
    title: str = ""
    moved: Moved | None = None

    def lines(self) -> list[str]:
        """Return the answers, padded with blank lines to `count`."""
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
        title = f"{text if len(text) <= _TITLE else f'{episode.order} steps'}: {self.title}"
        if self.moved is None:
            yield from look.traces(self.panels, path, steps=self.steps, title=title, json=json)
            return
        values, _, scale, signed = self.moved
        names = list(self.steps) or [str(step) for step in range(1, 1 + values.shape[1])]
        rows = [name for name, answering in zip(names, episode.asked, strict=False) if answering]
        options: dict[str, Any] = {"title": title, "scale": scale, "signed": signed, "verb": MOVED}
        yield from look.alignment(values, names, rows, path, json=json, **options)


def logits_of(model: Memorizer, episodes: Sequence[Episode]) -> list[Tensor]:
    """Return the logits `(asked, targets)` at answering steps, on the CPU."""
    device = next(model.parameters()).device

    def read(indices: Sequence[int]) -> list[Tensor]:
        batch = pad([episodes[index] for index in indices])
        logits = model(batch.source.to(device)).detach().float().cpu()
        return [row[answering] for row, answering in zip(logits, batch.asked, strict=True)]

    nbytes = max((memory.nbytes(memory.cells) for memory in memories(model)), default=0)
    least = _STEPS * nbytes // _BYTES  # the memories of a batch must fit into _BYTES
    return in_batches([max(episode.order, least) for episode in episodes], _STEPS, read)


def memories(model: nn.Module) -> list[MemoryNetwork]:
    """Return the models with an external memory: the model, or members of an ensemble."""
    return [module for module in model.modules() if isinstance(module, MemoryNetwork)]


def described(
    model: Memorizer, question: Asked, logits: Tensor, language: Language, count: int, form: Form, request: Any
) -> MemoryAnswer:
    """Return the answer to a question.

    Args:
        model: in evaluation mode.
        question: the question, which is not blank.
        logits: at its answering steps.
        language: of questions and answers.
        count: number of answers.
        form: parts of the answer that are needed.
        request: options of the picture, if there are any.
    """
    answer = MemoryAnswer(question, language.said(logits, count), count)
    if form == "lines" or question.episode is None:
        return answer
    steps = language.labels(question.text, answer.texts[0])
    episode = Episode(*(part[: len(steps) or None] for part in question.episode))  # without steps behind the end
    if form == "pictures" and (by := getattr(request, "by", None)) not in (None, "attention"):
        scores = subject(model, episode, logits, steps).scores(by, signed=request.signed)
        moved = Moved.by(by, scores.values, scores.method, signed=request.signed)
        return replace(answer, steps=steps, title=moved.title, moved=moved)
    with look.record(model, detach=True, required=False) as records:
        trace = model.trace(pad([episode]).source.to(next(model.parameters()).device))
    answer = replace(answer, steps=steps, memory={**trace, **model.attended(records)})
    if form == "json":
        return answer
    panels = [
        Band(name, values, square=name.endswith("links"), ring=name in trace) for name, values in answer.memory.items()
    ]
    if language.sizes.symbols:
        return replace(answer, panels=panels, title="what was read, said and remembered")
    right, where = (logits > 0) == (episode.wanted > 0.5), torch.from_numpy(episode.asked)
    answered = [Band.along("right", episode.wanted, where), Band.along("said", logits.sigmoid(), where)]
    inputs = Band("input", torch.from_numpy(episode.inputs).T, whole=True)
    return replace(answer, panels=[inputs, *answered, *panels], title=f"{right.sum()} of {right.numel()} bits right")


def methods_of(model: Any, language: Language) -> list[str]:
    """Return the names of the methods of a model.

    Vectors of bits have no probability of an answer.
    """
    member = getattr(model, "members", [model])[0]
    looks = type(member).attended is not Memorizer.attended and not isinstance(member, LSTM)  # which draws its gate
    names = ["attention"] * (looks or bool(memories(member)))
    if hasattr(model, "members"):
        return names
    transformer, symbols = isinstance(model, CausalTransformer), language.sizes.symbols
    names += ["rollout", "flow"] * transformer
    names += ["gradient", *["grad-cam"] * transformer, "integrated-gradients"] if symbols else []
    return [*names, "jacobian"]


def explained(model: Any, question: Asked, logits: Tensor, language: Language) -> Subject:
    """Return a question with its answer, without the steps behind its end.

    Args:
        model: in evaluation mode.
        question: the question, which is not blank.
        logits: at the answering steps.
        language: of questions and answers.
    """
    assert question.episode is not None
    [text] = language.said(logits, 1)
    steps = language.labels(question.text, text)
    episode = Episode(*(part[: len(steps) or None] for part in question.episode))
    answer = subject(model, episode, logits, steps)
    with look.record(model, detach=True, required=False) as records:
        model.trace(pad([episode]).source.to(next(model.parameters()).device))
    matrices = [*model.attended(records).values()]
    if not matrices or any(matrix.shape != (len(steps or episode.asked),) * 2 for matrix in matrices):
        return answer
    mean = torch.stack([matrix.mT.float() for matrix in matrices]).mean(0)
    return replace(answer, attended=mean[torch.as_tensor(episode.asked).bool()])


def subject(model: Any, episode: Episode, logits: Tensor, texts: Sequence[str]) -> Subject:
    """Return a question and the answers at its answering steps.

    Args:
        model: in evaluation mode.
        episode: the sequence of a question, without steps behind the end.
        logits: at the answering steps.
        texts: input or answer at each step, () for vectors.
    """
    source, _, answering = pad([episode]).to(next(model.parameters()).device)
    asked = answering[0].clone()
    names = tuple(texts) or tuple(str(step) for step in range(1, 1 + len(asked)))

    def features(copies: Padded) -> Tensor:
        states: Tensor = model.features(model.read(copies))[:, asked]
        return states

    embedding = getattr(model, "members", [model])[0].embedding
    vectors, run = embedded(embedding, source, features)
    answering_steps, layers = asked.nonzero(), isinstance(model, CausalTransformer)
    return Subject(
        model=model,
        inputs=vectors,
        features=run,
        output=getattr(model, "output", None),
        targets=logits[: len(answering_steps)].argmax(-1),
        tokens=names,
        outputs=tuple(name for name, written in zip(names, asked.tolist(), strict=False) if written),
        readers=answering_steps if layers else None,
        layer=model.norm if layers else None,
    )
