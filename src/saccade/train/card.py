"""The model card of a run (README.md), with its pictures.

The pictures have the learning curves and the confusion matrix of a classifier.
"""

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from saccade._system.files import read, write
from saccade._system.notes import CONTROL, escaped
from saccade._threads import own_filters
from saccade.train.progress import clock
from saccade.train.run import Run
from saccade.train.task import values

_ROWS, _NEW = 100, "\n\n"
_LONGEST, _NUMBERED = 24, 25  # of the confusion matrix: characters of a label, and labels with numbers in their cells
_BEGIN = "---\nlibrary_name: saccade\n"  # of a card that this module wrote


def write_card(run: Run, results: Mapping[str, Any], headline: str) -> None:
    """Write README.md, curves.png and confusion.png into a run's folder.

    A README.md of the user stays.
    """
    write(run.folder / "curves.png", curves(run.logged(), headline))
    if counts := results.get("confusion"):
        write(run.folder / "confusion.png", confusion_matrix(counts))
    path = run.folder / "README.md"
    if not path.exists() or read(path).decode(errors="replace").startswith(_BEGIN):
        write(path, _card(results).encode())


def curves(lines: Sequence[Mapping[str, Any]], headline: str) -> bytes:
    """Return a PNG picture of the training loss and the headline on validation.

    The numbers are those in the lines of metrics.jsonl.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3))
    both = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.06, bottom=0.18, right=0.99, top=0.9, wspace=0.12)
    named = {"loss": "training loss", f"validation_{headline}": f"{headline.replace('_', ' ')} on validation"}
    for axes, (name, title) in zip(both, named.items(), strict=True):
        points = [(line["step"], line[name]) for line in lines if name in line]
        axes.plot(*zip(*points, strict=True) if points else ((), ()), marker="." if len(points) < 40 else "")
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
    return _png(figure)


def confusion_matrix(counts: Mapping[str, Mapping[str, int]]) -> bytes:
    """Return a PNG picture of counts by label (rows) and prediction (columns)."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys([*counts, *(name for row in counts.values() for name in row)]))
    matrix = [[counts.get(label, {}).get(name, 0) for name in names] for label in names]
    side, largest = min(16.0, max(3.0, 0.3 * len(names))), max(map(max, matrix))
    figure = Figure(figsize=(side + 2, side + 1), layout="constrained")
    axes = figure.subplots()
    figure.colorbar(axes.imshow(matrix, cmap="Blues", vmin=0), label="examples", shrink=0.5)
    texts = [CONTROL.sub("·", name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…") for name in names]
    axes.set_xticks(range(len(names)), texts, rotation=90, parse_math=False, fontsize=8)
    axes.set_yticks(range(len(names)), texts, parse_math=False, fontsize=8)
    axes.set(xlabel="prediction", ylabel="label", title="Confusion matrix")
    for y, row in enumerate(matrix if len(names) <= _NUMBERED else ()):
        for x, count in enumerate(row):
            colour = "white" if 2 * count > largest else "black"
            axes.text(x, y, f"{count or ''}", ha="center", va="center", fontsize=7, color=colour)
    return _png(figure)


def _png(figure: Any) -> bytes:
    content = io.BytesIO()
    with own_filters():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        figure.savefig(content, format="png", dpi=100)
    return content.getvalue()


def _card(results: Mapping[str, Any]) -> str:
    config, hardware, groups = results["config"], results["hardware"], results["groups"]
    trained = f"Trained by Saccade {config['saccade']} on `{escaped(config['options']['data'])}`"
    measured = {"test": values(results["metrics"]), "validation": values(results["validation"])}
    for split in ("test", "validation"):
        for name, baseline in results["baselines"][split].items():
            measured[f"{name} ({split})"] = values(baseline["metrics"])
    return f"""{_BEGIN}tags: [{results["task"]}]
---

# {results["model"]} for {results["task"]}

{trained}: {results["parameters"]:,} parameters, seed {results["seed"]},
{results["steps"]:,} steps in {clock(results["seconds"])} on {hardware.get("gpu", hardware["processor"])}.

![Learning curves](curves.png)

{f"![Confusion matrix](confusion.png){_NEW}" if results.get("confusion") else ""}## Results

{_table(measured)}

Columns in parentheses are baselines. `results.json` has everything that was measured.

{f"{advice[0].upper()}{advice[1:]}.{_NEW}" if (advice := results.get("advice")) else ""}\
{f"## Parts of the test split{_NEW}{_table(groups)}{_NEW}" if groups else ""}## Use

    saccade predict RUN INPUT
    saccade eval RUN
    saccade look RUN INPUT

RUN is the path of this folder. In Python it is `saccade.runs.load(RUN).predict(INPUT)`. The weights are in
`model.safetensors`, and all options in `config.json`.
"""


def _table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """A Markdown table of at most 100 rows of numbers by name."""
    lines = ["| " + "".join(f"| {_cell(name)} " for name in columns) + "|", "|---" * (len(columns) + 1) + "|"]
    for name in list(dict.fromkeys(name for column in columns.values() for name in column))[:_ROWS]:
        numbers = (f" {column[name]:.4g} |" if name in column else " |" for column in columns.values())
        lines.append(f"| {_cell(name)} |{''.join(numbers)}")
    return "\n".join(lines)


def _cell(name: str) -> str:
    """A name of a metric or of a class in a table."""
    return " ".join(escaped(name).replace("|", "\\|").split())
