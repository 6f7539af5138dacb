"""The page of the report `length`, as Markdown and as HTML, and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.look.curves import Curve, draw
from saccade.reports.document import Code, Heading, Part, Picture, Table, Text, html, markdown
from saccade.reports.findings import FEW_NOTE, Findings
from saccade.train.files import write
from saccade.train.task import value

__all__ = ["write_page"]

CLAIM = (
    "A translator without attention has to press the source into one vector, and translates worse the longer the "
    "source is; with attention it does not."
)
SOURCE = "Bahdanau, Cho, Bengio 2015, figure 2, https://arxiv.org/abs/1409.0473"
_DATA = {
    "exact_match": "A date's length is that of its language and form: 2019年2月15日 is short, четверг, 18 июня 2025 г. "
    "is long. A longer one says nothing more, so these data can hardly show the claim.",
    "dates_in_place": "The data are rows of one to three dates, each in one of twenty languages, in training as in the "
    "test. The score is the share of dates that are right at their place: three are not harder for being three.",
}
_SAME = (
    "Both models have the same recipe: data, batches, sizes, budget and seeds. Each group of lengths is scored as a "
    "corpus of its own, decoded as the run's own evaluation decodes."
)
_ERRORS = (
    "Standard errors are those of the choice of sentences, by a delete-a-group jackknife of ten groups; how training "
    "differs from seed to seed is not in them. Both models translate the same sentences, so the error of what "
    "attention gains is that of their difference, group by group. The line is fitted by least squares, each group "
    "weighed by its size."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show.

    Args:
        folder: of the report.
        content: of report.json, every row in it.

    Raises:
        OSError: if they cannot be written.
    """
    found = Findings(content)
    png, svg = _plot(found, folder / "length")
    picture = Picture(png.name, svg.read_text(encoding="utf-8"), found.heading)
    title = f"{found.heading}, with and without attention"
    parts = _parts(found, title, picture)
    write(folder / "index.md", markdown(parts).encode())
    write(folder / "index.html", html(title, parts).encode())


def _plot(found: Findings, path: Path) -> list[Path]:
    firsts = [found.first(group) for group in found.groups]
    ticks = [(row["length"], f"{row['lengths']}\nn={row['sentences']}") for row in firsts]
    return draw(
        [_curve(found, model, [row["few"] for row in firsts]) for model in found.models],
        path,
        ticks=ticks,
        labels=(f"{found.unit} in the source, n sentences; hollow: few; bars: twice the standard error", found.name),
        title=found.heading,
        bounds=(0.0, None if found.metric == "bleu" else 1.03),
        note="The claim: without attention it falls with length, with attention not (Bahdanau et al. 2015, figure 2)",
    )


def _curve(found: Findings, model: str, few: list[bool]) -> Curve:
    points, line = found.points[model], found.slopes[model]
    lengths = [point.length for point in points]
    trend = None if line is None else (line.at(lengths[0]), line.at(lengths[-1]))
    errors = [2 * (point.error or 0.0) for point in points]
    return Curve(model, lengths, [point.score for point in points], errors, few, trend)


def _parts(found: Findings, title: str, picture: Picture) -> list[Part]:
    return [
        Heading(title, 1),
        Text(f"The claim: {CLAIM} ({SOURCE})"),
        Text(f"**{found.verdict.result}**: {found.verdict.reason}."),
        Code([found.content["command"]]),
        picture,
        *_scores(found),
        Heading("How it was measured"),
        *map(Text, _method(found)),
        *_runs(found),
    ]


def _scores(found: Findings) -> list[Part]:
    """The table, and what its marks mean."""
    header, *rows = found.table()
    notes = [f"± is twice the standard error. The change is a fitted line's, for ten {found.unit} more."]
    notes.append(f"What attention gains changes, in ten {found.unit} more, by {found.change(found.gain)}.")
    if any(row["few"] for row in found.rows):
        notes.append(f"\\* {FEW_NOTE}.")
    return [Heading("Scores"), Table(header, rows), *map(Text, notes)]


def _method(found: Findings) -> list[str]:
    """What a reader needs to judge the numbers."""
    signatures = sorted({row["signature"] for row in found.rows if row["signature"]})
    arguments = found.content["arguments"]
    seeds = sorted({run["seed"] for run in found.content["runs"].values()})
    pair = f", {arguments['source']} to {arguments['target']}" if arguments["source"] else ""
    count = sum(found.first(group)["sentences"] for group in found.groups)
    texts = [
        f"Data: `{found.data}`{pair}, test split, {count} sentences; lengths are in {found.unit}.",
        f"Seeds: {', '.join(map(str, seeds))}. Scores are means over them.",
        _SAME,
        _ERRORS,
    ]
    if found.metric in _DATA:
        texts.append(_DATA[found.metric])
    return texts + [f"Signature: `{signature}`" for signature in signatures]


def _runs(found: Findings) -> list[Part]:
    """Every run with its whole score, its costs, its command, and where it took place."""
    runs = list(found.content["runs"].values())
    header = ["model", "seed", "whole test split", "steps", "seconds", "parameters"]
    rows = [[run["model"], str(run["seed"]), _measured(run), *_costs(run)] for run in runs]
    last = runs[-1]
    where = ", ".join(f"{key} {what}" for key, what in last["hardware"].items())
    versions = ", ".join(f"{package} {version}" for package, version in last["versions"].items())
    about = [Text(f"Machine: {where}."), Text(f"Versions: {versions}.")]
    commands = Code([run["command"] for run in runs])
    return [Heading("Runs"), Table(header, rows), *about, Text("Each run, by itself:"), commands]


def _measured(run: Mapping[str, Any]) -> str:
    """What the run's own results count: the first of its metrics."""
    name, metric = next(iter(run["metrics"].items()))
    return f"{name.replace('_', ' ')} {value(metric):.{2 if isinstance(metric, dict) else 4}f}"


def _costs(run: Mapping[str, Any]) -> list[str]:
    return [str(run["steps"]), f"{run['seconds']:.0f}", f"{run['parameters']:,}"]
