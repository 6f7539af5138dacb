"""Cross-validation: a run for each fold of the data, and their mean results.

The folder has the runs fold-1, fold-2, ... and folds.json. The same command goes on with the runs that are unfinished.
"""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from saccade._system.files import read_json, write_json
from saccade._system.notes import say
from saccade.errors import ArgumentError
from saccade.train.fit import Outcome, train
from saccade.train.options import Options, check_folds
from saccade.train.recipes import resolve, suit
from saccade.train.results import better_baseline
from saccade.train.run import Run, beside, folder_of
from saccade.train.task import Kind, Metric, headline_of, options_class, value

__all__ = ["FILE", "Folds", "Mean", "cross_validate", "stored_folds", "summary"]

FILE = "folds.json"
_SPLITS = {"test": "metrics", "validation": "validation"}  # of results.json, and the names of their metrics there


@dataclass(frozen=True)
class Mean:
    """Mean of a metric over folds.

    Args:
        mean: of all folds.
        error: standard error of the mean.
        folds: of each fold.
        signature: settings of the computation, or "".
    """

    mean: float
    error: float
    folds: list[float]
    signature: str = ""

    @classmethod
    def of(cls, metrics: Sequence[Metric]) -> "Mean":
        """Return the mean of a metric.

        >>> Mean.of([0.5, 0.7])
        Mean(mean=0.6, error=0.1, folds=[0.5, 0.7], signature='')
        """
        numbers = [value(metric) for metric in metrics]
        error = statistics.stdev(numbers) / math.sqrt(len(numbers))
        signature = metrics[0]["signature"] if isinstance(metrics[0], dict) else ""
        return cls(round(statistics.fmean(numbers), 6), round(error, 6), numbers, signature)

    def __str__(self) -> str:
        digits, behind = (2, f", {self.signature}") if self.signature else (4, "")
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f} ({len(self.folds)} folds{behind})"


@dataclass(frozen=True)
class Folds:
    """The end of a cross-validation.

    Args:
        folder: of all runs.
        last: the end of the last run. It has no results if the user stopped it.
        results: content of folds.json, None if a run is unfinished.
        settings: options of the last run.
    """

    folder: Path
    last: Outcome
    results: dict[str, Any] | None
    settings: Options


def cross_validate(
    kind: Kind,
    model: str,
    data: str,
    named: Mapping[str, Any],
    objects: Any = None,
    began: float | None = None,
    **settings: Any,
) -> Folds:
    """Train a run for each fold, and write folds.json.

    Args:
        kind: the task.
        model: its name.
        data: as `--data` names them.
        named: the options that the user gave, "folds" among them.
        objects: the Python objects, if data are some.
        began: moment of time.perf_counter from which the minutes of the first fold count. Default: that of the call.
        settings: further arguments of `saccade.train.fit.train`.

    Raises:
        ArgumentError: if the data have a test split, or are too few.
    """
    check_folds(count := named["folds"])
    if "fold" not in {field.name for field in fields(options_class(kind, model))} or data in kind.builtin:
        raise ArgumentError(f"--folds: expected none for {data}, which has a test split; leave it out")
    if named.get("fold"):
        raise ArgumentError(f"--fold: expected none beside --folds, which trains each, got {named['fold']}")
    folder = folder_of(kind.name, model, data, named.get("run"))
    folder = folder if named.get("run") else folder.with_name(f"{folder.name}-{count}-folds")
    if not named.get("resume", True) and folder.exists():
        folder = beside(folder)
    rest = {name: option for name, option in named.items() if name not in ("folds", "resume")}
    if (minutes := rest.get("max_minutes")) is not None:
        rest["max_minutes"] = minutes / count  # the budget is that of the command
    outcomes = list[Outcome]()
    for number in range(1, count + 1):
        began = time.perf_counter() if began is None or number > 1 else began
        options = {**rest, "run": str(folder / f"fold-{number}"), "fold": f"{number}/{count}"}
        suited = suit(kind, model, data, options, objects)
        chosen = resolve(kind, model, data, options, suited)
        say(f"fold {number} of {count}: {options['run']}")
        outcomes.append(train(kind, chosen, suited.data, suited, options, began=began, **settings))
        if outcomes[-1].results is None and not outcomes[-1].follows:
            return Folds(folder, outcomes[-1], None, chosen)
    results = [outcome.results for outcome in outcomes if outcome.results is not None]
    if results:
        write_json(folder / FILE, summary(results, headline_of(kind, chosen)))
    return Folds(folder, outcomes[-1], stored_folds(folder), chosen)


def summary(results: Sequence[Mapping[str, Any]], headline: str) -> dict[str, Any]:
    """Return the content of folds.json for the results of all folds.

    Args:
        results: content of results.json of each fold.
        headline: metric that compares a model with baselines.

    >>> def fold(r2):
    ...     mean = {"metrics": {"r2": 0.0}, "about": "the mean", "seconds": 0.1, "advice": ""}
    ...     both = {"test": {"mean": mean}, "validation": {"mean": mean}}
    ...     return {"steps": 9, "metrics": {"r2": r2}, "validation": {"r2": r2}, "baselines": both}
    >>> summary([fold(0.5), fold(0.7)], "r2")["test"]["r2"]["mean"]
    0.6
    """
    content: dict[str, Any] = {"folds": len(results), "steps": [fold["steps"] for fold in results], "baselines": {}}
    for split, key in _SPLITS.items():
        content[split] = _means([result[key] for result in results])
        baselines = [result["baselines"][split] for result in results]
        content["baselines"][split] = {
            name: {**first, "metrics": _means([fold[name]["metrics"] for fold in baselines])}
            for name, first in baselines[0].items()
            if all(name in fold for fold in baselines)
        }
    content["advice"] = _advice(content, headline)
    return content


def stored_folds(folder: Path) -> dict[str, Any] | None:
    """Return the content of folds.json.

    It is None if there is none, or if a fold has results of other steps since it was written.
    """
    path = folder / FILE
    if not path.exists():
        return None
    content: dict[str, Any] = read_json(path)
    results = [Run(folder / f"fold-{number}", {}).results() for number in range(1, content["folds"] + 1)]
    steps = [None if fold is None else fold["steps"] for fold in results]
    return content if steps == content.get("steps") else None


def _means(metrics: Sequence[Mapping[str, Metric]]) -> dict[str, dict[str, Any]]:
    names = [name for name in metrics[0] if all(name in fold for fold in metrics)]
    return {name: vars(Mean.of([fold[name] for fold in metrics])) for name in names}


def _advice(content: Mapping[str, Any], headline: str) -> str:
    """Return a line about a baseline with a better mean on validation."""

    def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
        return {name: metric["mean"] for name, metric in metrics.items()}

    baselines = content["baselines"]["validation"]
    plain = {name: {**baseline, "metrics": numbers(baseline["metrics"])} for name, baseline in baselines.items()}
    means = {"validation": numbers(content["validation"]), "baselines": {"validation": plain}}
    return better_baseline(means, headline)
