"""Checks and rows of a GPU, into one folder and within a fixed time.

Each part is a process of its own with a share of the time that is left. A part that fails or is stopped loses nothing
that it or another part has printed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from saccade._system.files import encode, read_json
from saccade._system.notes import output
from saccade.bench._checks import INTERRUPTED
from saccade.bench._rows import matches, rows
from saccade.bench.peak import environment
from saccade.bench.row import Setup

SECONDS = 480.0
_GRACE = 10.0  # seconds of a part that is stopped to write its files
_STOPPED = 0, INTERRUPTED, -signal.SIGINT, -signal.SIGKILL  # exit codes of a part at its limit
_WORKERS = 8  # processes of random calls, for most of their time goes into compiling kernels

MEASURED: dict[str, tuple[str, float]] = {
    "windows": ("dot, window 128 f*laid out|dot, 16 documents|additive, window 128 f|dot, window 128, growth", 12),
    "statistics": ("|".join(f"{name}, dot*8192x64" for name in ("lse", "entropy", "top 4", "received", "sample")), 10),
    "additive": ("additive forward*eager", 12),
    "sparse": ("max*64x4096", 8),
    "entmax": ("entmax 1.5 attention, causal", 10),
    "module": ("nn.MultiheadAttention|host time", 6),
    "memory": ("additive memory of training 16384|entmax 1.5 memory", 8),
    "flex": ("dot, window 128 f*flex_attention", 12),
}
"""Pattern of rows, and share of the time, of each part that measures."""


@dataclass(frozen=True)
class Part:
    """Processes side by side."""

    name: str
    commands: Sequence[Sequence[str]]  # words behind the interpreter
    share: float


def parts(folder: Path, device: torch.device) -> list[Part]:
    """Return the checks, and the parts with rows on the device."""
    workers = min(_WORKERS, os.cpu_count() or 1)
    checks = ["-m", "saccade.bench._checks"]
    made = [
        Part("graphs", [[*checks, "graphs", f"{device}"]], 14),
        Part("random", [[*checks, "random", f"{device}", f"{first}", f"{workers}"] for first in range(workers)], 20),
    ]
    names = [row.name for row in rows(Setup(device))]
    for name, (pattern, share) in MEASURED.items():
        if any(matches(row, pattern) for row in names):
            files = [f"--json={folder / name}.json", f"--page={folder / name}.md"]  # a folder may be called -card
            settings = ["--rows", pattern, "--seconds", "0.2", "--device", f"{device}"]
            made.append(Part(name, [["-m", "saccade", "bench", *settings, *files]], share))
    return made


def run(folder: Path, listed: Sequence[Part], seconds: float, clock: Callable[[], float] = time.monotonic) -> int:
    """Run the parts one after another, print their lines, and return 1 if one fails.

    `all.json` joins the files of the parts, for `saccade bench --compare`.
    """
    begin, failed = clock(), False
    try:
        for index, part in enumerate(listed):
            left = seconds - _GRACE - (clock() - begin)
            limit = max(left, 0.0) * part.share / sum(later.share for later in listed[index:])
            started, log = clock(), folder / f"{part.name}.log"
            ended, codes = _run(part, log, limit)
            output(log.read_text(encoding="utf-8", errors="replace").rstrip())
            wrong = [code for code in codes if code not in ((0,) if ended else _STOPPED)]
            failed |= bool(wrong)
            outcome = f"failed, exit code {wrong[0]}," if wrong else "done" if ended else "stopped"
            output(f"{part.name}: {outcome} after {clock() - started:.0f} s", flush=True)
    finally:  # after Ctrl-C too
        _join(folder, listed)
    return int(failed)


def _join(folder: Path, listed: Sequence[Part]) -> None:
    """Write the rows of all parts as one file, with the conditions of the first part."""
    files = [path for part in listed if (path := folder / f"{part.name}.json").exists()]
    if not (records := [read_json(path) for path in files]):
        return
    joined = {
        **records[0],
        "command": "saccade bench --gpu",
        "rows": [row for record in records for row in record["rows"]],
        "interrupted": any(record["interrupted"] for record in records),
    }
    (folder / "all.json").write_bytes(encode(joined))
    output(f"JSON: {folder / 'all.json'}")


def _run(part: Part, log: Path, limit: float) -> tuple[bool, list[int]]:
    """Whether all processes of a part end within the limit, and their exit codes."""
    with log.open("xb") as file:
        processes = [
            subprocess.Popen(  # noqa: S603 the words are ours
                [sys.executable, *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,
            )
            for words in part.commands
        ]
    ended = False
    try:
        ended = _wait(processes, limit)
    finally:
        try:
            if not ended:
                for process in processes:
                    process.send_signal(signal.SIGINT)  # as Ctrl-C: rows until then are written
                _wait(processes, _GRACE)
        finally:  # after a second Ctrl-C too
            for process in processes:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and processes that it started
    return ended, [process.wait() for process in processes]


def _wait(processes: Sequence["subprocess.Popen[bytes]"], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    try:
        for process in processes:
            process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
