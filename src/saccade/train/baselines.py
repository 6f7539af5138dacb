"""What plain ways come to beside a model, kept in the run so that each is measured once a split."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from saccade.train.run import Run
from saccade.train.task import Baseline, Task

__all__ = ["baselines", "described", "kept"]

_PARTS = {field.name for field in fields(Baseline)}


def baselines(run: Run, task: Task, split: str) -> dict[str, Baseline]:
    """Return what plain ways come to on a split: as the run's results have it, else measured now.

    Args:
        run: whose results are looked at, where the data are still those that it was trained on.
        task: the job.
        split: "test" or "validation".
    """
    if task.data.fingerprint == run.config["data"]:
        found = kept(run.results() or {}, split)
        if found is not None:
            return found
    return task.baselines(split)


def described(found: Mapping[str, Baseline]) -> dict[str, dict[str, Any]]:
    """Return baselines as results.json has them."""
    return {name: asdict(baseline) for name, baseline in found.items()}


def kept(results: Mapping[str, Any], split: str) -> dict[str, Baseline] | None:
    """Return the baselines of a split that results.json has, None where it has none, as those of older versions.

    >>> told = {"majority": {"metrics": {"accuracy": 0.5}, "about": "always good", "seconds": 0.0}}
    >>> kept({"baselines": {"test": told}}, "test")["majority"].metrics
    {'accuracy': 0.5}
    """
    splits = results.get("baselines")
    found = splits.get(split) if isinstance(splits, dict) else None
    if not isinstance(found, dict):
        return None
    whole = all(isinstance(told, dict) and told.keys() == _PARTS and told["metrics"] for told in found.values())
    return {name: Baseline(**told) for name, told in found.items()} if whole else None
