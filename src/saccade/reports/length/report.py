"""The report `length`: does a translation get worse with the length of its source, with attention and without?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from saccade.reports import Made
from saccade.reports.length.buckets import Bucket, by_source_length, measured, unit
from saccade.reports.length.findings import summary
from saccade.reports.length.page import write_page
from saccade.reports.making import Design
from saccade.reports.options import Trained
from saccade.reports.training import Part, Plan, Variant, make, tested
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Corpus

__all__ = ["MODELS", "Length", "Options"]

MODELS = ("rnnsearch", "encoder-decoder")  # with attention, and the same without
Options = Trained


class Length:
    """Whether a translation gets worse with the length of its source without attention, and does not with it.

    Both models are trained from one recipe: the same data, batches, sizes, budget and seeds. The test sentences are
    grouped by the length of their source, and each group is scored as a corpus of its own.

    Source:
        Bahdanau, Cho, Bengio 2015, figure 2 (https://arxiv.org/abs/1409.0473).
    """

    sentence: ClassVar[str] = "BLEU by source length with and without attention (Bahdanau, Cho, Bengio 2015, figure 2)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train both models with every seed, measure every group of lengths, and write the page."""
        plan = Plan(lambda options: VARIANTS, _parts, "several-dates")
        return make(Design("length", write_page, summary), plan, options)


#: The recipe is that of the model with attention for both.
VARIANTS = tuple(Variant(model, model, recipe=MODELS[0]) for model in MODELS)


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    """A group of lengths each."""
    counted = unit(options.data, options.source)
    buckets = by_source_length(tested(corpus, options.data), counted)
    return [Part({"unit": counted, "lengths": bucket.name}, partial(_measured, bucket)) for bucket in buckets]


def _measured(bucket: Bucket, task: Translate, model: Any, seed: int) -> dict[str, Any]:
    return measured(task, model, bucket, seed)
