"""Classes of a text, and pictures of the words that led to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade import look
from saccade.errors import ArgumentError
from saccade.look._figure import rounded
from saccade.look._files import file_name
from saccade.models.classifier import Pooled
from saccade.models.padded import Padded
from saccade.nn import MixtureOfExperts
from saccade.tasks import looking
from saccade.tasks.batches import in_batches
from saccade.tasks.experts import Taken, draw_taken, taken, taken_json
from saccade.tasks.explaining import Scores, Subject, embedded, text_methods
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.looking import Moved
from saccade.tasks.text.codec import Text, pad
from saccade.tasks.text.special import UNKNOWN
from saccade.train.task import Form

__all__ = ["LookRequest", "Reading", "TextAnswer", "answers", "read_texts", "subject"]

_TOKENS = 8_000  # words, padding included, that are read together


@dataclass(frozen=True, kw_only=True)
class LookRequest(looking.LookRequest):
    """Options of pictures of a text.

    >>> LookRequest(layer=2, head=1).part
    'layer 2, head 1'
    """

    layer: int | None = None
    """Draw this layer of self-attention, from 1 on, instead of the pooling."""

    head: int | None = None
    """With --layer: draw this head, counted from 1. Default: the mean of all."""

    faithful: bool = False
    """Measure how far the class depends on the words with the highest scores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by not in (None, "attention") and self.layer is not None:
            raise ArgumentError(f"--by: expected attention with --layer {self.layer}, got {self.by}")
        for name, number in (("--layer", self.layer), ("--head", self.head)):
            if number is not None and number < 1:
                raise ArgumentError(f"{name}: expected a number from 1 on, got {number}")
        if self.faithful and self.layer is not None:
            raise ArgumentError(f"--faithful: expected without --layer, got --layer {self.layer}. Leave one out.")
        if self.head is not None and self.layer is None:
            raise ArgumentError(f"--head: expected only with --layer, got {self.head} without it")

    @property
    def part(self) -> str:
        """The layer and its head."""
        return f"layer {self.layer}, " + ("mean of heads" if self.head is None else f"head {self.head}")

    def check(self, model: Any) -> None:
        """Reject attention, a layer or a head that a classifier does not have.

        Raises:
            ArgumentError: naming the option.
        """
        unknown = Text([UNKNOWN])
        layers = _layers(model, unknown)
        if self.layer is None:
            attends = bool(layers) or read_texts(model, [unknown], attended=True)[0].weights is not None
            self.check_method(model, text_methods(model, _pool(model), attends=attends), attends=attends)
            return
        if not layers:
            way_out = "train one by --model self-attention, or leave it out"
            raise ArgumentError(f"--layer: expected one model with layers of self-attention, got another; {way_out}")
        if self.layer > len(layers):
            raise ArgumentError(f"--layer: expected at most {len(layers)}, the --layers of the run, got {self.layer}")
        if self.head is not None and self.head > (heads := layers[0].shape[1]):
            raise ArgumentError(f"--head: expected at most {heads}, the --heads of the run, got {self.head}")


class Picture(NamedTuple):
    """Numbers of words, `(rows, words)`, drawn as shades or as a matrix.

    `scale` is that of `look.highlights`. A matrix has the name of its layer.
    """

    values: Tensor
    about: str
    names: Sequence[str] = ()
    scale: Any = "weight"
    layer: str = ""


@dataclass(frozen=True, repr=False)
class TextAnswer(Ranked):
    """Classes of a text.

    Args:
        text: the text.
        ranking: its classes, or None if it is blank.
        count: number of classes to list.
        weights: attention of each learned query, `(queries, words)`, or None without attention or if lines are written.
        levels: attention to words in their sentence and to their sentence, `(2, words)`, of a model with sentences.
        experts: mixtures of experts, with the words that each expert took.
        picture: the picture, if one is drawn.
        taken: a matrix of each layer of hard self-attention, drawn beside the picture.
    """

    text: Text
    ranking: Ranking | None
    count: int
    weights: Tensor | None = None
    levels: Tensor | None = None
    experts: Sequence[Taken] = ()
    picture: Picture | None = None
    taken: Sequence[Picture] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the text, its most probable classes, all probabilities, and attention."""
        content = {"text": self.text.text, "tokens": [*self.text.tokens], **self.ranked, "weights": None}
        if self.weights is not None:
            content["weights"] = rounded(self.weights.tolist())
        if self.levels is not None:
            content["levels"] = dict(zip(("words", "sentences"), rounded(self.levels.tolist()), strict=True))
        if self.experts:
            content["experts"] = taken_json(self.experts, self.text.tokens)
        return content

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the picture, the words that words took, and the experts of each word."""
        if self.ranking is None or self.picture is None:
            return
        path, tokens = folder / file_name(self.text.text), self.text.tokens
        for values, about, names, scale, layer in (self.picture, *self.taken):
            title = f"{self.ranking.title}: {about}"
            if layer:
                matrix, axes = path.with_name(f"{path.name}-{file_name(layer)}"), ("attended to →", "attends ↓")
                yield from look.alignment(values, tokens, tokens, matrix, title=title, axes=axes, json=json)
            else:
                yield from look.highlights(values, tokens, path, title=title, names=names, scale=scale, json=json)
        yield from draw_taken(self.experts, tokens, path, self.ranking.title, json=json)


class Reading(NamedTuple):
    """Output of a model for a text.

    Args:
        probabilities: of the classes, `(labels,)`, float64 on the CPU.
        weights, levels: as in `TextAnswer`.
    """

    probabilities: Tensor
    weights: Tensor | None = None
    levels: Tensor | None = None


def read_texts(model: Any, texts: Sequence[Text], *, attended: bool = False) -> list[Reading]:
    """Return the output of a model for each text, in batches of like lengths.

    If experts choose their words, words of a batch compete, so each text is read alone.

    Args:
        model: a classifier, in evaluation mode.
        texts: with a word or more each.
        attended: whether to return attention too.
    """

    def read(indices: Sequence[int]) -> list[Reading]:
        source = _source(model, *(texts[index] for index in indices))
        if not attended:
            return list(map(Reading, probabilities(model(source))))
        with look.record(model, detach=True, required=False) as records:
            rows = probabilities(model(source))
        levels = model.levels(records, source)
        both = (model.pooled(records, source), None if levels is None else torch.stack(levels, 1))
        return [
            Reading(row, *(None if part is None else part[number, :, : texts[index].size].cpu() for part in both))
            for number, (row, index) in enumerate(zip(rows, indices, strict=True))
        ]

    compete = any(isinstance(part, MixtureOfExperts) and part.routing == "experts" for part in model.modules())
    return in_batches([text.size for text in texts], 1 if compete else _TOKENS, read)


def answers(
    model: Any, texts: Sequence[Text], labels: tuple[str, ...], count: int, form: Form, request: LookRequest
) -> list[TextAnswer]:
    """Return the classes of texts.

    Args:
        model: a classifier, in evaluation mode.
        texts: the texts. A blank one has no words, and no classes.
        labels: of the run.
        count: number of classes to list.
        form: of the answers.
        request: options of pictures.
    """
    readings = iter(read_texts(model, [text for text in texts if text.ids], attended=form != "lines"))

    def answer(text: Text) -> TextAnswer:
        if not text.ids:
            return TextAnswer(text, None, count)
        reading = next(readings)
        ranking, experts, picture = Ranking(labels, reading.probabilities), list[Taken](), None
        matrices = list[Picture]()
        if form == "pictures":
            picture = _picture(model, text, ranking, reading, request)
            if request.by in (None, "attention") and request.layer is None and getattr(model, "hard", False):
                layers = _layers(model, text)
                matrices = [_matrix(layers, number) for number in range(1, 1 + len(layers))]
        if form != "lines" and request.by in (None, "attention") and request.layer is None:
            experts = taken(model, lambda: model(_source(model, text)))
        return TextAnswer(text, ranking, count, reading.weights, reading.levels, experts, picture, matrices)

    return list(map(answer, texts))


def subject(model: Any, text: Text, labels: Sequence[str], reading: Reading, label: int | None = None) -> Subject:
    """Return a text and one of its classes, by default the most probable one."""
    source, label = _source(model, text), int(reading.probabilities.argmax()) if label is None else label
    weights, pool, count = reading.weights, _pool(model), len(text.ids)
    embedding = getattr(model, "members", [model])[0].words.embedding
    vectors, run = embedded(embedding, source, lambda copies: model(copies)[:, None])

    @torch.no_grad()
    def probability(ids: Tensor) -> Tensor:
        lengths = source.lengths.expand(len(ids))
        return probabilities(model(Padded(ids, lengths)))[:, label].to(ids.device)

    return Subject(
        model=model,
        inputs=vectors,
        features=run,
        output=None,
        targets=torch.tensor([label]),
        tokens=tuple(text.tokens),
        outputs=(labels[label],),
        attended=None if weights is None else weights.mean(0, keepdim=True),
        readers=torch.arange(count, count + len(weights))[None] if pool and weights is not None else None,
        layer=pool,
        before=True,
        missing=UNKNOWN,
        units=source.values,
        probability=probability,
    )


def _picture(model: Any, text: Text, ranking: Ranking, reading: Reading, request: LookRequest) -> Picture:
    """Return a layer, the scores of a method, or shares of the logit."""
    if request.layer is not None:
        return _matrix(_layers(model, text), request.layer, request.head)
    weights, start = reading.weights, getattr(model, "is_start", False)
    remark, shares = ", which moves no class: the run is its fitted start" if start else "", None
    if request.by is None and weights is None:
        shares = model.shares(_source(model, text).values[0], ranking.best)
    if shares is not None:
        about = f"no attention: each word's share of the logit of {ranking.labels[ranking.best]} over the others"
        if request.faithful:
            of_text = subject(model, text, ranking.labels, reading)
            scores = Scores("shares", of_text.tokens, of_text.outputs, shares[None].cpu())
            about = f"{about}; {scores._replace(faithfulness=of_text.faithfulness(scores)).remark}"
        return Picture(shares[None].cpu(), about, scale="logit")
    by = request.by or ("attention" if weights is not None else "jacobian")
    of_text = subject(model, text, ranking.labels, reading)
    scores = of_text.scores(by, signed=request.signed, faithfulness=request.faithful)
    if scores.remark:
        remark = f"{remark}; {scores.remark}"
    if by != "attention":
        moved = Moved.by(by, scores.values, scores.method, signed=request.signed)
        return Picture(moved.values, f"{moved.title}{remark}", scale=moved.scale)
    assert weights is not None  # a model without them has no such method
    if reading.levels is not None:
        return Picture(reading.levels, f"attention{remark}", ("words in their sentence", "sentences"))
    if len(weights) == 1:
        return Picture(weights, f"attention of the learned query{remark}")
    names = [f"query {number}" for number in range(1, 1 + len(weights))]
    return Picture(weights, f"attention of {len(weights)} learned queries{remark}", names)


def _matrix(layers: Sequence[Tensor], layer: int, head: int | None = None) -> Picture:
    """Return a layer, counted from 1. Hard weights are 1 at the word that a word took."""
    heads, part = layers[layer - 1][0].cpu(), LookRequest(layer=layer, head=head).part
    values = heads.mean(0) if head is None else heads[head - 1]
    return Picture(values, f"{part}, a row for each word", layer=part)


def _pool(model: Any) -> nn.Module | None:
    """Return the pooling of the features of words, if the model has one."""
    return model.pool if isinstance(model, Pooled) else None


def _source(model: Any, *texts: Text) -> Padded:
    return pad(texts).to(next(model.parameters()).device)


def _layers(model: Any, text: Text) -> list[Tensor]:
    """Return the weights of each layer, `(1, heads, words, words)`."""
    with look.record(model, detach=True, required=False) as records:
        model(_source(model, text))
    layers: list[Tensor] = model.layers_attended(records)
    return layers
