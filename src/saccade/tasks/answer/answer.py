"""What a model makes of a question about an image, and where it looked for the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.look.answered import answered
from saccade.look.files import file_name
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.numerics import divide
from saccade.tasks.answer.options import LookRequest
from saccade.tasks.image.dataset import pixels
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.train.task import Form, Unreadable

__all__ = ["Query", "Seen", "VisualAnswer", "answers"]

_TOP = 5  # answers in a picture


class Query(NamedTuple):
    """A question about an image, as it is asked: the image's name, `(3, height, width)`, uint8, and words with ids."""

    name: str
    image: Tensor
    question: str
    tokens: list[str]
    ids: list[int]


class Seen(NamedTuple):
    """What an answer was read from: maps `(panels, rows, columns)` with a caption each, and a number for each word."""

    by: str
    maps: Tensor
    captions: list[str]
    words: Tensor | None
    even: float


@dataclass(frozen=True)
class VisualAnswer:
    """What a model makes of one question.

    Args:
        query: the question and its image.
        ranking: its answers; None if it could not be read.
        count: how many answers were asked for.
        seen: what it was read from; None if nobody asks.
    """

    query: Query | Unreadable
    ranking: Ranking | None
    count: int
    seen: Seen | None = None

    remark = ""

    def lines(self) -> list[str]:
        """Return the most probable answers, each with a tab and its probability; blank lines where there is none."""
        return [""] * self.count if self.ranking is None else self.ranking.lines(self.count)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:  # not its tensors, where answers are looked at in a list
        return f"{type(self).__name__}({str(self)!r})"

    def to_json(self) -> dict[str, Any]:
        """Return image and question, the most probable answers, the probabilities of all, and what was looked at."""
        if self.ranking is None or isinstance(self.query, Unreadable):
            line = self.query.line if isinstance(self.query, Unreadable) else self.query.name
            return {"line": line, "answers": [], "probabilities": {}}
        found: dict[str, Any] = {"file": self.query.name, "question": self.query.question, "tokens": self.query.tokens}
        found |= self.ranking.to_json(self.count)
        if self.seen is not None and self.seen.by == "attention":
            found["weights"] = dict(zip(self.seen.captions, _rounded(self.seen.maps.tolist()), strict=True))
            found["words"] = None if self.seen.words is None else _rounded(self.seen.words.tolist())
        return found

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the image, where was looked, the question's words and the most probable answers, as one picture."""
        if self.seen is None or self.ranking is None or isinstance(self.query, Unreadable):
            return
        best = [(self.ranking.labels[n], float(self.ranking.probabilities[n])) for n in self.ranking.order[:_TOP]]
        name = f"{Path(self.query.name).stem}-{self.query.question}"
        told = "" if self.seen.by == "attention" else ": how much each pixel and word moves it, the most as 1"
        yield from answered(
            self.query.image,
            self.seen.maps,
            self.query.tokens,
            folder / f"{file_name(name)[:120]}-{self.seen.by}",
            answers=best,
            captions=self.seen.captions,
            words=self.seen.words,
            title=f"{self.ranking.title}{told}",
            even=self.seen.even,
            json=json,
        )


def answers(
    model: Any,
    queries: Sequence[Query | Unreadable],
    labels: tuple[str, ...],
    count: int,
    form: Form,
    look: LookRequest,
) -> list[VisualAnswer]:
    """Return what a model makes of each question, one by one, so that none depends on what is asked beside it.

    Args:
        model: in evaluation mode.
        queries: the questions.
        labels: all answers.
        count: how many are wanted.
        form: what the answers will be written as.
        look: what a picture shows.
    """
    device, found = next(model.parameters()).device, []
    for query in queries:
        if isinstance(query, Unreadable):
            found.append(VisualAnswer(query, None, count))
            continue
        visual = Visual(pixels(query.image)[None].to(device))
        question = Padded(torch.tensor([query.ids]), torch.tensor([len(query.ids)])).to(device)
        attends, seen = getattr(model, "attends", False) and look.by != "gradient", None
        if form != "lines" and attends:
            looked = model.look(visual, question)
            logits, seen = looked.logits[0], None if looked.weights is None else _looked_at(model, looked)
        else:
            logits = model(visual, question)[0]
        ranking = Ranking(labels, probabilities(logits))
        if form == "pictures" and seen is None:
            seen = _moved_by(model, visual, question, ranking.best)
        found.append(VisualAnswer(query, ranking, count, seen))
    return found


def _looked_at(model: Any, looked: Any) -> Seen:
    weights = looked.weights[0].cpu()
    maps = weights.unflatten(-1, looked.shape)
    captions = [f"{model.reading} {number}" for number in range(1, len(maps) + 1)]
    words = None if looked.words is None else looked.words[0].cpu()
    return Seen("attention", maps, captions, words, 1 / weights.shape[-1])


def _moved_by(model: Any, visual: Visual, question: Padded, label: int) -> Seen:
    """The sizes of the answer's gradients by the image's pixels and by the vectors of words, the most of each as 1."""
    images, vectors = visual.values.detach().requires_grad_(), list[Tensor]()
    embeddings = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    hooks = [each.register_forward_hook(lambda _, __, output: vectors.append(output)) for each in embeddings]
    try:
        with torch.enable_grad():
            logit = model(Visual(images), question)[0, label]
            grads = torch.autograd.grad(logit, [images, *vectors], allow_unused=True)
    finally:
        for hook in hooks:
            hook.remove()
    maps = visual.values.new_zeros(0, 1, 1) if grads[0] is None else _scaled(grads[0].abs().sum(1))
    sizes = [grad[0].norm(dim=-1) for grad in grads[1:] if grad is not None]
    words = _scaled(torch.stack(sizes).sum(0)).cpu() if sizes else None
    return Seen("gradient", maps.cpu(), ["gradient"] * len(maps), words, 0.0)


def _scaled(values: Tensor) -> Tensor:
    return divide(values, values.amax()).detach()


def _rounded(values: Any) -> Any:
    return [_rounded(value) for value in values] if isinstance(values, list) else round(values, 6)
