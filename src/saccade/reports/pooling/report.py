"""The report `pooling`: what is made of the words of a sentence, from a sum to attention over a GRU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import torch
from torch import nn

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.difference import packed
from saccade.reports.making import Design
from saccade.reports.options import Seeded
from saccade.reports.pooling.directions import directions
from saccade.reports.pooling.findings import VECTORS, summary
from saccade.reports.pooling.page import write_page
from saccade.reports.pooling.probe import moved
from saccade.reports.training import Part, Plan, Variant, make
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.classify_text.data import BUILTIN, open_corpus
from saccade.tasks.classify_text.data.corpus import Corpus
from saccade.tasks.splits import SplitNames, SplitOptions
from saccade.train.results import measure
from saccade.train.task import value

__all__ = ["VARIANTS", "Options", "Pooling", "variants"]

VARIANTS: Sequence[Variant] = (
    Variant("sum", "sum"),
    Variant("fixed dot", "fixed", {"score": "dot"}),
    Variant("fixed MLP", "fixed", {"score": "additive"}),
    Variant("fixed MLP, 4 queries", "fixed", {"score": "additive", "queries": 4}),
    Variant("self-attention", "self-attention"),
    Variant("rnn-attention", "rnn-attention"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """What can be said about the report.

    >>> Options(data="reviews").seeds
    1
    """

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Labelled texts, as `saccade train classify-text` takes them: a file, a folder, what names of files begin with, or
    reviews; of two labels, of which the second by the alphabet is the positive one."""

    train_split: str | None = None
    """What the training split is called, as for `saccade train`: phrases.train trains on stsa.binary.phrases.train and
    tests on stsa.binary.test."""

    vectors: str | None = None
    """File of word vectors: every model is trained once more, with words that begin with these."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.vectors == "":
            raise ArgumentError("--vectors: expected a file, got an empty name")
        SplitOptions(train_split=self.train_split)


class Pooling:
    """Attention as pooling: which way to make one vector of a sentence's words, and which of them hear a "not".

    Every model is trained by the same recipe but for its own part of it.

    Source:
        Yang et al. 2016 (https://aclanthology.org/N16-1174), section 3.4, there for documents: averaging, maximum and
        attention over a GRU. The other ways, and their order, are ours.
    """

    sentence: ClassVar[str] = "sum of words, fixed attention, self-attention, GRU and attention, and what a not does"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every model with every seed, measure it on the test split, ask it about "not", and write the page.

        Raises:
            ReportError: if the folder belongs to something else.
            SaccadeError: if the data cannot be read or have other than two labels, or there is no such device.
        """
        plan = Plan(variants, _parts, "reviews", (), ClassifyText, _opened)
        return make(Design("pooling", write_page, summary), plan, options)


def variants(options: Options) -> list[Variant]:
    """Return what is trained: every model, and where vectors are given each once more with these.

    >>> [one.name for one in variants(Options(data="d", vectors="glove.txt"))][-2:]
    ['self-attention, vectors', 'rnn-attention, vectors']
    """
    split = {} if options.train_split is None else {"train_split": options.train_split}
    drawn = [replace(one, values={**one.values, **split}) for one in VARIANTS]
    if options.vectors is None:
        return drawn
    given = {"vectors": options.vectors}
    return [*drawn, *(replace(one, name=one.name + VECTORS, values={**one.values, **given}) for one in drawn)]


def _opened(options: Options) -> Corpus:
    names = SplitNames({} if options.train_split is None else {"train": options.train_split})
    corpus = open_corpus(options.data, names=names)
    if len(corpus.labels) != 2:
        shown = ", ".join(corpus.labels)
        raise ArgumentError(f"--data: expected two labels, the positive one last by the alphabet, got {shown:.80}")
    return corpus


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    return [Part({"measured": "accuracy"}, _measured), Part({"measured": "not"}, _probed)]


def _probed(task: ClassifyText, model: nn.Module, seed: int) -> dict[str, Any]:
    """What a "not" does, and where words lie along both directions, where the model has them."""
    words = {"directions": directions(task, model)}
    return {"pairs": moved(task, model), "labels": task.vocabulary.labels, **words}


def _measured(task: ClassifyText, model: nn.Module, seed: int) -> dict[str, Any]:
    found = {split: measure(task, model, split, seed) for split in ("test", "validation")}
    test = found["test"]
    return {
        "texts": test.examples,
        "accuracy": value(test.metrics["accuracy"]),
        "macro_f1": value(test.metrics["macro_f1"]),
        "validation": value(found["validation"].metrics["accuracy"]),
        "right": packed(_right(task, model)),
        "texts_per_second": round(test.examples / test.seconds, 1) if test.seconds else 0.0,
    }


def _right(task: ClassifyText, model: nn.Module) -> list[bool]:
    """Whether each text of the test split is classified rightly."""
    examples = [task.data.example("test", place) for place in range(task.data.size("test") or 0)]
    with torch.inference_mode():
        answers = task.answer(model, [task.read(one.text, place) for place, one in enumerate(examples, 1)], None)
    labels = [None if one.ranking is None else one.ranking.labels[one.ranking.best] for one in answers]
    return [label == example.label for label, example in zip(labels, examples, strict=True)]
