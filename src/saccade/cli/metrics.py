"""Metrics as text for a terminal."""

from collections.abc import Mapping
from typing import Any

from saccade._system.notes import output
from saccade.train.folds import Mean
from saccade.train.task import Baseline, Metric, value


def print_metrics(split: str, metrics: Mapping[str, Metric], groups: Mapping[str, Mapping[str, float]]) -> None:
    """Print each metric and its groups, by number if they have one, or worst first.

    A fraction has four digits. A score of 0 to 100 has two, and then the signature of its computation.
    """
    for name, metric in metrics.items():
        digits, behind = _digits(metric), f"  ({metric['signature']})" if isinstance(metric, dict) else ""
        output(f"{name.replace('_', ' ')} on {split}: {value(metric):.{digits}f}{behind}")
        for group, part in sorted(groups.get(name, {}).items(), key=_order):
            output(f"  {part:.{digits}f}  {group}")


def print_baselines(split: str, baselines: Mapping[str, Baseline]) -> None:
    """Print what plain ways come to by the metric that counts, a line each.

    >>> print_baselines("test", {"majority": Baseline({"accuracy": 0.5, "macro_f1": 0.3}, "always good", 0.01)})
    baseline on test: accuracy 0.5000, majority (always good; 0.0 s)
    """
    for name, baseline in baselines.items():
        metric, result = next(iter(baseline.metrics.items()))
        number = f"{metric.replace('_', ' ')} {value(result):.{_digits(result)}f}"
        output(f"baseline on {split}: {number}, {name} ({baseline.about}; {baseline.seconds:.1f} s)")


def print_folds(split: str, results: Mapping[str, Any]) -> None:
    """Print means and standard errors of metrics and baselines over folds.

    >>> mean = {"r2": {"mean": 0.48, "error": 0.04, "folds": [0.52, 0.44]}}
    >>> print_folds("test", {"test": mean, "baselines": {"test": {"linear": {"metrics": mean, "about": "ridge"}}}})
    r2 on test: 0.4800 ± 0.0400 (2 folds)
    baseline on test: r2 0.4800 ± 0.0400 (2 folds), linear (ridge)
    """
    for name, mean in results[split].items():
        output(f"{name.replace('_', ' ')} on {split}: {Mean(**mean)}")
    for name, baseline in results["baselines"][split].items():
        metric, mean = next(iter(baseline["metrics"].items()))
        output(f"baseline on {split}: {metric.replace('_', ' ')} {Mean(**mean)}, {name} ({baseline['about']})")


def _digits(metric: Metric) -> int:
    return 2 if isinstance(metric, dict) else 4


def _order(item: tuple[str, float]) -> tuple[float, str]:
    group, part = item
    first = group.partition("-")[0]
    return (int(first) if first.isdecimal() else part), group
