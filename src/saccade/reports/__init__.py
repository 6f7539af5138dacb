"""Claims from the literature, each reproduced by one command: its runs, its table, its plot and its page.

Adding one is a folder here with a class of the shape of `Report`, and a line in `REPORTS`. What all share is in the
files beside the folders: `making` goes through the steps of a report, `training` makes steps of models to be trained.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from saccade.train.task import find

__all__ = ["REPORTS", "Made", "Report", "load_report"]

REPORTS = {
    "length": "saccade.reports.length.report:Length",
    "order": "saccade.reports.order.report:Order",
    "scores": "saccade.reports.scores.report:Scores",
    "pooling": "saccade.reports.pooling.report:Pooling",
    "cnn-attention": "saccade.reports.cnn_attention.report:CNNAttention",
    "glimpses": "saccade.reports.glimpses.report:Glimpses",
    "scaling": "saccade.reports.scaling.report:Scaling",
    "objects": "saccade.reports.objects.report:Objects",
    "regression": "saccade.reports.regression.report:Regression",
    "experts": "saccade.reports.experts.report:Experts",
    "implicit": "saccade.reports.implicit.report:Implicit",
    "alignment": "saccade.reports.alignment.report:Alignment",
}


@dataclass(frozen=True)
class Made:
    """What making a report came to.

    Args:
        folder: the report.
        text: its table and what follows from it, for a terminal; None if the user stopped it before its end.
        fresh: whether anything was done (False: the report was complete already).
    """

    folder: Path
    text: str | None
    fresh: bool


class Report(Protocol):
    """A claim, and how it is tried. What is done is kept: killed at any moment, `make` goes on where it was."""

    sentence: ClassVar[str]
    """The claim in short, for the list of reports."""
    Options: ClassVar[type]
    """The dataclass of all that can be said about it; its docstrings are the help."""

    @classmethod
    def make(cls, options: Any) -> Made:
        """Train what is not trained, measure what is not measured, and write the page.

        Raises:
            ReportError: if the folder belongs to something else.
            SaccadeError: if the data cannot be read or do not suit, or there is no such device.
        """


def load_report(name: str) -> type[Report]:
    """Return a report by its name, one of `REPORTS`.

    >>> load_report("length").__name__
    'Length'
    """
    report: type[Report] = find(REPORTS[name])
    return report
