"""The report `scores`: the same translator with every score, trained from one recipe on the same data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from saccade.reports import Made
from saccade.reports.making import Design
from saccade.reports.options import Trained
from saccade.reports.scores.findings import ORDER, summary
from saccade.reports.scores.page import write_page
from saccade.reports.training import Plan, Variant, make, whole_test

__all__ = ["VARIANTS", "Options", "Scores", "rows"]

_MODEL = "luong"
_GLOBAL = {
    "location": "location",
    "dot": "dot",
    "scaled dot": "scaled_dot",
    "general": "general",
    "additive": "additive",
    "cosine": "cosine",
}
_EVERY: Mapping[str, Variant] = {
    "none": Variant("none", _MODEL, {"attention": "none"}),
    **{name: Variant(name, _MODEL, {"attention": "global", "score": score}) for name, score in _GLOBAL.items()},
    **{name: Variant(name, _MODEL, {"attention": name, "score": "general"}) for name in ("local-m", "local-p")},
}
VARIANTS: Sequence[Variant] = (
    *(_EVERY[name] for name in ORDER),
    *(variant for name, variant in _EVERY.items() if name not in ORDER),
)
"""Those of the claim come first. Local attention scores as the paper's best does."""


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """What can be said about the report.

    >>> Options(data="dates").claimed
    False
    """

    claimed: bool = False
    """Train the scores of the claim alone, six of nine: none, general, location, dot, local-m and local-p."""


def rows(options: Options) -> Sequence[Variant]:
    """Return the variants that are trained.

    >>> [variant.name for variant in rows(Options(claimed=True))]
    ['none', 'general', 'location', 'dot', 'local-m', 'local-p']
    """
    return VARIANTS[: len(ORDER)] if options.claimed else VARIANTS


class Scores:
    """What attention compares by matters: in the paper none < general < location < dot, local-m < local-p.

    One translator is trained with each score from one recipe: the same data, batches, sizes, budget and seeds.

    Source:
        Luong, Pham, Manning 2015, section 3 and tables 1 and 4 (https://arxiv.org/abs/1508.04025).
    """

    sentence: ClassVar[str] = "every alignment score in one translator (Luong, Pham, Manning 2015, tables 1 and 4)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Train the model with every score and seed, measure it on the test split, and write the page."""
        return make(Design("scores", write_page, summary), Plan(rows, whole_test), options)
