"""The page of the report `length`, as Markdown and as HTML, and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Curve
from saccade.reports.document import Heading, Part, Picture, Table, Text
from saccade.reports.length.findings import FEW_NOTE, Findings
from saccade.reports.pages import about_data, beginning, picture, publish, runs, signatures
from saccade.reports.scoring import ERRORS

__all__ = ["write_page"]

CLAIM = (
    "A translator without attention has to press the source into one vector, and translates worse the longer the "
    "source is; those with attention are more robust to it, the one trained on up to 50 words without any loss. Tried "
    "is that with attention a fall of half as much or more is excluded, which is this report's own margin."
)
SOURCE = "Bahdanau, Cho, Bengio 2015, section 5.1 and figure 2, https://arxiv.org/abs/1409.0473"
_DATA = {
    "dates": "A date's length is that of its language and form: 2019年2月15日 is short, четверг, 18 июня 2025 г. "
    "is long. A longer one says nothing more, so these data can hardly show the claim.",
    "several-dates": "The data are rows of one to three dates, each in one of twenty languages, in training as in the "
    "test. The score is the share of dates that are right at their place: three are not harder for being three.",
}
_SAME = (
    "Both models have the same recipe: data, batches, sizes, budget and seeds. Each group of lengths is scored as a "
    "corpus of its own, decoded as the run's own evaluation decodes."
)
_LINE = "The line is fitted by least squares, each group weighed by its size."


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    publish(folder, _parts(found, picture(_plot(found, folder / "length"), found.heading)))


def _plot(found: Findings, path: Path) -> list[Path]:
    firsts = [found.first(group) for group in found.groups]
    ticks = [(row["length"], f"{row['lengths']}\nn={row['sentences']}") for row in firsts]
    return look.curves(
        [_curve(found, model, [row["few"] for row in firsts]) for model in found.models],
        path,
        ticks=ticks,
        labels=(f"{found.unit} in the source, n sentences; hollow: few; bars: 95% intervals", found.name),
        title=found.heading,
        bounds=(0.0, _top(found) if found.metric == "bleu" else 1.03),
        note="The claim: without attention it falls with length, with attention less than half as much",
    )


def _top(found: Findings) -> float | None:
    """The highest that is shown: all scores, and the bars of those groups that are not of few sentences; None of 0."""
    few = [found.first(group)["few"] for group in found.groups]
    pairs = [pair for scores in found.scores.values() for pair in zip(scores, few, strict=True)]
    return 1.05 * max(score.value + (0.0 if hollow else score.half) for score, hollow in pairs) or None


def _curve(found: Findings, model: str, few: list[bool]) -> Curve:
    scores, line = found.scores[model], found.line(model)
    lengths = [found.first(group)["length"] for group in found.groups]
    trend = None if line is None else (line.at(lengths[0]), line.at(lengths[-1]))
    errors = [score.half for score in scores]
    return Curve(model, lengths, [score.value for score in scores], errors, few, trend)


def _parts(found: Findings, plot: Picture) -> list[Part]:
    title = f"{found.heading}, with and without attention"
    return [
        *beginning(title, CLAIM, SOURCE, found.verdict, found.content),
        plot,
        *_scores(found),
        Heading("How it was measured"),
        *map(Text, _method(found)),
        *runs(found.content),
    ]


def _scores(found: Findings) -> list[Part]:
    """The table, and what its marks mean."""
    header, *rows = found.table()
    notes = [*found.notes, f"The change is a fitted line's, for ten {found.unit} more."]
    notes.append(f"What attention gains changes, in ten {found.unit} more, by {found.change(found.gain)}.")
    if any(row["few"] for row in found.rows):
        notes.append(f"\\* {FEW_NOTE}.")
    return [Heading("Scores"), Table(header, rows), *map(Text, notes)]


def _method(found: Findings) -> list[str]:
    """What a reader needs to judge the numbers."""
    count = sum(found.first(group)["sentences"] for group in found.groups)
    texts = [*about_data(found.content, count, f"; lengths are in {found.unit}"), _SAME, ERRORS, _LINE]
    texts += filter(None, [_DATA.get(found.content["data"])])
    return texts + signatures(found.rows)
