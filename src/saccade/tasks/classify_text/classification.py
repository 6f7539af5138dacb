"""Classifying with a trained model: texts in, their probabilities out, with what was attended to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import look
from saccade.look._figure import rounded
from saccade.look._files import file_name
from saccade.nn import MixtureOfExperts
from saccade.tasks.batches import in_batches
from saccade.tasks.classify_text.batches import Encoded, pad
from saccade.tasks.classify_text.looking import LookRequest, jacobian, within_layer
from saccade.tasks.experts import Taken, draw_taken, taken, taken_json
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.looking import JACOBIAN
from saccade.train.task import Form

__all__ = ["Classification", "Text", "classify", "read_texts"]

_TOKENS = 8_000  # words, padding included, read at once
_LOOK = LookRequest()


@dataclass(frozen=True)
class Text:
    """A text to classify.

    Args:
        text: as it was given.
        tokens: its words that are read, as they are written; none of a blank text.
        ids: their ids.
    """

    text: str
    tokens: list[str]
    ids: list[int]


@dataclass(frozen=True, repr=False)
class Classification(Ranked):
    """What a model makes of one text.

    Args:
        text: the text.
        ranking: its classes; None of a blank text.
        count: how many classes were asked for.
        weights: how much each learned query took of each word, `(queries, words)`; None if not asked for or without
            attention.
        levels: how much each word took of its sentence, and its sentence of the text, `(2, words)`, of a model that
            attends to sentences.
        shares: what each word added to the logit of the most probable class, `(words,)`, where a picture is wanted of a
            model without attention.
        jacobian: how much the logits of all classes move with each word, `(words,)`, where a picture is wanted of that.
        within: what each word attends to in a layer, `(words, words)`, where a picture of that is wanted.
        part: which layer and head that is, in words.
        experts: which experts took each word, of a model that has some, where pictures or JSON are wanted.
    """

    text: Text
    ranking: Ranking | None
    count: int
    weights: Tensor | None = None
    levels: Tensor | None = None
    shares: Tensor | None = None
    jacobian: Tensor | None = None
    within: Tensor | None = None
    part: str = ""
    experts: Sequence[Taken] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the text, its most probable classes, the probabilities of all, and what was attended to."""
        rows = self.weights
        names = ("words", "sentences")
        levels = {} if self.levels is None else {"levels": dict(zip(names, rounded(self.levels.tolist()), strict=True))}
        weights = None if rows is None else rounded(rows.tolist())
        experts = {"experts": taken_json(self.experts, self.text.tokens)} if self.experts else {}
        told = {"text": self.text.text, "tokens": self.text.tokens, **self.ranked, "weights": weights}
        return {**told, **levels, **experts}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Colour the words by the attention that they got, or by what they added to the answer; or draw a layer."""
        if self.ranking is None:
            return
        name, tokens = file_name(self.text.text), self.text.tokens
        if self.within is not None:
            title = f"{self.ranking.title}: {self.part}, a row for each word"
            path = folder / f"{name}-{file_name(self.part)}"
            axes = ("attended to →", "attends ↓")
            yield from look.alignment(self.within, tokens, tokens, path, title=title, axes=axes, json=json)
            return
        if self.jacobian is not None:
            yield from look.highlights(
                look.shares(self.jacobian[None]),
                tokens,
                folder / name,
                title=f"{self.ranking.title}: {JACOBIAN}",
                scale="share",
                json=json,
            )
            return
        label = self.ranking.labels[self.ranking.best]
        rows = self.shares[None] if self.shares is not None else self.weights if self.levels is None else self.levels
        assert rows is not None
        names = [f"query {number}" for number in range(1, 1 + len(rows))] if len(rows) > 1 else []
        if self.levels is not None:
            told, names = "attention", ["words in their sentence", "sentences"]
        elif self.shares is None:
            told = f"attention of {'the learned query' if len(rows) == 1 else f'{len(rows)} learned queries'}"
        else:
            told = f"no attention; what each word adds to the logit of {label} over the others"
        title = f"{self.ranking.title}: {told}"
        scale = "weight" if self.shares is None else "logit"
        yield from look.highlights(rows, tokens, folder / name, title=title, names=names, scale=scale, json=json)
        yield from draw_taken(self.experts, tokens, folder / name, self.ranking.title, json=json)


class Read(NamedTuple):
    """What a model made of a text.

    Args:
        probable: the probabilities of the classes, `(labels,)` float64 on the CPU.
        weights: as `Classification` has them, if asked for.
        levels: as there.
    """

    probable: Tensor
    weights: Tensor | None
    levels: Tensor | None


def read_texts(model: Any, texts: Sequence[Encoded], *, attended: bool = False) -> list[Read]:
    """Return what a model makes of each text.

    Args:
        model: the model.
        texts: what it reads; in batches of like length, which change nothing, or one by one where experts choose their
            words: those of a batch compete.
        attended: whether weights `(queries, words)` are wanted.
    """
    device = next(model.parameters()).device

    def read(places: Sequence[int]) -> list[Read]:
        source, weights, levels = pad([texts[place] for place in places]).source.to(device), None, None
        if attended:
            with look.record(model, detach=True, required=False) as records:
                logits = model(source)
            weights, levels = model.pooled(records, source), model.levels(records, source)
        else:
            logits = model(source)
        both = None if levels is None else torch.stack(levels, 1)
        cut = [[_own(each, row, texts[n].size) for each in (weights, both)] for row, n in enumerate(places)]
        return [Read(probabilities(row), *own) for row, own in zip(logits, cut, strict=True)]

    compete = any(isinstance(part, MixtureOfExperts) and part.routing == "experts" for part in model.modules())
    return in_batches([text.size for text in texts], 1 if compete else _TOKENS, read)


def classify(
    model: Any,
    texts: Sequence[Text],
    labels: tuple[str, ...],
    count: int = 1,
    form: Form = "lines",
    looked: LookRequest = _LOOK,
) -> list[Classification]:
    """Return what a model makes of each text.

    Args:
        model: a classifier, in evaluation mode.
        texts: the texts.
        labels: of the run.
        count: how many classes are wanted.
        form: what the answers will be written as.
        looked: what pictures show.
    """
    filled = [text for text in texts if text.tokens]
    found = iter(read_texts(model, [Encoded(text.ids, 0) for text in filled], attended=form != "lines"))
    answers = []
    for text in texts:
        if not text.tokens:
            answers.append(Classification(text, None, count))
            continue
        probable, weights, levels = next(found)
        ranking, added = Ranking(labels, probable), None
        within = within_layer(model, text.ids, looked) if form == "pictures" else None
        moved = jacobian(model, text.ids) if form == "pictures" and looked.by == "jacobian" else None
        if form == "pictures" and weights is None and moved is None:
            device = next(model.parameters()).device
            added = model.shares(torch.tensor(text.ids, device=device), ranking.best).cpu()
        part = "" if within is None else looked.told
        experts = [] if form == "lines" else _experts(model, text)
        answers.append(Classification(text, ranking, count, weights, levels, added, moved, within, part, experts))
    return answers


def _experts(model: Any, text: Text) -> list[Taken]:
    """Which experts took each word of a text."""
    source = pad([Encoded(text.ids, 0)]).source.to(next(model.parameters()).device)
    return taken(model, lambda: model(source))


def _own(weights: Tensor | None, row: int, words: int) -> Tensor | None:
    """The weights of one text of a batch, without its padding."""
    return None if weights is None else weights[row, :, :words].cpu()
