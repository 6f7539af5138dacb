"""Settings beside each other: each is trained once, and a JSON file keeps a row of what it came to.

small_corpora.py and small_speech.py are such. A run that is there is not trained again, so that a command goes on where
it was stopped.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from saccade import runs
from saccade.train.task import value

SPLITS = ("validation", "test")
_ABOUT = ("parameters", "steps", "seconds", "seed", "hardware", "versions")


def parser_of(description: str, folder: str) -> argparse.ArgumentParser:
    """The options of every such command; those of its own are added."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path(folder))
    parser.add_argument("--output", type=Path, required=True, help="JSON file of all rows")
    parser.add_argument("--table", action="store_true", help="print the table of that file, and train nothing")
    return parser


def trained(task: str, metric: str, place: Path, data: Path, model: str, options: dict[str, Any]) -> dict[str, Any]:
    """Train a setting, or find it trained; returns what it came to by a metric, and how."""
    found = runs.train(task, data=str(data), model=model, run=place, device="cpu", **options).results or {}
    measured = zip(SPLITS, (found["validation"], found["metrics"]), strict=True)
    scores = {split: value(metrics[metric]) for split, metrics in measured}
    return {"options": options, metric: scores, **{key: found[key] for key in _ABOUT}}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows that a file has, none where it is not there."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return found


def keep(path: Path, row: dict[str, Any], key: Sequence[str]) -> None:
    """Write a row behind the others, in the place of one that has the same under all names of the key."""
    others = [old for old in rows_of(path) if any(old[name] != row[name] for name in key)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([*others, row], indent=2) + "\n", encoding="utf-8")


def table_of(
    rows: Sequence[dict[str, Any]], named: dict[str, str], metric: str, title: str, digits: int
) -> Iterator[str]:
    """The rows as Markdown.

    Args:
        rows: of the file.
        named: the columns that say which setting it is, and how each is written: "{:,}".
        metric: that is shown.
        title: of it.
        digits: behind its point.
    """
    columns = [*named, f"validation {title}", f"test {title}", "steps", "parameters", "seconds"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for row in rows:
        names = (form.format(row[name]) for name, form in named.items())
        scores = (f"{row[metric][split]:.{digits}f}" for split in SPLITS)
        counts = (f"{row['steps']:,}", f"{row['parameters']:,}", f"{row['seconds']:.0f}")
        yield f"| {' | '.join((*names, *scores, *counts))} |"
