"""The report `experts`: a translator with experts, with the losses that balance them and without."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.experts.findings import DENSE, summary
from saccade.reports.experts.measuring import balanced, perplexity, specialization
from saccade.reports.experts.page import write_page
from saccade.reports.experts.paper import PAPER
from saccade.reports.making import Design
from saccade.reports.options import Trained
from saccade.reports.training import Part, Plan, Variant, make, tested, whole_test
from saccade.tasks.translate import Translate
from saccade.tasks.translate.data.corpus import Corpus

__all__ = ["Experts", "Options"]

_QUICK = (0, 3)  # rows of the table that --quick has time for: no loss, and what the paper trains with


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """What can be said about the report.

    >>> Options(data="dates").experts
    16
    """

    experts: int = 16
    """Experts in the place of the feed-forward network of every other layer."""

    top_k: int = 2
    """How many of them a token is given to."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if not 2 <= self.experts <= 1 << 16:
            raise ArgumentError(f"--experts: expected a number from 2 to {1 << 16:,}, got {self.experts}")
        if not 1 <= self.top_k < self.experts:
            raise ArgumentError(
                f"--top-k: expected less than --experts = {self.experts}, and 1 or more, got {self.top_k}"
            )


class Experts:
    """Losses that balance experts: without them few take nearly all tokens.

    A Transformer without experts, and with experts at the six settings of the paper's table, is trained by one recipe.

    Source:
        Shazeer et al. 2017, appendix A (https://arxiv.org/abs/1701.06538).
    """

    sentence: ClassVar[str] = "experts with losses that balance them and without (Shazeer et al. 2017, appendix A)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train every setting with every seed, measure balance, perplexity and specialization, and write the page."""
        return make(Design("experts", write_page, summary), Plan(_variants, _parts), options)


def _variants(options: Options) -> list[Variant]:
    """A model without experts, and each setting of the losses; --quick has time for two."""
    budget: dict[str, Any] = {"max_steps": None} if options.quick else {}  # its minutes are planned
    size = {"experts": options.experts, "top_k": options.top_k, **budget}
    settings = [row for place, row in enumerate(PAPER) if not options.quick or place in _QUICK]
    found = [Variant(DENSE, "transformer", budget)]
    for row in settings:
        losses = {"importance_weight": row.importance_weight, "load_weight": row.load_weight}
        found.append(Variant(row.name, "transformer", {**size, **losses}))
    return found


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    """The score, the perplexity, balance, and what experts know."""
    pairs = tested(corpus, options.data)

    def known(task: Translate, model: Any, seed: int) -> dict[str, Any]:
        return {
            "perplexity": round(perplexity(task, model, pairs), 6),
            **balanced(task, model, seed),
            **specialization(task, model, pairs, task.groups(pairs)),
        }

    return [*whole_test(corpus, options), Part({"measured": "balance"}, known)]
