"""The page of the report `alignment` and its picture, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.look import pictures
from saccade.reports.alignment.findings import MARGIN, SURE, Findings
from saccade.reports.document import Code, Heading, Part, Table, Text
from saccade.reports.pages import picture, publish, where

__all__ = ["write_page"]

_CLAIM = (
    "In this sentence, as this one training translates it, attention runs along the diagonal, and jumps where the "
    "languages order words otherwise, as adjectives and nouns of French and English."
)
_SOURCE = "Bahdanau, Cho, Bengio 2015, section 5.2.1 and figure 3, https://arxiv.org/abs/1409.0473"
_RULE = (
    "A pair is crossed where the first of two has its largest weight behind that of the second. Groups are neighbours "
    "each of which is crossed with the next. The diagonal is where the source would be read if both ran at an even "
    f"pace; what is more than {MARGIN:g} from it is away. The weight of the source's end is left out."
)
_DECIDED = (
    f"It is reproduced where a group is reordered, each of it with more than {100 * SURE:g}% of its weight in one "
    "place, and at most half of all pairs are crossed; not decided where no group's weights are as sure; contradicted "
    "where no neighbours are reordered, or most pairs are crossed. One sentence of one run bears no more than that: "
    "these rules have no errors."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the picture that both show.

    Args:
        folder: of the report.
        content: of report.json, with its row.

    Raises:
        OSError: if they cannot be written.
    """
    found = Findings(content)
    title = f"{found.row['text']}: what was attended to"
    drawn = pictures.alignment(found.weights, found.source, found.target, folder / "alignment", title=title)
    parts: list[Part] = [
        Heading("What a sentence's translation attends to", 1),
        Text(f"The claim: {_CLAIM} ({_SOURCE})"),
        Text(f"**{found.verdict.result}**: {found.verdict.reason}."),
        Code([content["command"]]),
        Text(f"“{found.row['text']}” is translated as “{found.row['translation']}”."),
        picture(drawn, f"A row for each of the {found.unit} that were written, a column for each of the source's"),
        Heading("What is reordered"),
        *([_table(found.reordered())] if found.blocks else [Text("Nothing is.")]),
        *map(Text, (_RULE, _DECIDED)),
        Heading("Word by word"),
        _table(found.words()),
        Heading("How it was made"),
        Text(_run(found)),
        *where(content),
    ]
    publish(folder, parts)


def _table(rows: list[list[str]]) -> Table:
    return Table(rows[0], rows[1:])


def _run(found: Findings) -> str:
    row = found.row
    steps = "" if row["steps"] is None else f", trained for {row['steps']:,} steps"
    joined = " Pieces of words are put together: weights on a source word are summed, a target word has the mean."
    return f"A run of `{row['model']}` on `{row['data']}`{steps}.{joined if row['pieces'] else ''}"
