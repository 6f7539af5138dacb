"""`saccade bench`: speed of attention beside other ways, and the machine's limit."""

import errno
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from saccade._definitions.argument_hints import choose
from saccade._system.environment import choose_device
from saccade._system.files import encode
from saccade._system.notes import output, say, unheard
from saccade.bench import Result, Row, Setup, rows, select
from saccade.bench._compare import Stored, compare, read, stored
from saccade.bench._page import COLUMNS, cells, limits, line, page, record, summary, widths
from saccade.bench.measure import Machine, look_at, measure_rows, probes
from saccade.bench.row import BACKENDS
from saccade.cli.arguments import INTERRUPTED, UsageError, parse
from saccade.look._files import write_new
from saccade.train.options import not_positive

_NOW_THERE = "there is a file now, which is not written over"
# seconds of a row's turns, rounds at the least, and seconds after which no other round begins, no other row
_SETTINGS: dict[str, Any] = {"seconds": 2.0, "least": 5, "bound": 120.0}
_QUICK: dict[str, Any] = {"seconds": 0.3, "least": 3, "bound": 8.0, "whole": 85.0}


@dataclass(frozen=True)
class Arguments:
    """Measure attention beside competitors in turns, with the machine's own limit.

    A competitor that is not installed is named as absent. Ctrl-C ends the measurement and keeps all rows before it.
    """

    quick: bool = False
    """Measure a short list: two minutes on two cores."""

    rows: str = "*"
    """Pattern of rows to measure: * and ? match any characters, | alternatives."""

    seconds: float | None = None
    """Seconds for each row: 2, or 0.3 with --quick. Slow rows take five rounds."""

    device: str = "auto"
    """Device: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Threads of a CPU, for both sides; torch's default if not given."""

    cpu_time: bool = False
    """Count this process's CPU seconds, on a machine that other programs use."""

    backend: str = "auto"
    """Backend of our calls; rows that it cannot serve are named with the reason."""

    json: str | None = None
    """Also write all measurements as JSON to this new file."""

    page: str | None = None
    """Also write a page of Markdown to this new file."""

    plot: str | None = None
    """Also draw the ratios as PNG and SVG of this name; both files must be new."""

    compare: tuple[str, ...] | None = None
    """Earlier file of --json to compare with. With a second file, nothing is measured."""

    gpu: str | None = None
    """Check and measure a GPU within eight minutes, and write all to this new folder."""


def run(arguments: list[str]) -> int:
    """Print each row as soon as it is measured, and write the files."""
    options = parse(Arguments, arguments, "saccade bench", Arguments.__doc__ or "")
    _check(options)
    earlier = [read(path) for path in options.compare or ()]
    if len(earlier) == 2:
        return _print_comparison(earlier[0], earlier[1], options.rows)
    device = choose_device(options.device)
    if options.gpu is not None:
        return _check_gpu(Path(options.gpu), device, options.device)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    if options.cpu_time and device.type != "cpu":
        raise UsageError(f"--cpu-time: expected a CPU, got {device}; leave it out, or add --device cpu")
    setup = Setup(device, options.backend, torch.get_num_threads())
    chosen = select(rows(setup), options.rows, quick=options.quick)
    say(f"rows: {len(chosen)}; the machine's limits first")
    limiting = probes(device)
    machine = look_at(device, limiting)
    output(limits(machine), flush=True)
    settings = (_QUICK if options.quick else _SETTINGS) | ({"seconds": options.seconds} if options.seconds else {})
    settings["clock"] = time.process_time if options.cpu_time else time.perf_counter
    results, interrupted, wide = list[Result](), True, widths(chosen)
    say("ours, peer's: time of a call, or memory; ratio: peer's over ours; of limit: our speed over the machine's own")
    output(line(COLUMNS, wide), flush=True)
    try:
        with suppress(KeyboardInterrupt):
            _progress(chosen, 0)
            for result in measure_rows(chosen, setup, probes=limiting, **settings):
                _progress(chosen, None)
                results.append(result)
                output(line(cells(result), wide), flush=True)
                _progress(chosen, len(results))
            interrupted = False
        _progress(chosen, None)
        output(summary(results))
        for old in earlier if results else ():
            _print_comparison(old, stored("this measurement", record(results, machine, {})), options.rows)
    finally:  # an error, such as a lack of memory, must not lose the rows before it
        about = {
            "command": shlex.join(["saccade", "bench", *arguments]),
            "quick": options.quick,
            "seconds": settings["seconds"],
            "backend": options.backend,
            "clock": "CPU time" if options.cpu_time else "wall",
            "date": time.strftime("%Y-%m-%d"),
            "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,  # over 1, 5 and 15 minutes
            "interrupted": interrupted,
        }
        _write(results, machine, options, about)
    if interrupted:
        say(f"interrupted after {len(results)} of {len(chosen)} rows")
    return INTERRUPTED if interrupted else 0


def _check_gpu(folder: Path, device: torch.device, name: str) -> int:
    from saccade.bench import _gpu

    if device.type != "cuda" and name == "auto":
        raise UsageError("--gpu: expected a machine with a GPU, got none; --device cpu tries the parts without one")
    folder.mkdir()
    return _gpu.run(folder, _gpu.parts(folder, device), _gpu.SECONDS)


def _print_comparison(old: Stored, new: Stored, pattern: str) -> int:
    for text in compare(old, new, pattern):
        output(text)
    return 0


def _progress(chosen: Sequence[Row], index: int | None) -> None:
    """Show the present row in a line of a terminal that goes away again."""
    if sys.stderr.isatty():
        text = "" if index is None or index == len(chosen) else f"{index + 1} of {len(chosen)}: {chosen[index].name}"
        with unheard():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _check(options: Arguments) -> None:
    """Reject meaningless options before minutes are spent on them."""
    if wrong := not_positive(options.seconds):
        raise UsageError(f"--seconds: {wrong}")
    cores = os.cpu_count() or 1
    if options.threads is not None and not 0 < options.threads <= cores:
        raise UsageError(f"--threads: expected a number from 1 to {cores}, got {options.threads}")
    choose("--backend", options.backend, BACKENDS)
    _check_files(options)
    if options.compare is not None:
        _check_compared(options.compare, options)
    if options.gpu is not None:
        _check_alone(options, "--gpu", ("gpu", "device"))
        if options.gpu == "":
            raise UsageError("--gpu: expected the name of a new folder, got an empty name")
        _check_new("--gpu", Path(options.gpu), "folder")


def _check_files(options: Arguments) -> None:
    """Reject names of files that exist."""
    taken: dict[Path, str] = {}
    for option, name in (("--json", options.json), ("--page", options.page), ("--plot", options.plot)):
        if name == "":
            raise UsageError(f"{option}: expected the name of a new file, got an empty name")
        if name is not None and option == "--plot" and Path(name).name in ("", ".."):  # no suffix fits behind it
            raise UsageError(f"--plot: expected the name of a new file, got a folder: {name}")
        for path in [] if name is None else _pictures(name) if option == "--plot" else [Path(name)]:
            _check_new(option, path)
            if (other := taken.setdefault(path.resolve(), option)) != option:
                raise UsageError(f"{option}: expected a file of its own, got {path}, which {other} writes too")


def _check_compared(files: Sequence[str], options: Arguments) -> None:
    """Reject a wrong number of files, and options of a measurement beside two."""
    if len(files) not in (1, 2):
        raise UsageError(f"--compare: expected one file or two, got {len(files)}")
    if "" in files:
        raise UsageError("--compare: expected the name of a file, got an empty name")
    if len(files) == 2:
        _check_alone(options, "--compare with two files", ("compare", "rows"))


def _check_alone(options: Arguments, what: str, allowed: Sequence[str]) -> None:
    """Reject options without effect beside another."""
    for field in fields(options):
        if field.name not in allowed and getattr(options, field.name) != field.default:
            raise UsageError(f"--{field.name}: expected no such option beside {what}; leave one out")


def _check_new(option: str, path: Path, kind: str = "file") -> None:
    """Reject a file or folder that exists, or that cannot be made."""
    if os.path.lexists(path):
        raise UsageError(f"{option}: expected the name of a new {kind}, got {path}, which is there already")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: expected a name in a folder that exists, got {path}")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        expected = "expected a name in a folder that can be written to"
        raise UsageError(f"{option}: {expected}, got {path}: {error.strerror or error}") from error


def _pictures(name: str) -> list[Path]:
    """The PNG and the SVG, whichever was named."""
    path = Path(name)
    stem = path.with_suffix("") if path.suffix in (".png", ".svg") else path
    return [stem.with_name(stem.name + suffix) for suffix in (".png", ".svg")]


def _write(results: Sequence[Result], machine: Machine, options: Arguments, about: Mapping[str, object]) -> None:
    """Write as many files as possible, print their paths, raise the first error."""
    failed: list[OSError] = []
    picture: Path | None = None
    for option in ("plot", "json", "page"):
        if (name := getattr(options, option)) is None:
            continue
        try:
            if option == "plot":
                picture = _draw(results, machine, name)
            elif option == "json":
                _write_new("JSON", Path(name), encode(record(results, machine, about)))
            else:
                relative = None if picture is None else os.path.relpath(picture, Path(name).parent)
                _write_new("page", Path(name), page(results, machine, str(about["command"]), relative).encode())
        except OSError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _write_new(kind: str, path: Path, content: bytes) -> None:
    """Write a file that does not exist even after minutes of measuring."""
    try:
        write_new({path: content})
    except FileExistsError as error:
        raise FileExistsError(errno.EEXIST, _NOW_THERE, str(path)) from error
    output(f"{kind}: {path}")


def _draw(results: Sequence[Result], machine: Machine, name: str) -> Path | None:
    """Draw the plot, if there is a ratio to draw, and return the path of the PNG."""
    from saccade.bench._plot import draw

    if all(result.ratio is None for result in results):
        say("--plot: nothing to draw, no row has both sides")
        return None
    for path in _pictures(name):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, _NOW_THERE, str(path))
    stem = _pictures(name)[0].with_suffix("")
    png, svg = draw(results, stem, title="How many times as fast as the peer", note=limits(machine))
    output(f"plot: {png} {svg}")
    return png
