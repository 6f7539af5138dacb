"""Results as lines of text: what was measured, beside whom, how fast, how near the machine's limit, and the target."""

from collections.abc import Sequence

from saccade.bench.machine import Machine
from saccade.bench.row import Result, Row

__all__ = ["COLUMNS", "amount", "cells", "header", "limits", "line", "summary", "widths"]

COLUMNS = ("row", "peer", "ours", "peer's", "ratio", "speed", "of limit", "target")
_WIDTHS = (0, 0, 9, 9, 7, 16, 8, 0)  # characters; 0: as long as the rows need, or the last
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_THOUSANDS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, ""))


def amount(value: float, memory: bool = False) -> str:
    """Return seconds, or bytes, with three digits.

    >>> amount(0.00123), amount(12.3456), amount(423 * 2**20, memory=True)
    ('1.23 ms', '12.3 s', '423 MiB')
    """
    return _told(value, _BYTES if memory else _SECONDS)


def speed(rate: float, unit: str) -> str:
    """Return units a second.

    >>> speed(3.21e10, "terms"), speed(8.5e10, "FLOP")
    ('32.1 G terms/s', '85 GFLOP/s')
    """
    named = f" {unit}/s" if unit == "terms" else f"{unit}/s"
    return _told(rate, [(size, f"{prefix}{named}".strip()) for size, prefix in _THOUSANDS])


def cells(result: Result) -> list[str]:
    """Return the columns of a result; what was not measured stays empty, and the last says why."""
    row = result.row
    found = [f"{row.family} {row.shape}", row.peer]
    found += ["" if value is None else amount(value, row.memory) for value in (result.ours, result.peer)]
    found.append("" if result.ratio is None else f"{result.ratio:.2f}")
    rate = result.speed
    found.append("" if rate is None or row.work is None else speed(rate, row.work.unit))
    found.append("" if rate is None or result.limit is None else f"{rate / result.limit:.0%}")
    return [*found, _verdict(result)]


def limits(machine: Machine) -> str:
    """Return the machine in a line, with what bounds the rows.

    >>> rates = {"multiply": 1.5e11, "copy": 2e10}
    >>> print(limits(Machine({"processor": "x86", "threads": 2}, {"torch": "2.13"}, rates)))
    x86, 2 threads, torch 2.13; a plain multiply reaches 150 GFLOP/s, a copy 20 GB/s
    """
    known = machine.hardware
    what = known.get("gpu") or f"{known['processor']}, {known['threads']} thread{'s' if known['threads'] != 1 else ''}"
    rates = [speed(machine.rates["multiply"], "FLOP"), speed(machine.rates["copy"], "B")]
    return f"{what}, torch {machine.versions['torch']}; a plain multiply reaches {rates[0]}, a copy {rates[1]}"


def widths(rows: Sequence[Row]) -> list[int]:
    """Return the widths of all columns, known before anything is measured."""
    name = max([len(f"{row.family} {row.shape}") for row in rows] + [len(COLUMNS[0])])
    peer = max([len(row.peer) for row in rows] + [len(COLUMNS[1])])
    return [name, peer, *_WIDTHS[2:]]


def header(wide: Sequence[int]) -> str:
    """Return the first line of the table."""
    return _spread(COLUMNS, wide)


def line(result: Result, wide: Sequence[int]) -> str:
    """Return the line of a result."""
    return _spread(cells(result), wide)


def summary(results: Sequence[Result]) -> str:
    """Return how many targets were reached, and beside how many rows the machine was slower than at its best.

    >>> summary([])
    'targets: 0 met, 0 missed, 0 not measured'
    """
    found = [result.met for result in results if result.row.targets]
    targets = f"targets: {found.count(True)} met, {found.count(False)} missed, {found.count(None)} not measured"
    slow = disturbed(results)
    if not slow:
        return targets
    rows = f"{len(slow)} of {len(results)} rows, {slow[0].row.name}{' the first' if len(slow) > 1 else ''}"
    return (
        f"{targets}\ndoubtful: {rows}: beside them this machine reached less than two thirds of what it did at its best"
    )


def disturbed(results: Sequence[Result]) -> list[Result]:
    """Return the rows beside which the machine's limit was far below its best: something else was running.

    >>> disturbed([])
    []
    """
    best: dict[tuple[str, float], float] = {}
    kinds = [(result, _limit_of(result)) for result in results]
    for _, known in kinds:
        if known is not None:
            best[known[:2]] = max(best.get(known[:2], 0.0), known[2])
    return [result for result, known in kinds if known is not None and known[2] < best[known[:2]] * _DISTURBED]


_DISTURBED = 2 / 3


def _limit_of(result: Result) -> tuple[str, float, float] | None:
    """What bounds a row, at what cost a unit of its work, and the limit beside it."""
    work = result.row.work
    if work is None or result.limit is None or not work.limit:
        return None
    return work.limit, work.cost, result.limit


def _verdict(result: Result) -> str:
    """The target and whether it is reached, and why a side is absent."""
    targets = ", ".join(target.text for target in result.row.targets)
    met = {True: "met", False: "missed", None: ""}[result.met]
    parts = [f"{targets}: {met}" if met else targets, f"absent: {result.absent}" if result.absent else ""]
    return "; ".join(part for part in parts if part)


def _spread(columns: Sequence[str], wide: Sequence[int]) -> str:
    """Words to the left, numbers to the right."""
    left = [f"{text:<{width}}" for text, width in zip(columns[:2], wide[:2], strict=True)]
    right = [f"{text:>{width}}" for text, width in zip(columns[2:-1], wide[2:-1], strict=True)]
    return "  ".join([*left, *right, columns[-1]]).rstrip()


def _told(value: float, units: Sequence[tuple[float, str]]) -> str:
    size, unit = next(((size, unit) for size, unit in units if value >= size), units[-1])
    return f"{value / size:.3g} {unit}" if value < 999.5 * size else f"{value / size:.0f} {unit}"
