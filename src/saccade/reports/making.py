"""Going through the steps of a report: what is done already is left out, and at the end the page is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.reports import Made
from saccade.reports.folder import Folder
from saccade.train.notes import say

__all__ = ["Design", "Step", "finish"]


@dataclass(frozen=True)
class Step:
    """A part of a report that makes one row or more.

    Args:
        name: said as it begins.
        rows: what each of its rows begins with, by which it is known to be done.
        do: makes those that are not there and commits each as it ends; False if the user stopped it.
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    do: Callable[[Folder], bool]


@dataclass(frozen=True)
class Design:
    """A report but for its steps.

    Args:
        name: as it is typed.
        write_page: writes the page into a folder, from what report.json says with every row in it. It raises OSError
            if it cannot.
        summary: the table and what follows from it as text, from the same.
    """

    name: str
    write_page: Callable[[Path, Mapping[str, Any]], None]
    summary: Callable[[Mapping[str, Any]], str]


def finish(folder: Folder, design: Design, steps: Sequence[Step]) -> Made:
    """Do what is not done yet, and write the page once all is.

    Args:
        folder: of the report, held by this process.
        design: of the report.
        steps: in the order in which they are done.
    """
    left = [step for step in steps if not all(folder.rows(**row) for row in step.rows)]
    for step in left:
        say(f"{step.name}: {steps.index(step) + 1} of {len(steps)}")
        if not step.do(folder):
            return Made(folder.path, None, fresh=True)
    if folder.content.get("page") != len(folder.content["rows"]) or not (folder.path / "index.html").exists():
        design.write_page(folder.path, folder.content)
        folder.content["page"] = len(folder.content["rows"])  # that it is of; more seeds add some
        folder.commit()
    return Made(folder.path, design.summary(folder.content), fresh=bool(left))
