"""Going through the rows: both sides prepared from the same tensors, looked at once, and measured in turns."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from saccade.bench.machine import Probe
from saccade.bench.measure import behind, medians, ratio, turns, waiting
from saccade.bench.peak import peak_of
from saccade.bench.row import Absent, Place, Result, Row, Run
from saccade.errors import SaccadeError
from saccade.train.environment import free_bytes

__all__ = ["distance", "measure", "measured"]

_FAR = 1e-3  # sides that differ by more than this share of the largest number do not compute the same


def measured(
    rows: Sequence[Row],
    place: Place,
    *,
    seconds: float,
    least: int = 5,
    most: float = math.inf,
    whole: float = math.inf,
    probes: Mapping[str, Probe] = MappingProxyType({}),
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Result]:
    """Give the result of each row as soon as it is there.

    Args:
        rows: what is measured.
        place: where.
        seconds: how long each row's turns take.
        least: rounds that are made even if they take longer.
        most: seconds of a row after which no other round is begun.
        whole: seconds after which no further row is begun; those that are left are named as absent.
        probes: the operations that bound the rows, by name.
        clock: seconds since whenever.
    """
    begin = clock()
    for row in rows:
        if clock() - begin > whole:
            yield Result(row, absent=f"not begun: {whole:g} seconds were over")
        else:
            yield measure(row, place, seconds=seconds, least=least, most=most, probes=probes)


def measure(
    row: Row,
    place: Place,
    *,
    seconds: float,
    least: int = 5,
    most: float = math.inf,
    probes: Mapping[str, Probe] = MappingProxyType({}),
) -> Result:
    """Return what one row came to, with the arguments of `measured`.

    A side that cannot be measured is named with its reason; the other one is measured all the same if it is ours.
    Sides that were to compute the same numbers and do not are not measured at all.
    """
    torch.manual_seed(0)
    if row.memory:
        return _peaks(row, place)
    settings = {"seconds": seconds, "least": least, "most": most, "wait": waiting(place.device)}
    try:
        inputs = row.inputs(place)
        ours = row.ours(*inputs)
        first = ours()
    except SaccadeError as error:
        return Result(row, absent=f"ours: {_reason(error)}")
    try:
        _check_room(row, place)
        theirs = row.theirs(*inputs)
        second = theirs()
    except (Absent, RuntimeError, MemoryError) as error:  # the peer's own errors too
        return _timed(row, [ours], settings, probes, absent=f"{row.peer}: {_reason(error)}")
    difference = distance(first, second) if row.same else None
    if difference is not None and not difference <= _FAR:  # NaN too
        return Result(row, difference=difference, absent=f"both: their numbers differ by {difference:.1e}")
    del first, second
    return _timed(row, [ours, theirs], settings, probes, difference=difference)


def _reason(error: Exception) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def distance(ours: Any, theirs: Any) -> float:
    """Return the largest distance between two tensors, or tuples of them, over the largest number of the second.

    >>> distance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    0.5
    """
    pairs = [(ours, theirs)] if isinstance(theirs, Tensor) else list(zip(ours, theirs, strict=True))
    found = [float((a.detach() - b.detach()).abs().max()) / max(float(b.detach().abs().max()), 1e-30) for a, b in pairs]
    return max(found)


def _timed(
    row: Row, runs: Sequence[Run], settings: dict[str, Any], probes: Mapping[str, Probe], **found: Any
) -> Result:
    """The times of ours, of the peer if it is there, and of the plain operation that bounds them."""
    probe = None if row.work is None else probes.get(row.work.limit)
    rounds = turns(runs, beside=None if probe is None else probe.run, **settings)
    times = medians(rounds)
    if len(runs) == 2:
        found |= {"peer": times[1], "ratio": ratio(rounds), "behind": behind(rounds)}
    if probe is not None and row.work is not None:
        found["limit"] = probe.amount / times[-1] / row.work.cost
    return Result(row, times[0], rounds=len(rounds), **found)


def _peaks(row: Row, place: Place) -> Result:
    """The bytes that each side takes beyond its inputs."""
    try:
        ours = float(peak_of(row, "ours", place))
    except SaccadeError as error:
        return Result(row, absent=f"ours: {error}")
    try:
        _check_room(row, place)
        peer = float(peak_of(row, "theirs", place))
    except Absent as error:
        return Result(row, ours, rounds=1, absent=f"{row.peer}: {error}")
    return Result(row, ours, peer, peer / max(ours, 1.0), rounds=1)


def _check_room(row: Row, place: Place) -> None:
    """Raises `Absent` where the peer would not find the memory it needs: half of what is free is left to others."""
    free = free_bytes(place.device)
    if free is not None and row.peer_bytes > free / 2:
        raise Absent(f"it takes {row.peer_bytes / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free")
