"""What the pages of all reports share: their beginning, their runs, where they took place, and how they are written."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve, Dots
from saccade.reports.document import Code, Heading, Part, Picture, Table, Text, html, markdown
from saccade.reports.scoring import Trial
from saccade.reports.statistics import Estimate
from saccade.reports.verdict import Verdict
from saccade.train.files import write
from saccade.train.task import value

__all__ = [
    "COSTS",
    "about_data",
    "aligned",
    "beginning",
    "clock",
    "costs",
    "curve",
    "dotted",
    "ending",
    "picture",
    "publish",
    "runs",
    "sentence",
    "signatures",
    "table",
    "where",
]


COSTS = ("seeds", "steps", "seconds", "parameters")
"""What the columns of `costs` are."""


def publish(folder: Path, parts: Sequence[Part]) -> None:
    """Write index.md and index.html; the first part is the page's title.

    Raises:
        OSError: if they cannot be written.
    """
    title = parts[0]
    assert isinstance(title, Heading)
    write(folder / "index.md", markdown(parts).encode())
    write(folder / "index.html", html(title.text, parts).encode())


def picture(drawn: Sequence[Path], caption: str) -> Picture:
    """Return the PNG and the SVG that were drawn as a part of a page."""
    png, svg = drawn
    return Picture(png.name, svg.read_text(encoding="utf-8"), caption)


def beginning(title: str, claim: str, source: str, verdict: Verdict, content: Mapping[str, Any]) -> list[Part]:
    """Return how a page begins: what is claimed, where, what came of it, and what was typed."""
    caution = clock(content)
    return [
        Heading(title, 1),
        Text(f"The claim: {claim} ({source})"),
        Text(f"**{verdict.result}**: {verdict.reason}."),
        *([Text(f"**{sentence(caution)}**.")] if caution else []),
        Code([content["command"]]),
    ]


def ending(verdict: Verdict, content: Mapping[str, Any]) -> list[str]:
    """Return how a summary ends: what came of the claim."""
    return [f"{verdict.result}: {verdict.reason}", *filter(None, [clock(content)])]


def clock(content: Mapping[str, Any]) -> str:
    """Return what to say where the clock ended runs: they are compared by what they had learned by then; else "".

    >>> clock({"runs": {"a-1": {"model": "a", "steps": 9, "budget": {"max_steps": 20, "max_minutes": 1}}}})
    'the clock ended training, after 9 (a) to 9 (a) steps: what is compared is what was learned by then'
    """
    runs = content["runs"].values()
    steps = sorted((run["steps"], run["model"]) for run in runs)
    if not any(_late(run["steps"], **run["budget"]) for run in runs if "budget" in run and not run.get("patient")):
        return ""
    few, many = (f"{count} ({model})" for count, model in (steps[0], steps[-1]))
    return f"the clock ended training, after {few} to {many} steps: what is compared is what was learned by then"


def _late(steps: int, max_steps: int | None, max_minutes: float | None) -> bool:
    """Whether a run ended by its minutes."""
    return max_minutes is not None and (max_steps is None or steps < max_steps)


def curve(
    name: str,
    x: Sequence[float],
    found: Sequence[Estimate],
    scale: float = 1.0,
    trend: tuple[float, float] | None = None,
) -> Curve:
    """Return estimates as a line of a plot, with their 95% intervals as bars.

    Args:
        name: what the legend calls it.
        x: where its points are.
        found: an estimate a point; what is not known of its error is in no bar.
        scale: what heights and bars are multiplied by: 100 for percent.
        trend: as of `Curve`.

    Example:
        >>> from saccade.reports.statistics import Part
        >>> line = curve("a", [1.0], [Estimate(0.5, (Part("seeds", 0.1, 2, 3),))], scale=100)
        >>> line.y, round(line.errors[0], 1)
        ([50.0], 43.0)
    """
    heights, bars = [scale * one.value for one in found], [scale * one.known.half() for one in found]
    return Curve(name, x, heights, bars, [False] * len(found), trend)


def dotted(found: Trial, path: Path, what: str, note: str) -> Picture:
    """Draw the score of every model with its error.

    Args:
        found: the scores.
        path: where to write, without a suffix.
        what: follows the metric's name in the title.
        note: a line below the title.
    """
    values = [score.value for score in found.scores.values()]
    errors = [score.half for score in found.scores.values()]
    title, label = sentence(f"{found.name} {what}"), f"{found.name}; bars: 95% intervals"
    series = [Dots(found.name, values, errors)]
    return picture(look.dots(list(found.scores), series, path, label=label, title=title, note=note), title)


def about_data(content: Mapping[str, Any], sentences: int, more: str = "") -> list[str]:
    """Return what a reader needs to know of data and seeds, in paragraphs.

    Args:
        content: of report.json.
        sentences: of the test split.
        more: what follows their number.
    """
    arguments, runs = content["arguments"], content["runs"].values()
    pair = f", {arguments['source']} to {arguments['target']}" if arguments["source"] else ""
    return [
        f"Data: `{content['data']}`{pair}, test split, {sentences} sentences{more}.",
        f"Seeds: {', '.join(map(str, sorted({run['seed'] for run in runs})))}. Scores are means over them.",
    ]


def runs(content: Mapping[str, Any]) -> list[Part]:
    """Every run with its whole score, its costs, its command, and where it took place."""
    found = list(content["runs"].values())
    header = ["model", "seed", "whole test split", "steps", "seconds", "parameters"]
    rows = [[run["model"], str(run["seed"]), _measured(run), *_costs(run)] for run in found]
    commands = Code([run["command"] for run in found])
    return [Heading("Runs"), Table(header, rows), *where(found[-1]), Text("Each run, by itself:"), commands]


def costs(content: Mapping[str, Any], model: str) -> list[str]:
    """Return how many seeds a model was trained with, the runs' steps and seconds in the mean, and its parameters.

    >>> run = {"model": "a", "seed": 1, "steps": 9, "seconds": 1.6, "parameters": 1000}
    >>> costs({"runs": {"a-1": run, "b-1": {**run, "model": "b"}}}, "a")
    ['1', '9', '2', '1,000']
    """
    own = [run for run in content["runs"].values() if run["model"] == model]
    means = [f"{statistics.fmean(run[key] for run in own):.0f}" for key in ("steps", "seconds")]
    return [str(len({run["seed"] for run in own})), *means, f"{own[0]['parameters']:,}"]


def table(rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose first row is its header.

    >>> table([["model", "score"], ["a", "1.0"]]).header
    ['model', 'score']
    """
    return Table(rows[0], rows[1:])


def signatures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how scores were computed, a line each, where a signature says it."""
    return [f"Signature: `{one}`" for one in sorted({row["signature"] for row in rows if row["signature"]})]


def where(about: Mapping[str, Any]) -> list[Part]:
    """Return where something took place, from its "hardware" and "versions"."""
    machine = ", ".join(f"{key} {what}" for key, what in about["hardware"].items())
    versions = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
    return [Text(f"Machine: {machine}."), Text(f"Versions: {versions}.")]


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines for a terminal: its first column is text, the others numbers.

    >>> aligned([["model", "score"], ["a", "10.5"]])
    ['model  score', 'a       10.5']
    """
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def sentence(text: str) -> str:
    """Return a text with a capital at its beginning, all else as it is.

    >>> sentence("forward, the GRU")
    'Forward, the GRU'
    """
    return text[:1].upper() + text[1:]


def _measured(run: Mapping[str, Any]) -> str:
    """What the run's own results count: the first of its metrics."""
    name, metric = next(iter(run["metrics"].items()))
    return f"{name.replace('_', ' ')} {value(metric):.{2 if isinstance(metric, dict) else 4}f}"


def _costs(run: Mapping[str, Any]) -> list[str]:
    return [str(run["steps"]), f"{run['seconds']:.0f}", f"{run['parameters']:,}"]
