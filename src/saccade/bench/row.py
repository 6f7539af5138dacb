"""What a row of the benchmark is: a call of ours, a peer's, the work they do, and what is to be reached."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from saccade._dispatch.choose import BACKENDS as _NAMED
from saccade.errors import SaccadeError

__all__ = ["BACKENDS", "Absent", "Place", "Prepare", "Result", "Row", "Run", "Target", "Work", "package"]

BACKENDS = ("auto", *_NAMED)
Run = Callable[[], Any]
Prepare = Callable[..., Run]


class Absent(SaccadeError):
    """A side of a row cannot be measured here; the message is the reason, and stands in its place."""


def package(name: str) -> Any:
    """Import a module that may not be installed.

    Raises:
        Absent: it cannot be imported.

    >>> package("no_such_package")
    Traceback (most recent call last):
    ...
    saccade.bench.row.Absent: No module named 'no_such_package'; pip install -e '.[bench]' brings the peers
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise Absent(f"{' '.join(str(error).split())}; pip install -e '.[bench]' brings the peers") from error


@dataclass(frozen=True)
class Place:
    """Where and how our side runs.

    Args:
        device: that tensors are on, for both sides.
        backend: of our calls; "auto", or one that serves them or is named as absent with its reason.
        threads: of torch's operations on a CPU.
    """

    device: torch.device
    backend: str = "auto"
    threads: int = 1

    def normal(self, *shape: int, grad: bool = False, scale: float = 1.0) -> Tensor:
        """Normal numbers of a standard deviation, which learn or do not."""
        return (torch.randn(*shape, device=self.device) * scale).requires_grad_(grad)


@dataclass(frozen=True)
class Work:
    """What one call has to do, and what of it the machine could do.

    Args:
        amount: in `unit`.
        unit: "terms" (of an additive score), "FLOP" or "B" (bytes).
        limit: the measured rate that bounds it: "multiply" (FLOP/s) or "copy" (B/s).
        cost: how much of that rate one unit takes at the least.
    """

    amount: float
    unit: str
    limit: str
    cost: float = 1.0


@dataclass(frozen=True)
class Target:
    """What a row ought to reach.

    Args:
        text: for the table.
        met: whether a result reaches it.
        ratio: the ratio that it amounts to, for the plot, if it is one.
        beside: whether it speaks of the peer, so that without one nothing can be said.
    """

    text: str
    met: Callable[["Result"], bool]
    ratio: float | None = None
    beside: bool = True


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table.

    Args:
        subject: the table that it stands in on a page.
        family: what is measured, the same for all sizes.
        shape: the size, for the table.
        size: the same as one number, for the plot.
        peer: whom ours stands beside.
        inputs: makes the tensors that both sides are prepared from.
        ours: from these to a call without arguments; raises `Absent` where it cannot be made.
        theirs: the same for the peer.
        work: what one call does, if there is a limit to compare it with.
        targets: what is to be reached.
        memory: whether the peak of the resident memory is measured, in fresh processes, and not the time.
        warm: for memory, small inputs that both sides run once before, so that nothing is compiled while it counts.
        peer_bytes: what the peer allocates at the least; where that is not free, it is absent.
        same: whether both sides compute the same numbers, which is then looked at.
        quick: whether `--quick` measures it.
    """

    subject: str
    family: str
    shape: str
    size: int
    peer: str
    inputs: Callable[[Place], tuple[Tensor, ...]]
    ours: Prepare
    theirs: Prepare
    work: Work | None = None
    targets: tuple[Target, ...] = ()
    memory: bool = False
    warm: Callable[[Place], tuple[Tensor, ...]] | None = None
    peer_bytes: int = 0
    same: bool = True
    quick: bool = False

    @property
    def name(self) -> str:
        """What a pattern is matched with: family, shape and peer."""
        return f"{self.family} {self.shape} {self.peer}"


@dataclass(frozen=True)
class Result:
    """What a row came to.

    Args:
        row: that was measured.
        ours: median seconds of our call, or its bytes where memory is measured; None if it could not be measured.
        peer: the same of the peer.
        ratio: the median over pairs of peer / ours: above 1, ours is better.
        behind: the median over pairs of ours − peer, in seconds: below 0, ours is faster.
        rounds: how many pairs.
        limit: units of work a second that the machine could do meanwhile; None where nothing bounds it.
        difference: the largest distance between both sides' numbers, over the largest of the peer's.
        absent: why a side was not measured, or None.
    """

    row: Row
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    behind: float | None = None
    rounds: int = 0
    limit: float | None = None
    difference: float | None = None
    absent: str | None = None

    @property
    def speed(self) -> float | None:
        """Units of work a second on our side."""
        if self.row.work is None or self.row.memory or not self.ours:
            return None
        return self.row.work.amount / self.ours

    @property
    def met(self) -> bool | None:
        """Whether all targets are reached; None where there is none, or not enough was measured to tell."""
        targets = self.row.targets
        if not targets or self.ours is None or (self.ratio is None and any(target.beside for target in targets)):
            return None
        return all(target.met(self) for target in targets)
