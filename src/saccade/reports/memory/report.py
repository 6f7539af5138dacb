"""The report `memory`: models trained on short sequences, and tried on longer ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

from saccade.errors import ArgumentError
from saccade.models.memorizer import Memorizer
from saccade.reports import Made
from saccade.reports.making import Design
from saccade.reports.memory.findings import CONTENT, LOCATION, LSTM, NTM, summary
from saccade.reports.memory.page import write_page
from saccade.reports.options import Seeded
from saccade.reports.training import Part, Plan, Variant, make, scheduled
from saccade.tasks.memorize import Memorize
from saccade.tasks.memorize.answer import logits_of
from saccade.tasks.memorize.data import Corpus, open_corpus
from saccade.tasks.memorize.data.problems import PROBLEMS
from saccade.tasks.memorize.measures import Said, judged
from saccade.train.results import undisturbed

__all__ = ["VARIANTS", "Memory", "Options"]

_PROBLEMS = ("copy", "recall")  # of which questions are measured at several lengths
_ABOUT = "vectors of 8 bits, to be said again, in the test up to six times as many as in training"
"""What --quick tries it on: recall is not learned in its minutes."""
_QUICK = 10  # vectors of copy in training with --quick, where nothing is said
_STEPS = 1200  # of --quick: half a minute of one core a model
VARIANTS: Sequence[Variant] = (
    Variant(NTM, "ntm"),
    Variant(CONTENT, "ntm", {"by": "content"}),
    Variant(LOCATION, "ntm", {"by": "location"}),
    Variant("dnc", "dnc"),
    Variant(LSTM, "lstm"),
    Variant("past-attention", "past-attention"),
    Variant("transformer", "transformer"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """What can be said about the report.

    >>> Options(quick=True).trained, Options(data="recall").trained
    (10, None)
    """

    builtin: ClassVar[Mapping[str, str]] = {"copy": _ABOUT}

    data: str = ""
    """What is to be remembered: copy or recall, whose test has questions longer than those of training."""

    longest: int | None = None
    """How much training asks for at the most: vectors of copy, items of recall. What is measured is up to six times as
    long, of recall two and a half times. As the paper if not given, 20 or 6; with --quick 10."""

    @property
    def trained(self) -> int | None:
        """How much training asks for at the most; None as the paper has it."""
        return _QUICK if self.quick and self.longest is None else self.longest


class Memory:
    """An external memory generalizes to sequences longer than those of training, where an LSTM does not.

    Every model is trained by its own recipe for the problem, and measured at several lengths, from the longest of
    training on. A Neural Turing Machine is trained three times: as it is, by content alone, by location alone.

    Source:
        Graves, Wayne, Danihelka 2014, figures 4, 5 and 11 (https://arxiv.org/abs/1410.5401).
    """

    sentence: ClassVar[str] = "errors beyond the lengths of training, by kind of memory (Graves et al. 2014, section 4)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every model with every seed, measure it at every length, and write the page."""
        parts = [Part({"measured": "lengths"}, _measured)]
        plan = Plan(_variants, lambda data, options: parts, "copy", (), Memorize, _opened)
        return make(Design("memory", write_page, summary), plan, options)


def _opened(options: Options) -> Corpus:
    if options.data not in _PROBLEMS:
        expected = f"{' or '.join(_PROBLEMS)}, whose questions have lengths to compare"
        raise ArgumentError(f"--data: expected {expected}, got {options.data}")
    usual, longest = PROBLEMS[options.data].usual, options.trained
    if longest is not None and longest > usual:
        why = "the memories of the recipes have room for what is measured then"
        raise ArgumentError(f"--longest: expected at most {usual}, {why}; got {longest}")
    return open_corpus(options.data, longest)


def _variants(options: Options) -> list[Variant]:
    """Every model; with --quick those that the verdict and the addressing are about."""
    longest = {} if options.trained is None else {"longest": options.trained}
    if not options.quick:
        shared = {**longest, **scheduled(options)}
        return [Variant(one.name, one.model, {**one.values, **shared}) for one in VARIANTS]
    spans = dict.fromkeys(("max_steps", "schedule_steps", "checkpoint_steps", "validation_steps"), _STEPS)
    few = [one for one in VARIANTS if one.model in ("ntm", "lstm")]
    return [Variant(one.name, one.model, {**one.values, **longest, **spans}) for one in few]


def _measured(task: Memorize, model: Any, seed: int) -> dict[str, Any]:
    """What each sequence of the test split cost, and how many of its bits were wrong, by length."""
    items = [task.data.example("test", index) for index in range(task.data.size("test") or 0)]
    episodes = [task.language.episode(item) for item in items]
    with undisturbed(model, seed, "test"):
        logits = logits_of(cast("Memorizer", model), episodes)
    groups: dict[str, list[Said]] = {}
    for item, said, episode in zip(items, logits, episodes, strict=True):
        groups.setdefault(item.group, []).append(judged(said, episode.wanted))
    return {"lengths": {group: _row(said) for group, said in groups.items()}}


def _row(said: Sequence[Said]) -> dict[str, Any]:
    """What a row says of the sequences of one length."""
    asked = sum(one.asked for one in said)
    return {
        "sequences": len(said),
        "asked": asked,
        "bit_error": sum(one.wrong for one in said) / asked,
        "bits": round(sum(one.bits for one in said) / len(said), 6),
        "wrong": " ".join(str(one.wrong) for one in said),
    }
