"""The report `implicit`: what moves the outputs of models without attention, beside those of models with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.implicit.findings import summary
from saccade.reports.implicit.measuring import measured
from saccade.reports.implicit.page import write_page
from saccade.reports.making import Design
from saccade.reports.options import Trained
from saccade.reports.training import Part, Plan, Variant, make, tested
from saccade.reports.training import opened as opened_corpus
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data import BUILTIN
from saccade.tasks.translate.data.corpus import Corpus

__all__ = ["VARIANTS", "Implicit", "Options"]

VARIANTS = tuple(Variant(model, model) for model in ("rnnsearch", "encoder-decoder", "bytenet", "transformer"))
_QUICK = 3  # of them, for which there is time in five minutes
_SENTENCES, _FEW = 200, 60


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """What can be said about the report.

    >>> Options(data="dates").sentences
    200
    """

    builtin: ClassVar[Mapping[str, str]] = {name: BUILTIN[name] for name in ("dates", "several-dates")}

    data: str = ""
    """Built-in dates, of which it is known which word decides each output: dates, or several-dates."""

    sentences: int = _SENTENCES
    """Sentences of the test split of which the Jacobian is computed; with --quick at most 60."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.sentences < 2:
            raise ArgumentError(f"--sentences: expected 2 or more, got {self.sentences}")


class Implicit:
    """Whether more of what moves an output is the word that decides it where a model attends than where it does not.

    An RNN encoder-decoder, ByteNet and models that attend are trained on dates by their own recipes. Of each output of
    the same sentences the whole sequential Jacobian is computed: which share of it is on the word that decides, whether
    the largest part is, how far it reaches, and what the weights of attention say of the same.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3; Kalchbrenner et al.
        2016, figure 6 (https://arxiv.org/abs/1610.10099); Bahdanau, Cho, Bengio 2015 (https://arxiv.org/abs/1409.0473).
    """

    sentence: ClassVar[str] = (
        "what moves each output, without attention and with it: the sequential Jacobian (Graves 2012)"
    )
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every model with every seed, compute the Jacobians, and write the page."""
        plan = Plan(_variants, _parts, "dates", (), Translate, _opened)
        return make(Design("implicit", write_page, summary), plan, options)


def _opened(options: Options) -> Corpus:
    if options.data not in options.builtin:
        expected = f"{' or '.join(options.builtin)}, of which it is known which word decides each output"
        raise ArgumentError(f"--data: expected {expected}, got {options.data}")
    return opened_corpus(options)


def _variants(options: Options) -> Sequence[Variant]:
    return VARIANTS[:_QUICK] if options.quick else VARIANTS


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    """The first sentences of the test split, which are of all languages in turn."""
    most = min(options.sentences, _FEW) if options.quick else options.sentences
    pairs = tested(corpus, options.data)[:most]

    def asked(task: Translate, model: Any, seed: int) -> dict[str, Any]:
        return measured(task, model, pairs)

    return [Part({"measured": "jacobian"}, asked)]
