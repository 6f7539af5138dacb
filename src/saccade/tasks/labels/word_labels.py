"""Labels of the words of a text, as in tagging and named-entity recognition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from saccade import look
from saccade.data.dataset import training_sample
from saccade.look._figure import rounded
from saccade.look._files import file_name
from saccade.tasks.answered import Answered
from saccade.tasks.labels.baselines import usual
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.labels.metrics import confusion, measured
from saccade.tasks.predictor import Predictor
from saccade.tasks.text.codec import Text
from saccade.train.task import Baseline, Evaluation, Metric

__all__ = ["LabelledWords", "WordLabels", "span_f1"]

_ENDLESS, _LEARNED = 1_000, 20_000  # texts of a baseline: of an endless split, and of others at most


@dataclass(frozen=True, repr=False)
class LabelledWords(Answered):
    """Labels of the words of a text.

    Args:
        text: the text.
        labels: of its words, none if it is blank.
        weights: attention, `(words, words)`, or None without attention or if lines are written.
    """

    text: Text
    labels: Sequence[str]
    weights: Tensor | None = None

    def lines(self) -> list[str]:
        """Return the labels with spaces between."""
        return [" ".join(self.labels)]

    def to_json(self) -> dict[str, Any]:
        """Return the text, its words, their labels, and attention."""
        weights = None if self.weights is None else rounded(self.weights.tolist())
        return {"text": self.text.text, "tokens": [*self.text.tokens], "labels": [*self.labels], "weights": weights}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the attention of each word, with its label."""
        if self.weights is None:
            return
        rows = [f"{word}/{label}" for word, label in zip(self.text.tokens, self.labels, strict=True)]
        path, axes = folder / file_name(self.text.text), ("attended to →", "attends ↓")
        yield from look.alignment(self.weights, self.text.tokens, rows, path, title="Labels", axes=axes, json=json)


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
