"""The page of the report `scores` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.reports.document import Heading, Part, Table, Text
from saccade.reports.pages import about_data, beginning, dotted, publish, runs, signatures
from saccade.reports.scores.findings import ORDER, Findings
from saccade.reports.scoring import ERRORS

__all__ = ["write_page"]

CLAIM = (
    "A translator gets better from step to step: without attention, with scores of the content (general), with scores "
    "of the location alone, with a window that moves on with each word (local-m), with one whose place is predicted "
    "(local-p)."
)
SOURCE = "the order of the figures in tables 1 and 4 of Luong, Pham, Manning 2015, https://arxiv.org/abs/1508.04025"
_PAPER = (
    "The paper's figures are BLEU of English to German, newstest2014, before and after unknown words were replaced "
    "through the alignment; that without attention is of table 1, where the last read state is not fed on, the others "
    "are of table 4. Each is one training, and steps of half a point may be chance. "
    "It has no scaled dot, no cosine and, in that table, no additive score."
)
_SAME = (
    "All rows are the model `luong` from one recipe: data, batches, sizes, budget and seeds. They differ in "
    "`--attention` and `--score` alone; the local ones score by general. The paper's own figures are of other data, "
    "and so may its differences be."
)
_ORDER = "A step holds if what it gains is above 0 by more than twice its error."


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show.

    Args:
        folder: of the report.
        content: of report.json, every row in it.

    Raises:
        OSError: if they cannot be written.
    """
    found = Findings(content)
    table, order, published = found.table(), found.order(), found.published()
    parts: list[Part] = [
        *beginning("Attention by what it compares", CLAIM, SOURCE, found.verdict, content),
        dotted(found, folder / "scores", "by what attention compares", f"The paper's order: {' < '.join(ORDER)}"),
        Heading("Scores"),
        Table(table[0], table[1:]),
        Text("± is twice the standard error."),
        Heading("The order"),
        Table(order[0], order[1:]),
        Text(_ORDER),
        Heading("In the paper"),
        Table(published[0], published[1:]),
        Text(_PAPER),
        Heading("How it was measured"),
        *map(Text, (_SAME, *about_data(content, found.sentences), ERRORS, *signatures(found.rows))),
        *runs(content),
    ]
    publish(folder, parts)
