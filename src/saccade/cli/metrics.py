"""Metrics as text for a terminal."""

from collections.abc import Mapping

__all__ = ["print_metrics"]


def print_metrics(split: str, metrics: Mapping[str, float], groups: Mapping[str, Mapping[str, float]]) -> None:
    """Print each metric, and below it the same for each group, the worst first.

    >>> print_metrics("test", {"exact_match": 0.75}, {"exact_match": {"French": 1.0, "Dutch": 0.5}})
    exact match on test: 0.7500
      0.5000  Dutch
      1.0000  French
    """
    for name, value in metrics.items():
        print(f"{name.replace('_', ' ')} on {split}: {value:.4f}")
        for group, part in sorted(groups.get(name, {}).items(), key=lambda item: (item[1], item[0])):
            print(f"  {part:.4f}  {group}")
