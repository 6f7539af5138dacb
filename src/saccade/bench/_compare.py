"""Comparison of two stored measurements: rows that changed beyond noise."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade._system.files import read_json
from saccade.bench._page import amount, line
from saccade.bench._rows import matches
from saccade.errors import ArgumentError

_COLUMNS = ("row", "peer", "old", "new", "old/new", "old ratio", "new ratio", "change", "")
_WIDTHS = (9, 9, 7, 9, 9, 7, 0)  # of the columns behind the names
_VERDICTS = ("faster", "slower", "within noise", "no interval", "not measured")


@dataclass(frozen=True)
class Stored:
    """A file of `saccade bench --json`."""

    name: str
    conditions: Mapping[str, object]  # device, processor, cores, threads, and versions of packages
    rows: Mapping[tuple[str, str], Mapping[str, Any]]  # by row and peer


def read(path: str) -> Stored:
    """Read a file of `saccade bench --json`, or raise `ArgumentError`."""
    try:
        return stored(path, read_json(Path(path)))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ArgumentError(f"--compare: expected a file of saccade bench --json, got {path}") from error


def stored(name: str, record: Mapping[str, Any]) -> Stored:
    """A record of `_page.record` as `Stored`, with all fields that a comparison reads."""
    versions = {package: version for package, version in record["versions"].items() if package != "saccade"}
    rows = {
        (str(row["row"]), str(row["peer"])): {
            "memory": row["unit"] == "bytes",
            **{field: None if row[field] is None else _number(row[field]) for field in ("ours", "ratio")},
            "interval": _interval(row.get("interval")),
        }
        for row in record["rows"]
    }
    return Stored(name, {**record["machine"], **versions}, rows)


def _number(value: Any) -> float:
    """A time, an amount of memory or a ratio, or `ValueError`."""
    if isinstance(value, str | bool) or not 0 <= (number := float(value)) < math.inf:  # not NaN
        raise ValueError(f"expected a finite number of at least 0, got {value}")
    return number


def _interval(ends: Any) -> list[float]:
    """Both ends, or nothing for files without intervals."""
    if ends is None:
        return []
    low, high = map(_number, ends)
    if low > high:
        raise ValueError(f"expected an interval, got {ends}")
    return [low, high]


def compare(old: Stored, new: Stored, pattern: str = "*") -> list[str]:
    """Return lines of differing conditions, common rows, single rows, and counts.

    A verdict compares ratios to the peer by their 95% intervals, since machines differ. Our times are compared only if
    all conditions are equal.

    Raises:
        ArgumentError: if no row matches the pattern.
    """
    before, after = (
        {key: row for key, row in side.rows.items() if matches(" ".join(key), pattern)} for side in (old, new)
    )
    if not (before or after) and (old.rows or new.rows):
        raise ArgumentError(
            f"--rows: expected a part of a row's name, got {pattern}, which matches no row of the files"
        )
    both = [key for key in after if key in before]
    changed = [
        f"{name} {old.conditions.get(name)} → {new.conditions.get(name)}"
        for name in {**old.conditions, **new.conditions}
        if old.conditions.get(name) != new.conditions.get(name)
    ]
    lines = [f"conditions differ, so compare ratios and not times: {', '.join(changed)}"] if changed else []
    names = [max(len(text) for text in texts) for texts in zip(_COLUMNS[:2], *both, strict=True)]
    wide, verdicts = [*names, *_WIDTHS], Counter[str]()
    lines += [line(_COLUMNS, wide)] if both else []
    for key in both:
        verdict = _verdict(before[key], after[key])
        verdicts[verdict] += 1
        lines.append(line([*key, *_numbers(before[key], after[key], not changed), verdict], wide))
    for side, rows, other in ((old, before, after), (new, after, before)):
        if alone := [" ".join(key) for key in rows if key not in other]:
            lines.append(f"only in {side.name}: {'; '.join(alone)}")
    return [*lines, f"rows: {', '.join(f'{verdicts[verdict]} {verdict}' for verdict in _VERDICTS)}"]


def _numbers(before: Mapping[str, Any], after: Mapping[str, Any], alike: bool) -> list[str]:
    times = ["" if row["ours"] is None else amount(row["ours"], row["memory"]) for row in (before, after)]
    ratios = ["" if row["ratio"] is None else f"{row['ratio']:.2f}" for row in (before, after)]
    quicker = _quotient(before["ours"], after["ours"]) if alike else ""
    return [*times, quicker, *ratios, _quotient(after["ratio"], before["ratio"])]


def _quotient(above: float | None, below: float | None) -> str:
    return f"{above / below:.2f}" if above is not None and below else ""


def _verdict(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Verdict of two intervals of the ratio; if they overlap, it is noise."""
    if before["ours"] is None or after["ours"] is None:
        return "not measured"
    if not before["interval"] or not after["interval"]:
        return "no interval"
    (old_low, old_high), (new_low, new_high) = before["interval"], after["interval"]
    return "faster" if new_low > old_high else "slower" if new_high < old_low else "within noise"
