"""The page of the report `scores` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.reports.document import Heading, Part, Text
from saccade.reports.pages import about_data, beginning, dotted, publish, runs, signatures, table
from saccade.reports.scores.findings import Findings
from saccade.reports.scoring import ERRORS, SENTENCES
from saccade.reports.verdict import bars, rule

__all__ = ["write_page"]

CLAIM = (
    "A translator gets better from step to step, in the order of the paper's own figures: without attention (14.0), "
    "with scores of the content (general, 17.3), with scores of the location alone (18.1), with a plain product (dot, "
    "18.6) or a window that moves on with each word (local-m, 18.6), with a window whose place is predicted (local-p, "
    "19.0)."
)
SOURCE = "tables 1 and 4 of Luong, Pham, Manning 2015, https://arxiv.org/abs/1508.04025"
_NOTE = "The order of the paper's figures: none < general < location < (dot, local-m) < local-p"
_PAPER = (
    "The paper's figures are BLEU of English to German, newstest2014, before and after unknown words were replaced "
    "through the alignment; that without attention is of table 1, where the last read state is not fed on, the others "
    "are of table 4. They come without errors, and steps of half a point may be chance. "
    "It has no scaled dot, no cosine and, in that table, no additive score."
)
_ORDERED = (
    "The paper itself does not order all six. Table 4 has local-p with dot at 18.0, below local-m with general and "
    "global dot, and no BLEU of local-m with dot: the order that is tried is of local attention with general alone. "
    "From no attention to the next row the paper adds input feeding too; table 1 has 16.8 for attention by location "
    "without it."
)
_SAME = (
    "All rows are the model `luong` from one recipe: data, batches, sizes, budget and seeds. They differ in "
    "`--attention` and `--score` alone; the local ones score by general. The paper's own figures are of other data, "
    "and so may its differences be."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    parts: list[Part] = [
        *beginning("Attention by what it compares", CLAIM, SOURCE, found.verdict, content),
        dotted(found, folder / "scores", "by what attention compares", _NOTE),
        Heading("Scores"),
        table(found.table()),
        Text(bars(SENTENCES, found.seeds)),
        Heading("The order"),
        table(found.order()),
        Text(rule(len(found.steps))),
        Heading("In the paper"),
        table(found.published()),
        *map(Text, (_PAPER, _ORDERED)),
        Heading("How it was measured"),
        *map(Text, (_SAME, *about_data(content, found.sentences), ERRORS, *signatures(found.rows))),
        *runs(content),
    ]
    publish(folder, parts)
