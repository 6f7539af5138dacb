"""A row of the benchmark: a call of ours, a peer's, their work, and targets."""

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from saccade._dispatch.choose import BACKENDS as _NAMED
from saccade.errors import SaccadeError

BACKENDS = ("auto", *_NAMED)
Run = Callable[[], Any]
Prepare = Callable[..., Run]
Inputs = Callable[["Setup"], tuple[Tensor, ...]]


class Absent(SaccadeError):
    """Reason why one side of a row is not measured here."""


def package(name: str, way_out: str = "pip install -e '.[bench]' brings the peers") -> Any:
    """Import a module, or raise `Absent` if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise Absent(f"{' '.join(str(error).split())}; {way_out}") from error


def run_python(words: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Return the output of a Python process, or raise `Absent` with its last error."""
    done = subprocess.run(  # noqa: S603 the words are ours
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        missing = f"its process ended with {done.returncode}, as for want of memory"
        raise Absent((done.stderr.strip().splitlines() or [missing])[-1])
    return done.stdout


@dataclass(frozen=True)
class Setup:
    """Device, backend and threads of a measurement."""

    device: torch.device  # of the tensors of both sides
    backend: str = "auto"  # of our calls; a named one may refuse a row
    threads: int = 1  # of torch's operations on a CPU

    def normal(self, *shape: int, grad: bool = False, scale: float = 1.0) -> Tensor:
        """Draw normal numbers of a standard deviation, with or without a gradient."""
        return (torch.randn(*shape, device=self.device) * scale).requires_grad_(grad)


@dataclass(frozen=True)
class Work:
    """Work of one call, and the rate of the machine that bounds it."""

    amount: float
    unit: str  # "terms" (of an additive score), "FLOP" or "B" (bytes)
    limit: str  # the measured rate: "multiply" (FLOP/s) or "copy" (B/s)
    cost: float = 1.0  # how much of that rate one unit takes at the least


@dataclass(frozen=True)
class Target:
    """A goal of a row."""

    text: str  # for the table
    met: Callable[["Result"], bool]
    ratio: float | None = None  # the ratio that it amounts to, for the plot, if it is one
    beside: bool = True  # whether it compares with the peer, and so needs the peer's time


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the table: two calls on the same tensors."""

    family: str  # name of the measurement, equal for all sizes
    shape: str  # the size, for the table
    peer: str  # name of the other side
    inputs: Inputs  # makes the tensors of both sides
    ours: Prepare  # makes our call from them; raises `Absent` if that is impossible here
    theirs: Prepare  # makes the peer's call
    size: int = 1  # the size as one number, for the plot of a family of several
    work: Work | None = None  # of one call, if a limit bounds it
    targets: tuple[Target, ...] = ()
    memory: bool = False  # whether the peak of memory is measured, in fresh processes, and not the time
    warm: Inputs | None = None  # small inputs for a first call of a memory row, whose compiling must not count
    peer_bytes: int = 0  # least allocation of the peer; it is absent if that is not free
    same: bool = True  # whether both sides compute the same numbers, which is then checked
    far: float = 1e-3  # the distance, as a share of the largest number, from which they are not the same
    half: bool = False  # whether a GPU measures it in bfloat16 too
    quick: bool = False  # whether `--quick` measures it
    subject: str = ""  # the table of a page that it belongs to

    @property
    def name(self) -> str:
        """Family, shape and peer, for the patterns of `--rows`."""
        return f"{self.family} {self.shape} {self.peer}"


@dataclass(frozen=True)
class Result:
    """Measurement of a row; None is what was not measured."""

    row: Row
    ours: float | None = None  # median seconds of our call, or its bytes in a memory row
    peer: float | None = None  # of the peer's call
    ratio: float | None = None  # median over pairs of peer / ours: above 1, ours is better
    behind: float | None = None  # median over pairs of ours - peer, in seconds
    rounds: int = 0  # number of pairs
    limit: float | None = None  # units of work a second that the machine could do meanwhile
    difference: float | None = None  # largest distance of both sides' numbers, over the peer's largest number
    absent: str | None = None  # why a side was not measured
    interval: tuple[float, float] | None = None  # 95% confidence interval of the ratio

    @property
    def speed(self) -> float | None:
        """Units of work a second on our side."""
        if self.row.work is None or self.row.memory or not self.ours:
            return None
        return self.row.work.amount / self.ours

    @property
    def met(self) -> bool | None:
        """Whether all targets are reached, None without targets or a necessary side."""
        targets = self.row.targets
        if not targets or self.ours is None or (self.ratio is None and any(target.beside for target in targets)):
            return None
        return all(target.met(self) for target in targets)


def times(ratio: float) -> Target:
    """So many times as fast as the peer."""
    return Target(f"≥ {ratio:g}x", lambda result: (result.ratio or 0.0) >= ratio, ratio)


def as_fast(share: float, amount: float, peers: float) -> Target:
    """A share of the peer's work a second; the peer is a call of another size."""
    return Target(f"≥ {share:.0%} of its speed", times(share * peers / amount).met, share * peers / amount)


def at_most(factor: float, what: str = "time") -> Target:
    """At most so many times the peer's time, or its memory."""
    return Target(f"≤ {factor:g}x the {what}", lambda result: (result.ratio or 0.0) * factor >= 1, 1 / factor)


def beyond(seconds: float) -> Target:
    """At most so many seconds more than a peer that does a part of the work."""
    return Target(f"≤ {seconds:g} s more", lambda result: result.behind is not None and result.behind <= seconds)


def close_behind() -> Target:
    """At most 5% or 25 µs behind the peer, whichever is more."""

    def met(result: Result) -> bool:
        assert result.behind is not None
        assert result.peer is not None
        return result.behind <= max(0.05 * result.peer, 25e-6)

    return Target("≤ 5% or 25 µs behind", met)


def speed_of(rate: float, unit: str, threads: int) -> Target:
    """So many units of work a second and thread, whatever the peer does."""
    text = f"≥ {rate / 1e9:g} G {unit}/s a thread"
    return Target(text, lambda result: (result.speed or 0.0) >= rate * threads, beside=False)


def of_limit(share: float) -> Target:
    """At least a share of the speed that the machine's limit allows."""

    def met(result: Result) -> bool:
        return (result.speed or 0.0) >= share * (result.limit or math.inf)

    return Target(f"≥ {share:g}x the limit", met, beside=False)


def linear(factor: float, inputs: int, results: int) -> Target:
    """At most so many times the bytes of inputs, outputs and gradients together."""

    def met(result: Result) -> bool:
        return inputs + (result.ours or 0.0) <= factor * (inputs + results)

    return Target(f"≤ {factor:g}x of inputs, outputs, gradients", met, beside=False)


def quicker(seconds: float) -> Target:
    """At most so many seconds, whatever the peer does."""
    text = f"≤ {seconds * 1e6:g} µs"
    return Target(text, lambda result: result.ours is not None and result.ours <= seconds, beside=False)


def within(mebibytes: int) -> Target:
    """Less than so much memory."""
    return Target(f"< {mebibytes} MiB", lambda result: (result.ours or 0.0) < mebibytes * 2**20, beside=False)
