"""`saccade bench`: how fast attention is here, beside other ways to compute it and the machine's own limit."""

import errno
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from saccade.bench.machine import Machine, Probe, look_at, probes
from saccade.bench.page import page
from saccade.bench.record import record
from saccade.bench.row import BACKENDS, Place, Result, Row
from saccade.bench.rows import rows, select
from saccade.bench.run import measured
from saccade.bench.table import header, limits, line, summary, widths
from saccade.cli.arguments import UsageError, choose, parse
from saccade.train.environment import choose_device
from saccade.train.files import encode, write
from saccade.train.notes import output, say, unheard
from saccade.train.options import not_positive

__all__ = ["run"]

_INTERRUPTED = 130
_SECONDS, _LEAST = 2.0, 5  # of a row's turns, and rounds at the least
_QUICK_SECONDS, _QUICK_LEAST = 0.3, 3
_QUICK_MOST, _QUICK_WHOLE = 8.0, 85.0  # seconds of a row and of all rows, after which nothing is begun: it ends in time


@dataclass(frozen=True)
class Arguments:
    """Measure ours beside peers: both in one process and in turns, the median ratio, and the machine's own limit.

    Peers that are not installed are named as absent. Ctrl-C ends it; what was measured until then is kept.
    """

    quick: bool = False
    """Measure a short list, shortly: within two minutes on two cores."""

    rows: str = "*"
    """Measure the rows whose name contains this alone; * and ? stand for whatever is there, | for either."""

    seconds: float | None = None
    """How long to measure each row: 2 if not given, 0.3 with --quick; slow rows take the time of five rounds."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Threads of a CPU, for both sides; as torch has it if not given."""

    backend: str = "auto"
    """Backend of our calls; rows that it cannot serve are named with the reason."""

    json: str | None = None
    """Also write everything that was measured as JSON to this new file."""

    page: str | None = None
    """Also write a page in Markdown to this new file."""

    plot: str | None = None
    """Also draw the ratios: PNG and SVG, both new, of this name."""


def run(arguments: list[str]) -> int:
    """Print each row as soon as it is measured, and write what was asked for."""
    given = parse(Arguments, arguments, "saccade bench", Arguments.__doc__ or "")
    _check(given)
    device = choose_device(given.device)
    if given.threads is not None:
        torch.set_num_threads(given.threads)
    place = Place(device, given.backend, torch.get_num_threads())
    wanted = select(rows(place), given.rows, quick=given.quick)
    say(f"rows: {len(wanted)}; the machine's limits first")
    known = probes(device)
    machine = look_at(device, known)
    output(limits(machine), flush=True)
    results, interrupted = list[Result](), True
    try:
        interrupted = _measured(results, wanted, place, known, given)
        output(summary(results))
    finally:  # what was measured before an error, such as a lack of memory, took as long
        _write(results, machine, given, shlex.join(["saccade", "bench", *arguments]), interrupted)
    if interrupted:
        say(f"interrupted after {len(results)} of {len(wanted)} rows")
    return _INTERRUPTED if interrupted else 0


def _measured(
    results: list[Result], wanted: Sequence[Row], place: Place, known: Mapping[str, Probe], given: Arguments
) -> bool:
    """Whether the user ended it before the last of the results, which are printed one by one."""
    wide = widths(wanted)
    output(header(wide), flush=True)
    quick = {"least": _QUICK_LEAST, "most": _QUICK_MOST, "whole": _QUICK_WHOLE}
    limits_of_time: dict[str, Any] = quick if given.quick else {"least": _LEAST}
    try:
        _progress(wanted, 0)
        for result in measured(wanted, place, seconds=_seconds(given), probes=known, **limits_of_time):
            _progress(wanted, None)
            results.append(result)
            output(line(result, wide), flush=True)
            _progress(wanted, len(results))
    except KeyboardInterrupt:
        _progress(wanted, None)
        return True
    return False


def _seconds(given: Arguments) -> float:
    return given.seconds if given.seconds is not None else _QUICK_SECONDS if given.quick else _SECONDS


def _progress(wanted: Sequence[Row], place: int | None) -> None:
    """Which row is under way, in a line of a terminal that goes away again."""
    if sys.stderr.isatty():
        text = "" if place is None or place == len(wanted) else f"{place + 1} of {len(wanted)}: {wanted[place].name}"
        with unheard():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _check(given: Arguments) -> None:
    """Refuse what means nothing, before minutes are spent on it."""
    if wrong := not_positive(given.seconds):
        raise UsageError(f"--seconds: {wrong}")
    most = os.cpu_count() or 1
    if given.threads is not None and not 0 < given.threads <= most:
        raise UsageError(f"--threads: expected a number from 1 to {most}, got {given.threads}")
    choose("--backend", given.backend, BACKENDS)
    taken: dict[Path, str] = {}
    for option, name in (("--json", given.json), ("--page", given.page), ("--plot", given.plot)):
        if name is None:
            continue
        if not name:
            raise UsageError(f"{option}: expected the name of a new file, got an empty name")
        if option == "--plot" and Path(name).name in ("", ".."):  # no suffix can be put behind it
            raise UsageError(f"--plot: expected the name of a new file, got a folder: {name}")
        for path in _pictures(name) if option == "--plot" else [Path(name)]:
            _check_new(option, path)
            if path.resolve() in taken:
                other = taken[path.resolve()]
                raise UsageError(f"{option}: expected a file of its own, got {path}, which {other} writes too")
            taken[path.resolve()] = option


def _check_new(option: str, path: Path) -> None:
    """Refuse a file that is there, or that cannot be made."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{option}: expected the name of a new file, got {path}, which is there already")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: expected a name in a folder that exists, got {path}")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"{option}: expected a name in a folder that can be written to, got {path}: {reason}"
        ) from error


def _pictures(name: str) -> list[Path]:
    """The PNG and the SVG, whichever was named."""
    path = Path(name)
    stem = path.with_suffix("") if path.suffix in (".png", ".svg") else path
    return [stem.with_name(stem.name + suffix) for suffix in (".png", ".svg")]


def _write(results: Sequence[Result], machine: Machine, given: Arguments, command: str, interrupted: bool) -> None:
    """The files that were asked for, as many as can be written; their paths are printed.

    Raises:
        OSError: the first that could not be written, after all others are.
    """
    settings = {
        "command": command,
        "quick": given.quick,
        "seconds": _seconds(given),
        "backend": given.backend,
        "interrupted": interrupted,
    }
    failed: list[OSError] = []
    picture: Path | None = None
    with _later(failed):
        picture = _draw(results, machine, given.plot)
    if given.json is not None:
        with _later(failed):
            _write_new(Path(given.json), encode(record(results, machine, settings)))
            output(f"JSON: {given.json}")
    if given.page is not None:
        at = Path(given.page)
        seen = None if picture is None else os.path.relpath(picture, at.parent)
        with _later(failed):
            _write_new(at, page(results, machine, command, seen).encode())
            output(f"page: {at}")
    if failed:
        raise failed[0]


@contextmanager
def _later(failed: list[OSError]) -> Iterator[None]:
    """Keep an error of the system until all else is done."""
    try:
        yield
    except OSError as error:
        failed.append(error)


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that was not there before minutes of measuring, and still is not."""
    _check_still_new(path)
    write(path, content)


def _check_still_new(path: Path) -> None:
    if path.exists():
        raise FileExistsError(errno.EEXIST, "there is a file now, which is not written over", str(path))


def _draw(results: Sequence[Result], machine: Machine, name: str | None) -> Path | None:
    """The PNG, if a plot was asked for and there is something to draw."""
    if name is None:
        return None
    from saccade.bench.plot import draw, drawn

    if not drawn(results):
        say("--plot: nothing to draw, no row has both sides")
        return None
    for path in _pictures(name):
        _check_still_new(path)
    stem = _pictures(name)[0].with_suffix("")
    png, svg = draw(results, stem, title="How many times as fast as the peer", note=limits(machine))
    output(f"plot: {png} {svg}")
    return png
