"""Labels of the words of a text, as in tagging and named-entity recognition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade import look
from saccade.data.dataset import training_sample
from saccade.look._figure import rounded
from saccade.look._files import file_name
from saccade.models.padded import Padded
from saccade.tasks.answered import Answered
from saccade.tasks.attention_graph import stacked
from saccade.tasks.explaining import Subject, embedded, text_methods
from saccade.tasks.labels.baselines import usual
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.labels.metrics import confusion, measured
from saccade.tasks.looking import MOVED, LookRequest, Moved
from saccade.tasks.predictor import Predictor
from saccade.tasks.text.codec import Text
from saccade.train.task import Answer, Baseline, Evaluation, Form, Metric, Unreadable

__all__ = ["LabelledWords", "WordLabels", "span_f1"]

_ENDLESS, _LEARNED = 1_000, 20_000  # texts of a baseline: of an endless split, and of others at most


@dataclass(frozen=True, repr=False)
class LabelledWords(Answered):
    """Labels of the words of a text.

    Args:
        text: the text.
        labels: of its words, none if it is blank.
        weights: attention, `(words, words)`, or None without attention or if lines are written.
        moved: scores of words for each label, in pictures of other methods than attention.
    """

    text: Text
    labels: Sequence[str]
    weights: Tensor | None = None
    moved: Moved | None = None

    def lines(self) -> list[str]:
        """Return the labels with spaces between."""
        return [" ".join(self.labels)]

    def to_json(self) -> dict[str, Any]:
        """Return the text, its words, their labels, and attention."""
        weights = None if self.weights is None else rounded(self.weights.tolist())
        return {"text": self.text.text, "tokens": [*self.text.tokens], "labels": [*self.labels], "weights": weights}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the attention of each word, with its label."""
        moved = self.moved or Moved(self.weights, "Labels", "weight") if self.weights is not None else self.moved
        if moved is None:
            return
        values, title, scale, signed = moved
        rows = [f"{word}/{label}" for word, label in zip(self.text.tokens, self.labels, strict=True)]
        path, axes = folder / file_name(self.text.text), ("attended to →", "attends ↓")
        options: dict[str, Any] = {"title": title, "scale": scale, "signed": signed, "json": json}
        if self.moved is not None:
            options["verb"], axes = MOVED, ("read →", "labelled ↓")
        yield from look.alignment(values, self.text.tokens, rows, path, axes=axes, **options)


class WordLabels(Predictor):
    """Predictor of a label for each word.

    A model returns logits `(words, labels)` of all words of a batch, one text after another.
    """

    def predictions(self, model: nn.Module, batch: Any) -> list[list[int]]:
        """Return the number of the most probable label of each word."""
        texts = model(batch.source).argmax(-1).split(batch.source.lengths.tolist())
        return [numbers.tolist() for numbers in texts]

    def measure(
        self, model: nn.Module, predictions: Sequence[Sequence[int]], examples: Sequence[LabelledText], request: Any
    ) -> Evaluation:
        """Return accuracy, mean F1 and the confusion matrix of words, and F1 of spans.

        Labels of words beyond `max_length` do not count.
        """
        labels, lengths = self.codec.labels, list(map(len, predictions))
        predicted = [[labels[number] for number in numbers] for numbers in predictions]
        targets = [example.label.split()[:length] for example, length in zip(examples, lengths, strict=True)]
        counts = confusion([*chain(*targets)], [*chain(*predicted)], labels)
        return Evaluation(self._metrics(predicted, targets), {}, len(examples), sum(lengths), confusion=counts)

    def baselines(self, data: Any, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label, and the most frequent label of each word."""
        learned = training_sample(data, _ENDLESS, _LEARNED)
        pairs = ((word, [label]) for text in learned for word, label in zip(*map(str.split, text[:2]), strict=True))
        examples = [data.example(split, index) for index in range(data.size(split) or 0)]
        words, targets = [example.text.split() for example in examples], [example.label.split() for example in examples]

        def metrics(labels: Sequence[str]) -> dict[str, Metric]:
            remaining = iter(labels)
            return self._metrics([[next(remaining) for _ in text] for text in targets], targets)

        return usual(pairs, [*chain(*words)], metrics, "word", "the most frequent label of the word")

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject methods that the model does not have."""
        if isinstance(request, LookRequest):
            request.check_method(model, text_methods(model, getattr(model, "norm", None), attends=True), attends=True)

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> Sequence[Answer]:
        """Label the words of texts, with the scores of a method in pictures."""
        answers: Any = super().answer(model, inputs, request, form)
        if form != "pictures" or not isinstance(request, LookRequest) or request.by in (None, "attention"):
            return answers  # type: ignore[no-any-return]

        def scored(answer: LabelledWords) -> LabelledWords:
            if not answer.labels or request.by is None:
                return answer
            scores = self._subject(model, answer).scores(request.by, signed=request.signed)
            return replace(answer, moved=Moved.by(request.by, scores.values, scores.method, signed=request.signed))

        return [answer if isinstance(answer.text, Unreadable) else scored(answer) for answer in answers]

    def subjects(self, model: Any, inputs: Sequence[Text], request: Any) -> list[Subject]:
        """Return texts with their labels."""
        answers: Any = super().answer(model, inputs, request, "json")
        return [self._subject(model, answer) for answer in answers]

    def _subject(self, model: Any, answer: LabelledWords) -> Subject:
        source = self.codec.collate([answer.text]).source.to(next(model.parameters()).device)
        count, labels = len(answer.labels), self.codec.labels

        def logits(copies: Padded) -> Tensor:
            rows: Tensor = model(copies)
            return rows.view(len(copies.lengths), count, -1)

        embedding = getattr(model, "members", [model])[0].words.embedding
        vectors, run = embedded(embedding, source, logits)
        return Subject(
            model=model,
            inputs=vectors,
            features=run,
            output=None,
            targets=torch.tensor([labels.index(label) for label in answer.labels]),
            tokens=tuple(answer.text.tokens),
            outputs=tuple(answer.labels),
            attended=answer.weights,
            readers=torch.arange(count)[:, None] if stacked(model) else None,
            layer=getattr(model, "norm", None),
        )

    def reply(self, item: Text, prediction: Sequence[int] | None, weights: Tensor | None) -> LabelledWords:
        """Return the labels of a text."""
        return LabelledWords(item, [self.codec.labels[number] for number in prediction or ()], weights)

    def _metrics(self, predicted: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> dict[str, Metric]:
        number = {label: index for index, label in enumerate(self.codec.labels)}
        flat = [[number[label] for labels in texts for label in labels] for texts in (predicted, targets)]
        metrics = measured(flat[0], flat[1], self.codec.labels, [""] * len(flat[0]))[0]
        return metrics | {"span_f1": span_f1(predicted, targets)}


def span_f1(predicted: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> float:
    r"""Return F1 of labelled spans, \(2 t / (p + n)\), 1 if there are none.

    A span of `B-NAME` and following `I-NAME` has the label NAME (IOB2). Without prefixes a span is a run of words with
    the same label. O is no label. A predicted span is right if its words and its label are.

    Args:
        predicted: labels of the words of each text, with p spans, t of them right.
        targets: the right labels, with n spans.

    Source:
        Tjong Kim Sang, De Meulder 2003, "Introduction to the CoNLL-2003 Shared Task", section 2.4
        (https://aclanthology.org/W03-0419).

    Example:
        >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
        0.6666666666666666
    """
    right, count = 0, 0
    for texts in zip(predicted, targets, strict=True):
        spans, expected = (set(_spans(labels)) for labels in texts)
        right, count = right + len(spans & expected), count + len(spans) + len(expected)
    return 2 * right / count if count else 1.0


def _spans(labels: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the begin, the end and the label of each span."""
    begin, name = 0, ""
    for index, label in enumerate([*labels, "O"]):
        prefix, dash, rest = label.partition("-")
        iob = bool(dash) and prefix in ("B", "I")
        following = rest if iob else "" if label == "O" else label
        if following != name or (iob and prefix == "B"):
            if name:
                yield begin, index, name
            begin, name = index, following
