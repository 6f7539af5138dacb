"""Measurement of rows: both sides prepared, compared once, and timed in turns."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from saccade._system.environment import free_bytes, hardware, versions
from saccade.bench.peak import peak_of
from saccade.bench.row import Absent, Result, Row, Run, Setup
from saccade.errors import SaccadeError

_SAMPLE, _REPEATS = 1e-3, 1000  # least seconds of a sample; shorter calls are repeated, at most so often
_SHORT = 20e-3  # seconds of a call that is made once more to warm up
_PEERS = ("entmax", "x-transformers", "statsmodels", "adasplash", "flash-colreduce", "attnread")
_PACKAGES = ("numpy", "numba", "triton", "transformers", *_PEERS)  # which change the figures


def turns(
    runs: Sequence[Run],
    *,
    seconds: float,
    least: int = 5,
    bound: float = math.inf,
    beside: Run | None = None,
    clock: Callable[[], float] = time.perf_counter,
    wait: Callable[[], None] = lambda: None,
) -> list[list[float]]:
    """Return the seconds of a call of each, round by round, in alternating order.

    A call shorter than a millisecond is repeated so that a sample takes about one. A short call is made once before
    the clock starts, too: the call before it has filled the caches. Each call has run before, so that compiling does
    not count.

    Args:
        runs: calls to compare.
        seconds: duration.
        least: number of rounds that are made even if they take longer.
        bound: seconds after which no other round begins, whatever `least` is.
        beside: a call that begins each round; its time is the last of the round.
        clock: seconds since some moment.
        wait: waits until a call that has returned is done, as on a GPU.
    """
    calls = [*runs, *([] if beside is None else [beside])]
    repeats = [_repeats(run, clock, wait) for run in calls]
    order = list(range(len(runs)))
    begin = clock()
    rounds: list[list[float]] = []
    while not rounds or (passed := clock() - begin) < seconds or (len(rounds) < least and passed < bound):
        taken = [0.0] * len(calls)
        turn = order if len(rounds) % 2 == 0 else order[::-1]
        for index in [*range(len(runs), len(calls)), *turn]:
            if repeats[index]:
                calls[index]()
            taken[index] = _timed(calls[index], max(repeats[index], 1), clock, wait)
        rounds.append(taken)
    return rounds


def _repeats(run: Run, clock: Callable[[], float], wait: Callable[[], None]) -> int:
    """Calls in a sample, 0 for a call too long for effects of caches."""
    first = _timed(run, 1, clock, wait)
    if first > _SHORT:
        return 0
    taken = max(min(first, _timed(run, 1, clock, wait), _timed(run, 1, clock, wait)), 1e-9)
    return min(max(math.ceil(_SAMPLE / taken), 1), _REPEATS)


def _timed(run: Run, repeats: int, clock: Callable[[], float], wait: Callable[[], None]) -> float:
    wait()
    begin = clock()
    for _ in range(repeats):
        run()
    wait()
    return (clock() - begin) / repeats


def medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Return the median seconds of each call."""
    return [median(taken) for taken in zip(*rounds, strict=True)]


def ratios(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Return the second call's time over the first's in each round."""
    return [theirs / max(ours, 1e-12) for ours, theirs, *_ in rounds]


def interval(numbers: Sequence[float]) -> tuple[float, float]:
    """Return a 95% confidence interval of the median, by ranks.

    Its ends have ranks 0.98 √n below the middle and above it, since the count below the median is binomial. Of five
    numbers or fewer they are the least and the greatest.
    """
    ranked = sorted(numbers)
    skipped = max(math.floor((len(ranked) - 1.96 * len(ranked) ** 0.5) / 2), 0)
    return ranked[skipped], ranked[-1 - skipped]


def waiting(device: torch.device) -> Callable[[], None]:
    """Return a call that waits for a device. On a CPU it does nothing."""
    return torch.cuda.synchronize if device.type == "cuda" else lambda: None


@dataclass(frozen=True)
class Probe:
    """A plain operation with a speed that limits others."""

    run: Run
    amount: float  # its FLOP or bytes


@dataclass(frozen=True)
class Machine:
    """A machine and its speed before any row."""

    hardware: Mapping[str, object]  # device, processor, cores, threads, GPU
    versions: Mapping[str, str]  # of Python, torch, Saccade and the peers that are installed
    rates: Mapping[str, float]  # "multiply" in FLOP/s of a float32 product, "copy" in bytes read and written a second


def probes(device: torch.device) -> dict[str, Probe]:
    """Return "multiply", a float32 matrix product, and "copy", larger than any cache."""
    size, length = (8192, 1 << 28) if device.type == "cuda" else (1024, 1 << 24)
    a, b = (torch.randn(size, size, device=device) for _ in range(2))
    product = torch.empty_like(a)
    source, copy = (torch.zeros(length, device=device) for _ in range(2))
    return {
        "multiply": Probe(lambda: torch.mm(a, b, out=product), 2 * size**3),
        "copy": Probe(lambda: copy.copy_(source), 2 * 4 * length),
    }


def look_at(device: torch.device, probes: Mapping[str, Probe], seconds: float = 0.3) -> Machine:
    """Return a machine's description, and the highest rate of each probe."""
    rates = {}
    for name, probe in probes.items():
        probe.run()
        rates[name] = probe.amount / min(min(turns([probe.run], seconds=seconds, wait=waiting(device))))
    return Machine(hardware(device), versions(_PACKAGES), rates)


def measure_rows(
    rows: Sequence[Row],
    setup: Setup,
    *,
    whole: float = math.inf,
    clock: Callable[[], float] = time.perf_counter,
    **settings: Any,
) -> Iterator[Result]:
    """Yield the results of rows. No row begins after `whole` seconds of the clock."""
    begin = clock()
    for row in rows:
        if clock() - begin > whole:
            yield Result(row, absent=f"not begun: {whole:g} seconds were over")
        else:
            yield measure_row(row, setup, clock=clock, **settings)


def measure_row(
    row: Row, setup: Setup, *, probes: Mapping[str, Probe] = MappingProxyType({}), **settings: Any
) -> Result:
    """Measure a row, with `settings` of `turns`, and bounds of the speed by probes.

    A side that cannot be measured is named with its reason; ours is measured without the peer. Sides that differ
    although they should compute the same numbers are not timed.
    """
    torch.manual_seed(0)
    values: dict[str, Any] = {}
    try:
        inputs = () if row.memory else row.inputs(setup)
        runs = [_side(row, "ours", setup, inputs)]
        outputs = [runs[0]()]
    except SaccadeError as error:
        return Result(row, absent=f"ours: {_reason(error)}")
    try:
        _check_room(row, setup)
        runs.append(_side(row, "theirs", setup, inputs))
        outputs.append(runs[1]())
    except (Absent, RuntimeError, MemoryError) as error:  # the peer's own errors too
        del runs[1:]
        values["absent"] = f"{row.peer}: {_reason(error)}"
    if row.memory:
        ours, *peer = map(float, outputs)
        values |= {"peer": peer[0], "ratio": peer[0] / max(ours, 1.0)} if peer else {}
        return Result(row, ours, rounds=1, **values)
    if row.same and len(runs) == 2:
        apart = distances(*outputs)
        values["difference"] = worst = max(apart, key=lambda distance: (math.isnan(distance), distance))
        if not worst <= row.far:  # NaN too
            part = f" in part {apart.index(worst)} of {len(apart)}" if len(apart) > 1 else ""
            return Result(row, absent=f"both: their numbers differ by {worst:.1e}{part}", **values)
    del outputs  # their memory
    probe = None if row.work is None else probes.get(row.work.limit)
    beside = None if probe is None else probe.run
    rounds = turns(runs, beside=beside, wait=waiting(setup.device), **settings)
    taken = medians(rounds)
    if len(runs) == 2:
        values |= {"peer": taken[1], "ratio": median(ratios(rounds)), "interval": interval(ratios(rounds))}
        values["behind"] = median(ours - theirs for ours, theirs, *_ in rounds)
    if probe is not None and row.work is not None:
        values["limit"] = probe.amount / taken[-1] / row.work.cost
    return Result(row, taken[0], rounds=len(rounds), **values)


def _side(row: Row, side: str, setup: Setup, inputs: tuple[Tensor, ...]) -> Run:
    """A call of a side. In a memory row, it returns the bytes that it adds."""
    if row.memory:
        return partial(peak_of, row, side, setup)
    return (row.ours if side == "ours" else row.theirs)(*inputs)


def distances(ours: Any, theirs: Any) -> list[float]:
    """Return the largest relative distance of two tensors, or of pairs in two tuples."""
    pairs = [(ours, theirs)] if isinstance(theirs, Tensor) else zip(ours, theirs, strict=True)
    plain = [(a.detach(), b.detach()) for a, b in pairs]
    return [float((a - b).abs().max()) / max(float(b.abs().max()), 1e-30) for a, b in plain]


def _reason(error: Exception) -> str:
    return next(filter(None, str(error).splitlines()), type(error).__name__)


def _check_room(row: Row, setup: Setup) -> None:
    """Raise `Absent` if the peer needs more than half of the free memory."""
    free = free_bytes(setup.device)
    if free is not None and row.peer_bytes > free / 2:
        raise Absent(f"it takes {row.peer_bytes / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free")
