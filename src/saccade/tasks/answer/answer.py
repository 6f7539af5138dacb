"""What a model makes of a question about an image, and where it looked for the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.numerics import divide
from saccade.look import overlays, sequential_jacobian
from saccade.look._figure import MOST_PANELS, rounded
from saccade.look._files import file_name
from saccade.look._jacobian import returning
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.answer.options import LookRequest
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.influence import Score, cells_of, gradients, word_vectors
from saccade.tasks.image.shown import Shown, maps_of, parts_read, shares
from saccade.tasks.image.sight import visual
from saccade.tasks.labels.answers import ClassAnswers
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking
from saccade.train.task import Form, Unreadable

__all__ = ["Query", "Seen", "VisualAnswer", "answers"]

_TOP = 5  # answers in a picture


class Query(NamedTuple):
    """A question about an image, as it is asked: the image, and words with their ids."""

    shown: Shown
    question: str
    tokens: list[str]
    ids: list[int]


class Seen(NamedTuple):
    """What an answer was read from: weights `(panels, n)` of parts of the image with a caption each, and a number for
    each word.
    """

    by: str
    weights: Tensor
    shape: tuple[int, int] | None
    """Rows and columns of the parts; None of regions."""
    captions: list[str]
    words: Tensor | None


@dataclass(frozen=True, repr=False)
class VisualAnswer(Ranked):
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

    def to_json(self) -> dict[str, Any]:
        """Return image and question, the most probable answers, the probabilities of all, and what was looked at."""
        if self.ranking is None or isinstance(self.query, Unreadable):
            line = self.query.line if isinstance(self.query, Unreadable) else self.query.shown.name
            return {"line": line, **self.ranked}
        shown, question, tokens, _ = self.query
        found: dict[str, Any] = {"file": shown.name, "question": question, "tokens": tokens, **self.ranked}
        if self.seen is not None and self.seen.by == "attention":
            weights = self.seen.weights if self.seen.shape is None else self.seen.weights.unflatten(1, self.seen.shape)
            found["weights"] = dict(zip(self.seen.captions, rounded(weights.tolist()), strict=True))
            found["words"] = None if self.seen.words is None else rounded(self.seen.words.tolist())
        return found

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the image, where was looked, the question's words and the most probable answers, as one picture."""
        if self.seen is None or self.ranking is None or isinstance(self.query, Unreadable):
            return
        name = f"{Path(self.query.shown.name).stem}-{self.query.question}"
        told = "" if self.seen.by == "attention" else ": how much each part and word moves it, the most as 1"
        chosen = list(range(reads := len(self.seen.weights)))
        if reads > MOST_PANELS:  # of a long question that is read word by word; the last read is the mean of them
            chosen = [*range(MOST_PANELS - 1), reads - 1]
            told += f", the first {MOST_PANELS - 1} and the last of {reads} reads"
        looked = self.seen.by == "attention"
        even = 1 / self.seen.weights.shape[1] if looked and self.seen.shape else 0.0
        yield from overlays(
            self.query.shown.image,
            maps_of(self.query.shown, self.seen.weights[chosen], self.seen.shape),
            folder / f"{file_name(name)[:120]}-{self.seen.by}",
            answers=[(self.ranking.labels[n], float(self.ranking.probabilities[n])) for n in self.ranking.order[:_TOP]],
            captions=[self.seen.captions[number] for number in chosen],
            question=self.query.tokens,
            words=self.seen.words,
            smooth=True,
            boxes=parts_read(self.query.shown, self.seen.weights[chosen], self.seen.shape) if looked else None,
            title=f"{self.ranking.title}{told}",
            scale="weight" if looked else "share of the largest",
            even=even,
            json=json,
        )


def answers(
    model: Any,
    queries: Sequence[Query | Unreadable],
    output: ClassAnswers | WrittenAnswers,
    count: int,
    form: Form,
    look: LookRequest,
) -> list[VisualAnswer]:
    """Return what a model makes of each question, one by one, so that none depends on what is asked beside it.

    Args:
        model: in evaluation mode.
        queries: the questions.
        output: how answers are given.
        count: how many are wanted.
        form: what the answers will be written as.
        look: what a picture shows.
    """
    device, found = next(model.parameters()).device, []
    for query in queries:
        if isinstance(query, Unreadable):
            found.append(VisualAnswer(query, None, count))
            continue
        source = visual([query.shown.seen]).to(device)
        question = Padded(torch.tensor([query.ids]), torch.tensor([len(query.ids)])).to(device)
        attends = getattr(model, "attends", False) and look.by in (None, "attention")
        looked = model.look(source, question) if form != "lines" and attends else None
        ranking = output.ranking(model, source, question, count=count, looked=looked)
        seen = None if looked is None or looked.weights is None else _looked_at(model, looked, query.tokens)
        if form == "pictures" and look.by == "jacobian":
            seen = _seen_by_words("jacobian", _moved_by_words(model, source, query.ids))
        elif form == "pictures" and seen is None:
            seen = _moved_by(model, source, question, partial(output.log_probs, model, [ranking.labels[ranking.best]]))
        found.append(VisualAnswer(query, ranking, count, seen))
    return found


def _looked_at(model: Any, looked: Any, tokens: Sequence[str]) -> Seen:
    weights = looked.weights[0].cpu()
    by_word = [*tokens, "all words"]  # of each model that reads at every word; numbers tell a word from itself
    captions = [
        f"{number + 1} {by_word[number % len(by_word)]}" if model.reading == "word" else f"{model.reading} {number + 1}"
        for number in range(len(weights))
    ]
    return Seen("attention", weights, looked.shape, captions, None if looked.words is None else looked.words[0].cpu())


def _moved_by(model: Any, source: Visual, question: Padded, score: Score) -> Seen:
    """How much an answer is moved by pixels or features, and by the vectors of words, the most of each as 1."""
    seen, words = gradients(source, score, question, reading=word_vectors(model))
    words = None if words is None else _scaled(words[0]).cpu()
    if seen is None:
        return _seen_by_words("gradient", words)
    shape = cells_of(model, source) if source.boxes is not None else (seen.shape[2], seen.shape[3])
    moved = _scaled(shares(seen, shape)).cpu()
    return Seen("gradient", moved, shape, ["gradient"], words)


def _seen_by_words(by: str, words: Tensor | None) -> Seen:
    """A number for each word, and none for the image."""
    return Seen(by, torch.zeros(0, 1), (1, 1), [], words)


def _moved_by_words(model: Any, source: Visual, ids: Sequence[int]) -> Tensor:
    r"""How much all that is made of image and question moves with each word, the most as 1.

    .. math:: J_s = \lVert \partial y / \partial E x_s \rVert_F

    with the logits of all answers y, or what writing an answer begins with. The image is seen once.
    """
    answerer = getattr(model, "answerer", model)
    [words] = word_vectors(model)
    with torch.inference_mode(mode=False), torch.no_grad():  # whoever answers is within that mode
        seen = Visual(*(None if part is None else part.clone() for part in source))  # type: ignore[arg-type]
        asked = torch.tensor([list(ids)], device=source.values.device)
        vectors = words(asked)[0]

    def features(moved: Tensor) -> Tensor:
        copies = len(moved)
        question = Padded(asked.expand(copies, -1), asked.new_full((copies,), asked.shape[1]))
        with returning(words, moved):
            found: Tensor = answerer(seen._replace(about=asked.new_zeros(copies)), question)
        return found[:, None]

    return _scaled(sequential_jacobian(features, vectors)[0].float()).cpu()


def _scaled(values: Tensor) -> Tensor:
    return divide(values, values.amax()).detach()
