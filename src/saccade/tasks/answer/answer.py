"""Answers to questions about images, as lines, JSON and pictures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.numerics import divide
from saccade.look import overlays
from saccade.look._figure import MOST_PANELS, rounded
from saccade.look._files import file_name
from saccade.models.answerer import Looked
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks import looking
from saccade.tasks.answer.codec import Batch, Query
from saccade.tasks.answer.data import Asked
from saccade.tasks.explaining import Subject, embedded
from saccade.tasks.image.influence import Score, cells_of, convolutions_of, gradients, images_of, moved, word_vectors
from saccade.tasks.image.pointing import Pointing
from saccade.tasks.image.shown import Shown, maps_of, parts_read, shares
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking
from saccade.train.task import Unreadable

__all__ = [
    "Evidence",
    "VisualAnswer",
    "attention",
    "gradient",
    "jacobian",
    "methods_of",
    "of_image",
    "of_words",
    "pointing",
    "scored",
    "sees",
]

_TOP = 5  # answers in a picture
_MOVES = "how much each part and word moves it"
_MEANINGS = {
    "grad-cam": "where the last features of the image speak for it",
    "integrated-gradients": "what each part or word adds to it",
}


class Evidence(NamedTuple):
    """Weights `(panels, n)` of the parts of an image, with captions, and of words."""

    by: str
    weights: Tensor
    shape: tuple[int, int] | None
    """Rows and columns of the parts, or None of regions."""
    captions: list[str]
    words: Tensor | None


@dataclass(frozen=True, repr=False)
class VisualAnswer(Ranked):
    """Answers to a question.

    Args:
        query: the question and its image.
        ranking: its answers, or None if it could not be read.
        count: number of answers to list.
        evidence: weights of the parts of the image, if they were computed.
    """

    query: Query | Unreadable
    ranking: Ranking | None
    count: int
    evidence: Evidence | None = None

    def to_json(self) -> dict[str, Any]:
        """Return image and question, answers, probabilities and attention weights."""
        if isinstance(self.query, Unreadable):
            return {"line": self.query.line, **self.ranked}
        image, question, tokens, _ = self.query
        content: dict[str, Any] = {"file": image.name, "question": question, "tokens": tokens, **self.ranked}
        if self.evidence is not None and self.evidence.by == "attention":
            _, weights, shape, captions, words = self.evidence
            weights = weights if shape is None else weights.unflatten(1, shape)
            content["weights"] = dict(zip(captions, rounded(weights.tolist()), strict=True))
            content["words"] = None if words is None else rounded(words.tolist())
        return content

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the image under its weights, the question and the best answers."""
        if self.evidence is None or self.ranking is None or isinstance(self.query, Unreadable):
            return
        by, weights, shape, captions, words = self.evidence
        attends, image, rows = by == "attention", self.query.shown, list(range(len(weights)))
        title = self.ranking.title + ("" if attends else f": {_MEANINGS.get(by, _MOVES)}, the most as 1")
        if words is not None and bool((words < 0).any()):
            title += ", orange against it"
        if len(weights) > MOST_PANELS:  # of a long question that is read word by word; the last read is their mean
            rows = [*range(MOST_PANELS - 1), len(weights) - 1]
            title += f", the first {MOST_PANELS - 1} and the last of {len(weights)} reads"
        yield from overlays(
            image.image,
            maps_of(image, weights[rows], shape),
            folder / f"{file_name(f'{Path(image.name).stem}-{self.query.question}')[:120]}-{by}",
            answers=[(self.ranking.labels[n], float(self.ranking.probabilities[n])) for n in self.ranking.order[:_TOP]],
            captions=[captions[row] for row in rows],
            question=self.query.tokens,
            words=words,
            smooth=True,
            boxes=parts_read(image, weights[rows], shape) if attends else None,
            title=title,
            scale="weight" if attends else "share of the largest",
            even=1 / weights.shape[1] if attends and shape else 0.0,
            json=json,
        )


def attention(model: Any, looked: Looked, tokens: Sequence[str]) -> Evidence | None:
    """Return the attention weights of a question, or None of a model without them."""
    if looked.weights is None:
        return None
    weights, words = looked.weights[0].cpu(), None if looked.words is None else looked.words[0].cpu()
    captions = [f"{model.reading} {number + 1}" for number in range(len(weights))]
    if model.reading == "word":  # an ensemble reads all words several times; numbers distinguish equal words
        reads = [*tokens, "all words"]
        captions = [f"{number + 1} {reads[number % len(reads)]}" for number in range(len(weights))]
    return Evidence("attention", weights, looked.shape, captions, words)


def gradient(model: Any, source: Visual, question: Padded, score: Score) -> Evidence:
    """Return the norms of gradients of an answer, the largest as 1.

    They are by pixels or features, and by vectors of words.
    """
    pixels, words = gradients(source, score, question, reading=word_vectors(model))
    words = None if words is None else _scaled(words[0]).cpu()
    if pixels is None:
        return _of_words("gradient", words)
    shape = cells_of(model, source) if source.boxes is not None else (pixels.shape[2], pixels.shape[3])
    return Evidence("gradient", _scaled(shares(pixels, shape)).cpu(), shape, ["gradient"], words)


def jacobian(model: Any, source: Visual, ids: Sequence[int], answer: int | None = None) -> Evidence:
    r"""Return how much each word moves all outputs, the most as 1.

    .. math:: J_s = \lVert \partial y / \partial E x_s \rVert_F

    with the logits y of all answers, or the first state of a writer. The image is encoded once. With an answer the
    words have signs, for its logit (`saccade.tasks.looking.signed_jacobian`).
    """
    answerer, words = getattr(model, "answerer", model), [""] * len(ids)
    query = of_words(model, Query(Shown("", source.values), "", words, [*ids]), source, answerer, answer or 0, "")
    values = query.scores("jacobian", signed=answer is not None).values
    looking.check_moves(values)
    return _of_words("jacobian", _scaled(values[0].float()))


def methods_of(model: Any) -> list[str]:
    """Return the names of the methods of a model."""
    names = [*["attention"] * getattr(model, "attends", False), "gradient"]
    if hasattr(model, "members"):
        return names
    names += ["grad-cam"] * (convolutions_of(model) is not None) + ["jacobian"] * bool(word_vectors(model))
    return [*names, "integrated-gradients"]


def sees(model: Any) -> bool:
    """Return whether a model reads images."""
    model = getattr(model, "members", [model])[0]
    model = getattr(model, "answerer", model)
    return getattr(model, "image_encoder", getattr(model, "encoder", None)) is not None


def of_words(
    model: Any, query: Query, source: Visual, score: Callable[..., Tensor], target: int, answer: str
) -> Subject:
    """Return the words of a question with an answer. The image is fixed.

    Args:
        model: in evaluation mode.
        query: the question.
        source: its image.
        score: from images and questions to numbers of answers, `(copies, answers)`.
        target: number of the answer among them.
        answer: the answer as text.
    """
    embedding = word_vectors(model)[0]
    with torch.inference_mode(mode=False):  # a caller may be in inference mode
        image = Visual(*(None if part is None else part.clone() for part in source))  # type: ignore[arg-type]
    words = torch.tensor([list(query.ids)], device=source.values.device)
    question = Padded(words, words.new_tensor([words.shape[1]]))

    def features(copies: Padded) -> Tensor:
        return score(image._replace(about=torch.zeros_like(copies.lengths)), copies)[:, None]

    vectors, run = embedded(embedding, question, features)
    return Subject(
        model=model,
        inputs=vectors,
        features=run,
        output=None,
        targets=words.new_tensor([target]),
        tokens=tuple(query.tokens),
        outputs=(answer,),
        score="logit",
    )


def of_image(
    model: Any, source: Visual, question: Padded, score: Callable[..., Tensor], answer: str, looked: Looked | None
) -> Subject:
    """Return the image of a question with an answer. The question is fixed.

    Args:
        model: in evaluation mode.
        source: the image.
        question: the question.
        score: from images and questions to the log-probability of the answer, `(copies, 1)`.
        answer: the answer as text.
        looked: attention weights, if they are needed.
    """
    with torch.inference_mode(mode=False):  # a caller may be in inference mode
        image = Visual(*(None if part is None else part.clone() for part in source[:3]))  # type: ignore[arg-type]
        fixed = Padded(*(part.clone() for part in question))

    def features(copies: Tensor) -> Tensor:
        more = (None if part is None else part.expand(len(copies), *part.shape[1:]) for part in image[1:3])
        words = Padded(*(part.expand(len(copies), *part.shape[1:]) for part in fixed))
        return score(Visual(copies, *more), words)[:, None]

    weights = None if looked is None or looked.weights is None else looked.weights[0].mean(0, keepdim=True)
    return Subject(
        model=model,
        inputs=image.values[0],
        features=features,
        output=None,
        targets=torch.tensor([0]),
        tokens=(),
        outputs=(answer,),
        cells=None if looked is None else looked.shape,
        score="logit",
        attended=weights,
        layer=convolutions_of(model),
    )


def scored(subject: Subject, by: looking.By) -> Evidence:
    """Return the scores of a method, the most as 1, for and against the answer apart."""
    values = subject.scores(by).values.float()
    if subject.tokens:
        return _of_words(by, _scaled(values[0]))
    captions = [str(by)]
    if by == "integrated-gradients":
        values, captions = torch.cat([values.relu(), (-values).relu()]), ["for it", "against it"]
    shape = (values.shape[1], values.shape[2]) if values.ndim == 3 else None
    return Evidence(by, _scaled(values.flatten(1)), shape, captions, None)


def pointing(
    model: Any,
    batch: Batch,
    examples: Sequence[Asked],
    looked: Looked | None,
    log_probs: Callable[..., Tensor],
    answers: Sequence[str],
) -> list[Pointing]:
    """Judge the reads of questions with known things.

    A model points by attention weights, or by how much each cell moves the answer if it does not attend.

    Args:
        model: in evaluation mode.
        batch: the questions.
        examples: of the first questions of the batch, or of all.
        looked: the weights, or None of a model that does not attend.
        log_probs: from answers, images and questions to log-probabilities.
        answers: of the model to the questions.
    """
    if not (rows := [row for row, example in enumerate(examples) if example.boxes]):
        return []
    if looked is None:
        source, question = images_of(batch.visual, rows), Padded(*(part[rows] for part in batch.question))
        weights, shape = moved(model, source, partial(log_probs, [answers[row] for row in rows]), question)
    else:
        weights, shape = None if looked.weights is None else looked.weights[rows], looked.shape
    if weights is None or shape is None:
        return []
    height, width = batch.visual.values.shape[2:]
    pairs = zip((examples[row] for row in rows), weights.reshape(len(rows), -1, *shape).cpu(), strict=True)
    return [Pointing.of(example.posed.group, maps, example.boxes, (height, width)) for example, maps in pairs]


def _of_words(by: str, words: Tensor | None) -> Evidence:
    return Evidence(by, torch.zeros(0, 1), (1, 1), [], words)


def _scaled(values: Tensor) -> Tensor:
    return divide(values, values.abs().amax()).detach()
