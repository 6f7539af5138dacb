"""Results as lines of text, as a page of Markdown, and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.bench._rows import TITLES
from saccade.bench.measure import Machine
from saccade.bench.row import Result, Row

COLUMNS = ("row", "peer", "ours", "peer's", "ratio", "speed", "of limit", "target")
_WIDTHS = (0, 0, 9, 9, 7, 16, 8, 0)  # characters; 0: as long as the rows need, or the last
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_THOUSANDS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, ""))
_DISTURBED = 2 / 3  # of the best limit; below it another program used the machine


def amount(value: float, memory: bool = False) -> str:
    """Seconds, or bytes, with three digits."""
    return _with_unit(value, _BYTES if memory else _SECONDS)


def speed(rate: float, unit: str) -> str:
    """Units a second, with three digits."""
    named = f" {unit}/s" if unit == "terms" else f"{unit}/s"
    return _with_unit(rate, [(size, f"{prefix}{named}".strip()) for size, prefix in _THOUSANDS])


def _with_unit(value: float, units: Sequence[tuple[float, str]]) -> str:
    size, unit = next(((size, unit) for size, unit in units if value >= size), units[-1])
    return f"{value / size:.3g} {unit}" if value < 999.5 * size else f"{value / size:.0f} {unit}"


def cells(result: Result) -> list[str]:
    """Return the columns of a result, empty without a number, and last the reason."""
    row, rate = result.row, result.speed
    targets = verdict([target.text for target in row.targets], result.met)
    absent = f"absent: {result.absent}" if result.absent else ""
    return [
        f"{row.family} {row.shape}",
        row.peer,
        *("" if value is None else amount(value, row.memory) for value in (result.ours, result.peer)),
        "" if result.ratio is None else f"{result.ratio:.2f}",
        "" if rate is None or row.work is None else speed(rate, row.work.unit),
        "" if rate is None or result.limit is None else f"{rate / result.limit:.0%}",
        "; ".join(part for part in (targets, absent) if part),
    ]


def verdict(targets: Sequence[str], met: bool | None) -> str:
    """Targets of a row, and whether they are met."""
    return ", ".join(targets) + {True: ": met", False: ": missed", None: ""}[met]


def limits(machine: Machine) -> str:
    """The machine in a line, with the rates that bound the rows."""
    hardware = machine.hardware
    threads = f"{hardware['threads']} thread{'s' if hardware['threads'] != 1 else ''}"
    device = hardware.get("gpu") or f"{hardware['processor']}, {threads}"
    rates = [speed(machine.rates["multiply"], "FLOP"), speed(machine.rates["copy"], "B")]
    return f"{device}, torch {machine.versions['torch']}; a plain multiply reaches {rates[0]}, a copy {rates[1]}"


def widths(rows: Sequence[Row]) -> list[int]:
    """Widths of all columns, from the names of the rows."""
    name = max(len(text) for text in (COLUMNS[0], *(f"{row.family} {row.shape}" for row in rows)))
    return [name, max(len(text) for text in (COLUMNS[1], *(row.peer for row in rows))), *_WIDTHS[2:]]


def line(columns: Sequence[str], wide: Sequence[int]) -> str:
    """Return columns side by side, words to the left and numbers to the right."""
    left = [f"{text:<{width}}" for text, width in zip(columns[:2], wide[:2], strict=True)]
    right = [f"{text:>{width}}" for text, width in zip(columns[2:-1], wide[2:-1], strict=True)]
    return "  ".join([*left, *right, columns[-1]]).rstrip()


def summary(results: Sequence[Result]) -> str:
    """The numbers of reached targets and of rows on a slow machine."""
    met = [result.met for result in results if result.row.targets]
    targets = f"targets: {met.count(True)} met, {met.count(False)} missed, {met.count(None)} not measured"
    if not (slow := disturbed(results)):
        return targets
    rows = f"{len(slow)} of {len(results)} rows, {slow[0].row.name}{' the first' if len(slow) > 1 else ''}"
    return (
        f"{targets}\ndoubtful: {rows}: beside them this machine reached less than two thirds of what it did at its best"
    )


def disturbed(results: Sequence[Result]) -> list[Result]:
    """Rows that another program slowed far below the best of the machine."""
    bounded = [
        (result, (result.row.work.limit, result.row.work.cost), result.limit)
        for result in results
        if result.row.work is not None and result.row.work.limit and result.limit is not None
    ]
    best = dict[tuple[str, float], float]()
    for _, kind, limit in bounded:
        best[kind] = max(limit, best.get(kind, limit))
    return [result for result, kind, limit in bounded if limit < best[kind] * _DISTURBED]


def page(results: Sequence[Result], machine: Machine, command: str, picture: str | None = None) -> str:
    """A page with a table for each subject, and a picture by its relative path."""
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    parts = ["# What was measured", f"```bash\n{command}\n```", f"{limits(machine)}.", f"{versions}."]
    if picture is not None:
        parts.append(f"![Ratios over sizes]({picture})")
    for subject in dict.fromkeys(result.row.subject for result in results):
        rows = [cells(result) for result in results if result.row.subject == subject]
        escaped = [[text.replace("|", r"\|") for text in row] for row in rows]
        lines = [f"| {' | '.join(texts)} |" for texts in (COLUMNS, *escaped)]
        lines.insert(1, f"|---|---|{'---:|' * (len(COLUMNS) - 3)}---|")
        parts += [f"## {TITLES[subject]}", "\n".join(lines)]
    return "\n\n".join([*parts, f"{summary(results)}."]) + "\n"


def record(results: Sequence[Result], machine: Machine, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Results, machine and settings as JSON can hold them."""
    return {
        **settings,
        "machine": dict(machine.hardware),
        "versions": dict(machine.versions),
        "limits": {"multiply_flops": machine.rates["multiply"], "copy_bytes_per_second": machine.rates["copy"]},
        "rows": [_record_of(result) for result in results],
    }


def _record_of(result: Result) -> dict[str, Any]:
    row, work = result.row, result.row.work
    return {
        "row": f"{row.family} {row.shape}",
        **{name: getattr(row, name) for name in ("subject", "family", "shape", "peer")},
        "unit": "bytes" if row.memory else "seconds",
        "ours": result.ours,
        "theirs": result.peer,
        **{name: getattr(result, name) for name in ("ratio", "interval", "behind", "rounds", "difference", "speed")},
        "speed_unit": None if work is None else f"{work.unit}/s",
        "limit": result.limit,
        "targets": [target.text for target in row.targets],
        "met": result.met,
        "absent": result.absent,
    }
