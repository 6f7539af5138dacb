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
    "A translator gets better from step to step: without attention, with scores of the location alone, with scores of "
    "the content (general), with a window that moves on with each word (local-m), with one whose place is predicted "
    "(local-p)."
)
SOURCE = "after Luong, Pham, Manning 2015, section 3 and tables 1 and 4, https://arxiv.org/abs/1508.04025"
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
    table, order = found.table(), found.order()
    parts: list[Part] = [
        *beginning("Attention by what it compares", CLAIM, SOURCE, found.verdict, content),
        dotted(found, folder / "scores", "by what attention compares", f"The claim: {' < '.join(ORDER)}"),
        Heading("Scores"),
        Table(table[0], table[1:]),
        Text("± is twice the standard error."),
        Heading("The order"),
        Table(order[0], order[1:]),
        Text(_ORDER),
        Heading("How it was measured"),
        *map(Text, (_SAME, *about_data(content, found.sentences), ERRORS, *signatures(found.rows))),
        *runs(content),
    ]
    publish(folder, parts)
