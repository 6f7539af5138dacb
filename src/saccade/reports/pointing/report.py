"""The report `pointing`: whether a model that answers questions about images attends to what its answers hang on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.making import Design
from saccade.reports.options import Seeded
from saccade.reports.pointing.findings import summary
from saccade.reports.pointing.measuring import measured
from saccade.reports.pointing.page import write_page
from saccade.reports.training import Part, Plan, Variant, make, scheduled
from saccade.tasks.answer import AnswerQuestions
from saccade.tasks.answer.data import BUILTIN, Corpus, open_corpus

__all__ = ["VARIANTS", "Options", "Pointing"]

_ATTENDS = "show-ask-attend-and-answer"
VARIANTS: Sequence[Variant] = (
    Variant("soft", _ATTENDS),
    Variant("sparsemax", _ATTENDS, {"normalizer": "sparsemax"}),
    Variant("reinforce", _ATTENDS, {"read": "reinforce", "samples": 2, "baseline": "leave-one-out"}),
    Variant("word by word", "attention-lstm"),
    Variant("fixed vector", "show-and-answer"),
)
"""One model three ways, one that reads at every word, and one that knows an image by the mean of its cells."""
_QUICK = ("soft", "fixed vector")  # what there is time for in five minutes
_SMALL = {"widths": "24,32", "cell_dim": 64, "hidden_dim": 64}
_QUESTIONS, _FEW = 1000, 300  # that are asked again, each some fifty times


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """What can be said about the report.

    >>> Options(data="scenes").seeds
    1
    """

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Questions about images: scenes, of which it is known what an answer depends on."""


class Pointing:
    """Whether where a model attends is what its answer hangs on.

    One model is trained with its cells read softly, by sparse weights and one at a time, beside one that knows an image
    by one vector. Asked of each: whether its heaviest cell lies on a thing that the answer depends on, and what becomes
    of the answer once the heaviest cells are erased, beside as many of any things and at random.

    Source:
        Jain, Wallace 2019 (https://arxiv.org/abs/1902.10186); Wiegreffe, Pinter 2019
        (https://arxiv.org/abs/1908.04626); Serrano, Smith 2019 (https://arxiv.org/abs/1906.03731).
    """

    sentence: ClassVar[str] = "whether answers hang on the cells with the most weight (after Jain, Wallace 2019)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every model with every seed, erase cells of what it sees, and write the page."""
        plan = Plan(_variants, _parts, "scenes", (), AnswerQuestions, _opened)
        return make(Design("pointing", write_page, summary), plan, options)


def _opened(options: Options) -> Corpus:
    if options.data not in BUILTIN:
        expected = f"{', '.join(BUILTIN)}, of which it is known what an answer depends on"
        raise ArgumentError(f"--data: expected {expected}, got {options.data}")
    return open_corpus(options.data)


def _variants(options: Options) -> list[Variant]:
    """Every model; --quick has time for two, which are smaller."""
    shared = {**scheduled(options), **(_SMALL if options.quick else {})}
    chosen = [one for one in VARIANTS if one.name in _QUICK or not options.quick]
    return [Variant(one.name, one.model, {**one.values, **shared}) for one in chosen]


def _parts(data: Corpus, options: Options) -> Sequence[Part]:
    """What is measured of each."""
    most = _FEW if options.quick else _QUESTIONS

    def asked(task: AnswerQuestions, model: Any, seed: int) -> dict[str, Any]:
        return measured(task, model, seed, most)

    return [Part({"measured": "pointing"}, asked)]
