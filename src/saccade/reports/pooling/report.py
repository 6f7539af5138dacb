"""The report `pooling`: what is made of the words of a sentence, from a sum to attention over a GRU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import nn

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.making import Design
from saccade.reports.options import Seeded
from saccade.reports.pooling.findings import summary
from saccade.reports.pooling.page import write_page
from saccade.reports.pooling.probe import moved
from saccade.reports.training import Part, Plan, Variant, make
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.classify_text.data import BUILTIN, open_corpus
from saccade.tasks.classify_text.data.corpus import Corpus
from saccade.train.results import measure
from saccade.train.task import value

__all__ = ["VARIANTS", "Options", "Pooling"]

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
        plan = Plan(
            lambda options: VARIANTS, _parts, "reviews", (), ClassifyText, lambda options: _opened(options.data)
        )
        return make(Design("pooling", write_page, summary), plan, options)


def _opened(data: str) -> Corpus:
    corpus = open_corpus(data)
    if len(corpus.labels) != 2:
        shown = ", ".join(corpus.labels)
        raise ArgumentError(f"--data: expected two labels, the positive one last by the alphabet, got {shown:.80}")
    return corpus


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    return [
        Part({"measured": "accuracy"}, _measured),
        Part(
            {"measured": "not"},
            lambda task, model, seed: {"pairs": moved(task, model), "labels": task.vocabulary.labels},
        ),
    ]


def _measured(task: ClassifyText, model: nn.Module, seed: int) -> dict[str, Any]:
    found = {split: measure(task, model, split, seed) for split in ("test", "validation")}
    test = found["test"]
    return {
        "texts": test.examples,
        "accuracy": value(test.metrics["accuracy"]),
        "macro_f1": value(test.metrics["macro_f1"]),
        "validation": value(found["validation"].metrics["accuracy"]),
        "texts_per_second": round(test.examples / test.seconds, 1) if test.seconds else 0.0,
    }
