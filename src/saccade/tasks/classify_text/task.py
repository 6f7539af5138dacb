"""Text classification, as a task."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from statistics import median
from typing import Any

from torch import nn

from saccade.data.cleaning import front
from saccade.data.dataset import training_sample
from saccade.data.naming import Names
from saccade.tasks.classify_text import tfidf
from saccade.tasks.classify_text.answer import LookRequest, TextAnswer, answers, read_texts, subject
from saccade.tasks.classify_text.codec import LabelledTexts
from saccade.tasks.classify_text.data import BUILTIN, COLUMNS, Corpus, open_corpus
from saccade.tasks.classify_text.options import RECIPES, Options, advice, suited
from saccade.tasks.explaining import Subject
from saccade.tasks.labels.baselines import timed
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.ranks import HEADLINE, Batch, Ranks
from saccade.tasks.labels.request import Request
from saccade.tasks.request import NoOptions
from saccade.tasks.task import Task
from saccade.tasks.text.codec import Text
from saccade.tasks.text.words import Words
from saccade.train.task import Baseline, Evaluation, Form, Loss, Suited

__all__ = ["CLASSIFY_TEXT", "TextRanks"]

_ENDLESS, _LOOKED_AT = 1_000, 500  # training texts whose lengths choose a recipe: of an endless split, and of others
_LONG = 10_000  # words of a text that are counted


@dataclass(frozen=True)
class TextRanks(Ranks):
    """Predictor of classes of texts."""

    codec: LabelledTexts

    look, endless, learned = LookRequest, 1_000, tfidf.TEXTS

    def loss(self, model: Any, batch: Batch) -> Loss:
        """Return the cross-entropy of the labels, counted in words."""
        total = model.cost(*batch, self.codec.options.label_smoothing)
        return Loss(total, int(batch.source.lengths.sum()))

    def predict(self, model: nn.Module, samples: Sequence[Text], request: Any) -> list[int]:
        """Return the number of the most probable class of each text."""
        return [int(read.probabilities.argmax()) for read in read_texts(model, samples)]

    def measure(
        self, model: nn.Module, predictions: Sequence[int], examples: Sequence[LabelledText], request: Any
    ) -> Evaluation:
        """Return accuracy and mean F1, by class and by group too, counted in words."""
        words = sum(sample.size for sample in self.codec.encode(examples, "train"))
        return replace(super().measure(model, predictions, examples, request), count=words)

    def baselines(self, data: Corpus, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label, and logistic regression on TF-IDF.

        The latter reads 64 · --max-length characters of a text.
        """
        labels, (model, about, seconds) = self.codec.labels, self._fitted(data)
        examples = [data.example(split, index) for index in range(data.size(split) or 0)]
        targets, texts = label_numbers(labels, [example.label for example in examples], split), self._fronts(examples)
        plain = timed(lambda: model.predict(texts), targets, labels, about)
        plain = replace(plain, seconds=round(seconds + plain.seconds, 3), advice=advice(self.codec.options))
        return super().baselines(data, split) | {"TF-IDF": plain}

    def check_look(self, model: Any, look: LookRequest) -> None:
        """Reject a layer, a head or attention, if the model lacks it."""
        look.check(model)

    def subjects(self, model: Any, inputs: Sequence[Text], request: Any) -> list[Subject]:
        """Return texts with their most probable class."""
        readings = read_texts(model, inputs, attended=True)
        pairs = zip(inputs, readings, strict=True)
        return [subject(model, text, self.codec.labels, reading) for text, reading in pairs]

    def describe(
        self, model: Any, inputs: Sequence[Text], count: int, form: Form, look: LookRequest
    ) -> list[TextAnswer]:
        """Return the classes of texts. A blank one has none."""
        return answers(model, inputs, self.codec.labels, count, form, look)

    @cached_property
    def _fitted(self) -> Any:
        return cache(self._fit)  # learned once for all splits

    def _fit(self, data: Corpus) -> tuple[tfidf.Model, str, float]:
        """Return logistic regression, a sentence about it, and its seconds."""
        began, labels = time.perf_counter(), self.codec.labels
        learned = training_sample(data, self.endless, self.learned)
        numbers = label_numbers(labels, [example.label for example in learned], "train")
        model = tfidf.fit(self._fronts(learned), numbers, len(labels))
        about = f"logistic regression on the words of {len(learned):,} texts"
        return model, about, time.perf_counter() - began

    def _fronts(self, examples: Sequence[LabelledText]) -> list[str]:
        return [front(example.text, int(self.codec.options.max_length)) for example in examples]


def _open(options: Any, objects: Any) -> Corpus:
    names = Names.of_options(options)
    return open_corpus(options.data, objects, names, strip_markup=options.strip_markup)


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Recipe for the number of texts and the median of their words."""
    rows = task.rows(model, explicit, objects)
    corpus = rows.get()
    texts = [front(example.text, _LONG) for example in training_sample(corpus, _ENDLESS, _LOOKED_AT)]
    lengths = [len(Words([]).pieces(text)) for text in texts]
    options, reason = suited(corpus.size("train") or _ENDLESS, median(lengths), model)
    return Suited({**task.recipe(model, explicit["data"]), **options}, reason, rows)


CLASSIFY_TEXT = Task(
    name="classify-text",
    summary="Text classification: a text in, its label out; learned from labelled texts.",
    unit="words",
    headline=HEADLINE,
    models={
        "rnn-attention": "saccade.models.rnn_attention:RNNAttention",
        "self-attention": "saccade.models.self_attention:SelfAttention",
        "fixed": "saccade.models.fixed:Fixed",
        "sum": "saccade.models.bag:Bag",
        "hierarchical": "saccade.models.hierarchical:Hierarchical",
    },
    builtin=BUILTIN,
    open=_open,
    codec=LabelledTexts,
    predictor=TextRanks,
    Options=Options,
    recipes=RECIPES,
    requests={"predict": Request, "eval": NoOptions, "look": LookRequest},
    columns=COLUMNS,
    suit=_suited,
    at_once=1 << 30,
    signature=LabelledTexts.signature,
)
"""The task, see docs/classify-text.md.

All texts of a split are in memory together, for batches of like lengths.
"""
