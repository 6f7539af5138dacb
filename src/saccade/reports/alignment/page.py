"""The page of the report `alignment` and its picture, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.reports.alignment.findings import MARGIN, SURE, Findings
from saccade.reports.document import Code, Heading, Part, Text
from saccade.reports.pages import picture, publish, table, where

__all__ = ["write_page"]

_RULE = (
    "A pair is crossed where the first of two has its largest {share} behind that of the second. Groups are neighbours "
    "each of which is crossed with the next. The diagonal is where the source would be read if both ran at an even "
    f"pace; what is more than {MARGIN:g} from it is away. {{end}}"
)
_DECIDED = (
    f"It is reproduced where a group is reordered, each of it with more than {100 * SURE:g}% of its {{amount}} in one "
    "place, and at most half of all pairs are crossed; not decided where no group's {share}s are as sure; contradicted "
    "where no neighbours are reordered, or most pairs are crossed. One sentence of one run bears no more than that: "
    "these rules have no errors."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the picture that both show."""
    found = Findings(content)
    said, sides, path = found.wording, (found.source, found.target), folder / "alignment"
    title = f"{said.picture}: {found.row['text']}"
    drawn = look.alignment(found.weights, *sides, path, title=title, verb=said.verb, scale=said.share)
    words = {"share": said.share, "amount": said.amount, "end": said.end}
    parts: list[Part] = [
        Heading(said.heading, 1),
        Text(f"The claim: {said.claim} ({said.source})"),
        Text(f"**{found.verdict.result}**: {found.verdict.reason}."),
        Code([content["command"]]),
        Text(f"“{found.row['text']}” is translated as “{found.row['translation']}”."),
        picture(drawn, f"A row for each of the {found.unit} that were written, a column for each of the source's"),
        Heading("What is reordered"),
        *([table(found.reordered())] if found.blocks else [Text("Nothing is.")]),
        *(Text(rule.format(**words)) for rule in (_RULE, _DECIDED)),
        Heading("Word by word"),
        table(found.words()),
        Heading("How it was made"),
        *map(Text, (_run(found), *said.method)),
        *where(content),
    ]
    publish(folder, parts)


def _run(found: Findings) -> str:
    row = found.row
    steps = "" if row["steps"] is None else f", trained for {row['steps']:,} steps"
    joined = f" Pieces of words are put together: {found.wording.pieces}."
    return f"A run of `{row['model']}` on `{row['data']}`{steps}.{joined if row['pieces'] else ''}"
