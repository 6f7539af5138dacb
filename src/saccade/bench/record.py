"""Results as JSON: everything that was measured, on what, and how."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.bench.machine import Machine
from saccade.bench.row import Result

__all__ = ["record"]


def record(results: Sequence[Result], machine: Machine, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold.

    Args:
        results: of the rows, in order.
        machine: that they were measured on.
        settings: command, seconds, rounds, device, backend, interrupted.
    """
    return {
        **settings,
        "machine": dict(machine.hardware),
        "versions": dict(machine.versions),
        "limits": {"multiply_flops": machine.rates["multiply"], "copy_bytes_per_second": machine.rates["copy"]},
        "rows": [_one(result) for result in results],
    }


def _one(result: Result) -> dict[str, Any]:
    row, work = result.row, result.row.work
    return {
        "row": f"{row.family} {row.shape}",
        "subject": row.subject,
        "family": row.family,
        "shape": row.shape,
        "peer": row.peer,
        "unit": "bytes" if row.memory else "seconds",
        "ours": result.ours,
        "theirs": result.peer,
        "ratio": result.ratio,
        "behind": result.behind,
        "rounds": result.rounds,
        "difference": result.difference,
        "speed": result.speed,
        "speed_unit": None if work is None else f"{work.unit}/s",
        "limit": result.limit,
        "targets": [target.text for target in row.targets],
        "met": result.met,
        "absent": result.absent,
    }
