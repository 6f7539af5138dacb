"""The model card of a run (README.md) with a picture of its learning curves (curves.png)."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from saccade._system.files import read, write
from saccade._system.notes import escaped
from saccade.train.progress import clock
from saccade.train.run import Run
from saccade.train.task import values

__all__ = ["curves", "write_card"]

_ROWS, _NEW = 100, "\n\n"
_BEGIN = "---\nlibrary_name: saccade\n"  # of a card that this module wrote


def write_card(run: Run, results: Mapping[str, Any], headline: str) -> None:
    """Write README.md and curves.png into a run's folder; a README.md of the user stays.

    Args:
        run: with its metrics.jsonl.
        results: content of its results.json.
        headline: name of the metric that is drawn.
    """
    write(run.folder / "curves.png", curves(run.logged(), headline))
    path = run.folder / "README.md"
    if not path.exists() or read(path).decode(errors="replace").startswith(_BEGIN):
        write(path, _card(results).encode())


def curves(lines: Sequence[Mapping[str, Any]], headline: str) -> bytes:
    """Return a PNG picture of the training loss, and of the headline on validation if it was measured.

    Args:
        lines: of metrics.jsonl.
        headline: name of the metric.

    Example:
        >>> curves([{"step": 10, "loss": 2.0}, {"step": 20, "loss": 1.0}], "bleu")[1:4]
        b'PNG'
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
    content = io.BytesIO()
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

## Results

{_table(measured)}

Columns in parentheses are baselines. `results.json` has everything that was measured.

{f"## Parts of the test split{_NEW}{_table(groups)}{_NEW}" if groups else ""}## Use

    saccade predict RUN INPUT
    saccade eval RUN
    saccade look RUN INPUT

RUN is the path of this folder. In Python it is `saccade.runs.load(RUN).predict(INPUT)`. The weights are in
`model.safetensors`, and all options in `config.json`.
"""


def _table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """A Markdown table of at most 100 rows of numbers by name.

    >>> print(_table({"test": {"exact_match": 0.5}, "copy (test)": {}}))
    | | test | copy (test) |
    |---|---|---|
    | exact_match | 0.5 | |
    """
    lines = ["| " + "".join(f"| {_cell(name)} " for name in columns) + "|", "|---" * (len(columns) + 1) + "|"]
    for name in list(dict.fromkeys(name for column in columns.values() for name in column))[:_ROWS]:
        numbers = (f" {column[name]:.4g} |" if name in column else " |" for column in columns.values())
        lines.append(f"| {_cell(name)} |{''.join(numbers)}")
    return "\n".join(lines)


def _cell(name: str) -> str:
    """A name of a metric or of a class in a table."""
    return " ".join(escaped(name).replace("|", "\\|").split())
