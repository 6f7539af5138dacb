"""The report `soft-hard`: what is lost and gained when a translator reads one position instead of a mean of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.making import Design
from saccade.reports.options import Trained
from saccade.reports.soft_hard.findings import BONUS, SOFT, XU, summary
from saccade.reports.soft_hard.noise import BATCHES, DRAWS, LEARNED, PAPER, SENTENCES, UNSAID, estimators, noise
from saccade.reports.soft_hard.page import write_page
from saccade.reports.training import Part, Plan, Variant, make, whole_test
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Corpus
from saccade.train.options import flag, not_positive

__all__ = ["Options", "SoftHard"]

_MODELS = ("rnnsearch", "luong")
_NAMES = {LEARNED: "reinforce", "leave-one-out": "reinforce, leave-one-out", "entropy bonus": BONUS, PAPER: XU}


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """What can be said about the report.

    >>> Options(data="dates").samples
    2
    """

    samples: int = 2
    """How many times a sentence is read for one gradient of REINFORCE, at least 2."""

    entropy_bonus: float = 0.02
    """What a nat of the weights' entropy is worth beside one of likelihood, in the rows that have a bonus."""

    reward_weight: float = 1.0
    """What the gradient by rewards is worth beside that of what was read, in the rows that train as in the paper, which
    chooses theirs (λ_r) by validation."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if not 2 <= self.samples <= 1000:
            raise ArgumentError(f"--samples: expected a number from 2 to 1000, got {self.samples}")
        for name in ("entropy_bonus", "reward_weight"):
            if wrong := not_positive(getattr(self, name)):
                raise ArgumentError(f"{flag(name)}: {wrong}")


class SoftHard:
    """Whether hard attention, which reads one position and learns by its rewards, does as well as soft attention.

    Each translator is trained from its recipe with soft attention, with hard attention by REINFORCE (as in the paper,
    by a moving average of log-probabilities of whole texts, an entropy bonus, and half of the examples reading the
    mean; with a learned baseline, the same and an entropy bonus, a leave-one-out baseline) and by the straight-through
    estimator.

    Source:
        Xu et al. 2015, section 4 and table 1 (https://arxiv.org/abs/1502.03044).
    """

    sentence: ClassVar[str] = "soft attention beside hard, and the noise of its gradients (Xu et al. 2015, section 4)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every translator every way, measure its score and its gradients' noise, and write the page."""
        plan = Plan(_variants, _parts, unsaid={"reward_weight": UNSAID})
        return make(Design("soft-hard", write_page, summary), plan, options)


def _variants(options: Options) -> list[Variant]:
    """Each translator each way; --quick has time for one of them."""
    ways = {SOFT: {}, **{_NAMES.get(name, name): values for name, values in _estimators(options).items()}}
    models = _MODELS[:1] if options.quick else _MODELS
    return [Variant(f"{model} {way}", model, values) for model in models for way, values in ways.items()]


def _estimators(options: Options) -> dict[str, dict[str, Any]]:
    return estimators(options.samples, options.entropy_bonus, options.reward_weight)


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    """The score, and the noise."""

    def noisy(task: Translate, model: Any, seed: int) -> dict[str, Any]:
        sizes = {"batches": BATCHES, "sentences": SENTENCES, "draws": DRAWS}
        return {**sizes, "estimators": noise(estimators(options.samples, options.entropy_bonus), task, model, seed)}

    return [*whole_test(corpus, options), Part({"measured": "noise"}, noisy)]
