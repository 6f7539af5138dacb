"""Peak of memory that a call takes beyond its inputs, in a fresh process.

The high-water mark of a process never falls, and a process keeps the memory that it once took, so each call needs a new
process. On a GPU it is the peak of torch's allocator.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch

from saccade.bench.row import Row, Run, Setup, run_python
from saccade.errors import SaccadeError

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_of(row: Row, side: str, setup: Setup) -> int:
    """Return the bytes of memory that a call of a side, "ours" or "theirs", adds."""
    return alone("saccade.bench.peak", [row.name, side, str(setup.device), setup.backend, str(setup.threads)])


def alone(module: str, words: Sequence[str]) -> int:
    """Return the number that a module prints in a fresh process, as in `run_python`."""
    return int(run_python(["-W", "ignore", "-m", module, *words], environment()))


def environment() -> dict[str, str]:
    """Environment of a process that imports from the same folders as this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder)}


def growth(run: Run, device: torch.device) -> int:
    """Return the bytes that a call adds, in a process without earlier large calls."""
    before = _mark(device, reset=True)
    run()
    return _mark(device) - before


def _mark(device: torch.device, *, reset: bool = False) -> int:
    """Return the high-water mark in bytes, after a reset if possible."""
    if device.type == "cuda":
        if reset:
            torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.max_memory_allocated(device)
    if not _STATUS.exists():
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    if reset:
        with suppress(OSError):
            _RESET.write_text("5", encoding="ascii")
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def grown(row: Row, side: str, setup: Setup) -> int:
    """Return the growth of a side's call in this process, after a small one."""
    prepare = row.ours if side == "ours" else row.theirs
    if row.warm is not None:
        prepare(*row.warm(setup))()
    return growth(prepare(*row.inputs(setup)), setup.device)


def main(name: str, side: str, device: str, backend: str, threads: str) -> None:
    """Print the growth of a side of the row of that name."""
    from saccade.bench import rows

    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    setup = Setup(torch.device(device), backend, int(threads))
    row = next(row for row in rows(setup) if row.name == name)
    try:
        sys.stdout.write(f"{grown(row, side, setup)}\n")
    except SaccadeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
