"""The machine that measures: what it is, and the plain operations whose speed bounds all others."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from saccade.bench.measure import turns, waiting
from saccade.bench.row import Run
from saccade.train.environment import hardware, versions

__all__ = ["Machine", "Probe", "look_at", "probes"]

_PACKAGES = ("numpy", "numba", "triton", "entmax", "x-transformers", "statsmodels")  # what the figures depend on


@dataclass(frozen=True)
class Probe:
    """A plain operation whose speed is a limit.

    Args:
        run: does it once.
        amount: what it does then, in FLOP or bytes.
    """

    run: Run
    amount: float


@dataclass(frozen=True)
class Machine:
    """A machine and how fast it was before any row.

    Args:
        hardware: device, processor, cores, threads, GPU.
        versions: of Python, torch, Saccade and the peers that are installed.
        rates: "multiply" in FLOP/s of a float32 matrix product, "copy" in bytes read and written a second.
    """

    hardware: Mapping[str, object]
    versions: Mapping[str, str]
    rates: Mapping[str, float]


def probes(device: torch.device) -> dict[str, Probe]:
    """Return "multiply", a float32 product of two matrices, and "copy", which reads and writes what fits no cache."""
    size, length = (8192, 1 << 28) if device.type == "cuda" else (1024, 1 << 24)
    a, b = (torch.randn(size, size, device=device) for _ in range(2))
    product = torch.empty_like(a)
    source, copy = (torch.zeros(length, device=device) for _ in range(2))
    return {
        "multiply": Probe(lambda: torch.mm(a, b, out=product), 2 * size**3),
        "copy": Probe(lambda: copy.copy_(source), 2 * 4 * length),
    }


def look_at(device: torch.device, known: Mapping[str, Probe], seconds: float = 0.3) -> Machine:
    """Return what a machine is, and the rate of each probe: the fastest of all tries in so many seconds."""
    rates = {name: probe.amount / _fastest(probe.run, device, seconds) for name, probe in known.items()}
    return Machine(hardware(device), versions(_PACKAGES), rates)


def _fastest(run: Run, device: torch.device, seconds: float) -> float:
    run()
    return min(taken for (taken,) in turns([run], seconds=seconds, wait=waiting(device)))
