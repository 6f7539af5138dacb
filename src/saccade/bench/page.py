"""Results as a page of Markdown."""

from collections.abc import Sequence

from saccade.bench.machine import Machine
from saccade.bench.row import Result
from saccade.bench.table import COLUMNS, cells, limits, summary

__all__ = ["page"]

_TITLES = {
    "additive": "Additive attention",
    "sparse": "Sparsemax and entmax",
    "dot": "Dot scores",
    "masks": "Masks",
    "half": "Half types",
    "statistics": "Statistics and draws",
    "lazy": "Values that are computed when they are read",
    "memory": "External memories",
    "regression": "Kernel regression",
    "experts": "Mixtures of experts",
    "start": "Start of commands",
}
_LEFT = (0, 1, len(COLUMNS) - 1)  # columns of words


def page(results: Sequence[Result], machine: Machine, command: str, picture: str | None = None) -> str:
    """Return a page with a table for each subject.

    Args:
        results: of the rows, in order.
        machine: that they were measured on.
        command: that measured them.
        picture: where the plot lies, seen from the page.
    """
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    parts = ["# What was measured", f"```bash\n{command}\n```", f"{limits(machine)}.", f"{versions}."]
    if picture is not None:
        parts.append(f"![Ratios over sizes]({picture})")
    for subject in dict.fromkeys(result.row.subject for result in results):
        own = [result for result in results if result.row.subject == subject]
        parts += [f"## {_TITLES[subject]}", _table(own)]
    return "\n\n".join([*parts, f"{summary(results)}."]) + "\n"


def _table(results: Sequence[Result]) -> str:
    rule = "|" + "|".join("---" if place in _LEFT else "---:" for place in range(len(COLUMNS))) + "|"
    return "\n".join([_line(COLUMNS), rule, *(_line(cells(result)) for result in results)])


def _line(columns: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", r"\|") for text in columns) + " |"
