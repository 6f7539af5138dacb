"""Baselines beside a model, kept in the run so that each is measured once a split."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from saccade.train.run import Run
from saccade.train.task import Baseline, Task

__all__ = ["baselines", "described", "kept"]


def baselines(run: Run, task: Task, split: str) -> dict[str, Baseline]:
    """Return the baselines of a split from the run's results if the data are those of training, else measure them."""
    stored = kept(run.results() or {}, split) if task.data.fingerprint == run.config["data"] else None
    return task.baselines(split) if stored is None else stored


def described(measured: Mapping[str, Baseline]) -> dict[str, dict[str, Any]]:
    """Return baselines as JSON for results.json."""
    return {name: asdict(baseline) for name, baseline in measured.items()}


def kept(results: Mapping[str, Any], split: str) -> dict[str, Baseline] | None:
    """Return the baselines of a split in results.json, None if it has none.

    >>> majority = {"metrics": {"accuracy": 0.5}, "about": "always good", "seconds": 0.0}
    >>> kept({"baselines": {"test": {"majority": majority}}}, "test")["majority"].metrics
    {'accuracy': 0.5}
    """
    splits, parts = results.get("baselines"), {field.name for field in fields(Baseline)}
    stored = splits.get(split) if isinstance(splits, dict) else None
    if not isinstance(stored, dict):
        return None
    whole = all(isinstance(values, dict) and values.keys() == parts and values["metrics"] for values in stored.values())
    return {name: Baseline(**values) for name, values in stored.items()} if whole else None
