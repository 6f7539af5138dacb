"""The peak of memory that a side of a row takes beyond its inputs, each in a fresh process.

The system's high-water mark never falls, and a process keeps what it once was given: only a process that has done
nothing else tells what one call takes. On a GPU it is the peak of torch's allocator.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch

from saccade.bench.row import Absent, Place, Row, Run
from saccade.errors import SaccadeError
from saccade.train.notes import say

__all__ = ["alone", "grown", "growth", "peak_of"]

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_of(row: Row, side: str, place: Place) -> int:
    """Return the bytes by which memory grew at most while one call of a side ran, in a fresh process.

    Args:
        row: one of `saccade.bench.rows`, by whose name the process finds it.
        side: "ours" or "theirs".
        place: where.

    Raises:
        Absent: the side cannot be prepared, or the process failed; with the reason.
    """
    return alone("saccade.bench.peak", [row.name, side, str(place.device), place.backend, str(place.threads)])


def alone(module: str, words: Sequence[str]) -> int:
    """Return the number that a module prints when it is run in a fresh process.

    Args:
        module: its name.
        words: its arguments.

    Raises:
        Absent: the process failed; with the last line that it said.
    """
    search = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(  # noqa: S603 the words are ours
        [sys.executable, "-W", "ignore", "-m", module, *words],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"its process ended with {done.returncode}, as for want of memory"]
        raise Absent(said[-1])
    return int(done.stdout)


def grown(row: Row, side: str, place: Place) -> int:
    """Return the same in this process, which has done nothing before."""
    prepare = row.ours if side == "ours" else row.theirs
    if row.warm is not None:
        prepare(*row.warm(place))()
    return growth(prepare(*row.inputs(place)), place.device)


def growth(run: Run, device: torch.device) -> int:
    """Return the bytes by which memory grew at most while a call ran, in a process that did nothing as large before."""
    before = _mark(device, reset=True)
    run()
    return _mark(device) - before


def _mark(device: torch.device, *, reset: bool = False) -> int:
    """The high-water mark in bytes; reset, it first falls to what is held now, where the system allows it."""
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


def main(name: str, side: str, device: str, backend: str, threads: str) -> int:
    """Print the growth of a side of the row of that name."""
    from saccade.bench.rows import rows

    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    place = Place(torch.device(device), backend, int(threads))
    row = next(row for row in rows(place) if row.name == name)
    try:
        sys.stdout.write(f"{grown(row, side, place)}\n")
    except SaccadeError as error:
        say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
