"""Time of calls that take turns in one process: whatever else the machine does falls on all of them."""

import math
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from saccade.bench.row import Run

__all__ = ["behind", "medians", "ratio", "turns", "waiting"]

_SAMPLE = 1e-3  # seconds that one sample takes at the least: shorter calls are repeated
_MOST = 1000  # repeats
_SHORT = 20e-3  # seconds of a call that is made once more to warm up


def turns(
    runs: Sequence[Run],
    *,
    seconds: float,
    least: int = 5,
    most: float = math.inf,
    beside: Run | None = None,
    clock: Callable[[], float] = time.perf_counter,
    wait: Callable[[], None] = lambda: None,
) -> list[list[float]]:
    """Return the seconds that one call of each took, round by round, every other round in the opposite order.

    Each is called a few times before, to see how long it takes: a call shorter than a millisecond is repeated so that a
    sample takes about one. A short one is called once before the clock starts, too: what ran before it has the caches.

    Args:
        runs: the calls that are compared, each of which has run before: what a first call compiles is not to count.
        seconds: how long to go on.
        least: rounds that are made even if they take longer.
        most: seconds after which no other round is begun, whatever `least` says.
        beside: a call that begins each round, and whose time is the last of it.
        clock: seconds since whenever.
        wait: waits until a call that has returned is done, as on a GPU.

    Example:
        >>> len(turns([lambda: None, lambda: None], seconds=0.0, least=3))
        3
    """
    all_of_them = [*runs, *([] if beside is None else [beside])]
    repeats = [_repeats(run, clock, wait) for run in all_of_them]
    order = list(range(len(runs)))
    begin = clock()
    rounds: list[list[float]] = []
    while not rounds or (passed := clock() - begin) < seconds or (len(rounds) < least and passed < most):
        taken = [0.0] * len(all_of_them)
        turn = order if len(rounds) % 2 == 0 else order[::-1]
        for place in [*range(len(runs), len(all_of_them)), *turn]:
            taken[place] = _sample(all_of_them[place], repeats[place], clock, wait)
        rounds.append(taken)
    return rounds


def medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Return the median seconds of each call.

    >>> medians([[1.0, 4.0], [2.0, 3.0], [9.0, 2.0]])
    [2.0, 3.0]
    """
    return [median(taken) for taken in zip(*rounds, strict=True)]


def ratio(rounds: Sequence[Sequence[float]]) -> float:
    """Return the median over rounds of the second call's time over the first's, whatever stood beside them.

    >>> ratio([[1.0, 4.0], [2.0, 4.0], [9.0, 2.0]])
    2.0
    """
    return median(theirs / max(ours, 1e-12) for ours, theirs, *_ in rounds)


def behind(rounds: Sequence[Sequence[float]]) -> float:
    """Return the median over rounds of the first call's time beyond the second's, in seconds.

    >>> behind([[1.0, 4.0], [2.0, 1.5], [9.0, 2.0]])
    0.5
    """
    return median(ours - theirs for ours, theirs, *_ in rounds)


def waiting(device: torch.device) -> Callable[[], None]:
    """Return what waits for a device: nothing on a CPU, where calls return when they are done."""
    return torch.cuda.synchronize if device.type == "cuda" else lambda: None


def _repeats(run: Run, clock: Callable[[], float], wait: Callable[[], None]) -> int:
    """How often a sample calls it; 0 for a call so long that what it finds in the caches makes no difference."""
    first = _timed(run, 1, clock, wait)
    if first > _SHORT:
        return 0
    taken = max(min(first, _timed(run, 1, clock, wait), _timed(run, 1, clock, wait)), 1e-9)
    return min(max(math.ceil(_SAMPLE / taken), 1), _MOST)


def _sample(run: Run, repeats: int, clock: Callable[[], float], wait: Callable[[], None]) -> float:
    """Seconds of one call, from so many of them after one that is not counted; from one alone where `repeats` is 0."""
    if repeats:
        run()
    return _timed(run, max(repeats, 1), clock, wait)


def _timed(run: Run, repeats: int, clock: Callable[[], float], wait: Callable[[], None]) -> float:
    wait()
    begin = clock()
    for _ in range(repeats):
        run()
    wait()
    return (clock() - begin) / repeats
