"""Random numbers of a step n as a function of (seed, n).

A resumed run therefore equals the uninterrupted one.
"""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np
import torch
from torch.utils import deterministic

from saccade._threads import free_in_children

_GENERATORS = free_in_children(RLock())


def derive(seed: int, *labels: object) -> int:
    """Return a hash below 2^63 of a seed and labels such as ("step", 12).

    It is the same on every machine.

    >>> derive(1, "step", 12) == derive(1, "step", 12) != derive(1, "step", 13)
    True
    """
    text = "/".join(map(str, (seed, *labels)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, *labels: object) -> torch.Generator:
    """Return a new CPU generator, seeded by `derive`."""
    return torch.Generator().manual_seed(derive(seed, *labels))


@contextmanager
def seeded(seed: int, *labels: object) -> Iterator[None]:
    """Seed the global generators by `derive` within the block."""
    with undisturbed():
        torch.manual_seed(derive(seed, *labels))
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the global generators of torch, NumPy and Python after the block.

    Other threads wait for its end. A GPU that the block uses first gets the CPU's seed from before the block.
    """
    with _GENERATORS, python_and_numpy():
        used, seed = torch.cuda.is_initialized(), torch.initial_seed()
        devices = range(torch.cuda.device_count()) if used else ()  # counting them would initialize it
        with torch.random.fork_rng(devices):
            try:
                yield
            finally:
                if not used and (torch.cuda.is_initialized() or torch.initial_seed() != seed):
                    torch.cuda.manual_seed_all(seed)


@contextmanager
def python_and_numpy() -> Iterator[None]:
    """Restore the global generators of Python and NumPy after the block.

    No thread waits, so imports may use it.
    """
    drawn, state = random.getstate(), np.random.get_state()  # noqa: NPY002 (the global one)
    try:
        yield
    finally:
        random.setstate(drawn)
        np.random.set_state(state)  # noqa: NPY002


@contextmanager
def reproducible() -> Iterator[None]:
    """Select deterministic kernels in torch.

    Equal numbers of threads then give equal bits.
    """
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filling = deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True)
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined] # a debugging aid that takes time
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
