"""Metrics as text for a terminal."""

from collections.abc import Mapping

from saccade.train.task import Metric, value

__all__ = ["print_metrics"]


def print_metrics(split: str, metrics: Mapping[str, Metric], groups: Mapping[str, Mapping[str, float]]) -> None:
    """Print each metric, and below it the same for each group: by number where they have one, else the worst first.

    A fraction has four digits; a score of 0 to 100 has two, and behind it the signature that says how it was computed.

    >>> print_metrics("test", {"exact_match": 0.75}, {"exact_match": {"French": 1.0, "Dutch": 0.5}})
    exact match on test: 0.7500
      0.5000  Dutch
      1.0000  French
    >>> print_metrics("test", {"bleu": {"score": 38.5, "signature": "nrefs:1|tok:13a"}}, {"bleu": {"1-10": 40.0}})
    bleu on test: 38.50  (nrefs:1|tok:13a)
      40.00  1-10
    """
    for name, metric in metrics.items():
        digits, behind = (2, f"  ({metric['signature']})") if isinstance(metric, dict) else (4, "")
        print(f"{name.replace('_', ' ')} on {split}: {value(metric):.{digits}f}{behind}")
        for group, part in sorted(groups.get(name, {}).items(), key=_order):
            print(f"  {part:.{digits}f}  {group}")


def _order(item: tuple[str, float]) -> tuple[float, str]:
    group, part = item
    first = group.partition("-")[0]
    return (int(first) if first.isdecimal() else part), group
