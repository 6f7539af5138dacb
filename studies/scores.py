"""Every score of an alignment in one translator (Luong, Pham, Manning 2015)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from studies.frame.claims import NOTHING, Claim, bars, conclude, rule, tabled
from studies.frame.options import Trained
from studies.frame.page import about_data, paragraphs, signatures
from studies.frame.scores import ERRORS, SENTENCES, Trial, dotted
from studies.frame.study import Study
from studies.frame.training import Trainings, Variant, whole_test

PUBLISHED: Mapping[str, tuple[float, float | None]] = {
    "none": (14.0, None),
    "general": (17.3, 19.1),
    "location": (18.1, 19.3),
    "dot": (18.6, 20.5),
    "local-m": (18.6, 20.4),
    "local-p": (19.0, 20.9),
}
"""The paper's BLEU before and after unknown words are replaced, in claimed order.

English to German, newstest2014. The row without attention is of table 1 (there without input feeding), the others are
of table 4."""
_NOT_TRAINED = [["local-m, dot", "-", "-", "-"], ["local-p, dot", "18.0", "19.6", "-"]]  # rows of table 4
_VERDICTS = {"reproduced": "holds", "not decided": "not decided", "contradicted": "the other way round"}


VARIANTS = [
    Variant("none", "luong", {"attention": "none"}),
    *(Variant(name, "luong", {"attention": "global", "score": name}) for name in ("general", "location", "dot")),
    *(Variant(name, "luong", {"attention": name, "score": "general"}) for name in ("local-m", "local-p")),
    Variant("scaled dot", "luong", {"attention": "global", "score": "scaled_dot"}),
    *(Variant(name, "luong", {"attention": "global", "score": name}) for name in ("additive", "cosine")),
]
"""Models, those of the claim first.

Local attention scores by `general`, as the paper's best does."""


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """Options of the study."""

    claimed: bool = False
    """Train the six scores of the claim alone, and not all nine."""


class Findings(Trial):
    """Scores, the steps of the paper's order, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        figures = sorted({before for before, _ in PUBLISHED.values()})
        levels = [[name for name, (before, _) in PUBLISHED.items() if before == figure] for figure in figures]
        steps = [step for lower, higher in pairwise(levels) for step in product(lower, higher)]
        self.steps = {f"{a} → {b}": self.scores[b] - self.scores[a] for a, b in steps if {a, b} <= self.scores.keys()}
        self.claims = [
            Claim(step, gain.number, gain.text(self.digits, signed=True)) for step, gain in self.steps.items()
        ]
        trained = any(self.learned(name) for name in PUBLISHED if name in self.scores)
        self.verdict = conclude(self.claims) if trained else NOTHING

    def fields(self) -> dict[str, Any]:
        published = [["score", "paper's BLEU", "unknown words replaced", f"{self.name} here"]]
        for name, score in self.scores.items():
            texts = ("-" if figure is None else f"{figure:.1f}" for figure in PUBLISHED.get(name, (None, None)))
            published.append([name, *texts, score.text(self.digits)])
        none = self.scores["none"]
        return {
            "scores": self.tabled(
                ("score", "beside none"), lambda name: None if name == "none" else self.scores[name] - none
            ),
            "bars": bars(SENTENCES, self.seeds),
            "order": [["step", "gain", "it"], *([*step, _VERDICTS[it]] for *step, it in tabled(self.claims)[1:])],
            "rule": rule(len(self.steps)),
            "published": [*published, *_NOT_TRAINED],
            "data": paragraphs(about_data(self.content, self.sentences), ERRORS, signatures(self.rows)),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    note = "The order of the paper's figures: none < general < location < (dot, local-m) < local-p"
    return {"picture": dotted(result, folder / "scores", "by what attention compares", note)}


STUDY = Study(
    sentence="alignment scores rank as in the paper's figures (Luong, Pham, Manning 2015, tables 1 and 4)",
    title="Attention by what it compares",
    claim="A translator gets better from step to step, in the order of the paper's own figures: without attention "
    "(14.0), with scores of the content (general, 17.3), with scores of the location alone (18.1), with a plain "
    "product (dot, 18.6) or a window that moves on with each word (local-m, 18.6), with a window at a predicted "
    "position (local-p, 19.0).",
    source="tables 1 and 4 of Luong, Pham, Manning 2015, https://arxiv.org/abs/1508.04025",
    options=Options,
    measure=Trainings(lambda options: VARIANTS[: len(PUBLISHED)] if options.claimed else VARIANTS, whole_test),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## Scores

{scores}

{bars}

## The order

{order}

{rule}

## In the paper

{published}

The paper's figures are BLEU of English to German, newstest2014, without errors: steps of half a point may be chance.
The paper does not order all six: its table 4 has local-p with dot at 18.0, and no BLEU of local-m with dot. From no
attention to the next row the paper adds input feeding too. Table 1 has 16.8 for attention by location without it.

## How it was measured

All rows are the model `luong` from one recipe: data, batches, sizes, budget and seeds. They differ in `--attention` and
`--score` alone. The local ones score by general.

{data}

{runs}
""",
)
