"""The start of commands, in processes of their own, beside one that only imports what they cannot do without."""

import itertools
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from saccade.bench.row import Absent, Place, Prepare, Row, Run, Target
from saccade.bench.targets import beyond

__all__ = ["rows"]

_STEPS = 4
_SIZES = ("--hidden-dim", "16", "--embedding-dim", "8")
_PAIRS = "".join(
    f"{split}\tein Satz {number}\ta line {number}\n" for split in ("train", "dev", "test") for number in "123"
)


def rows(place: Place) -> list[Row]:
    """Return the rows of commands: what an answer takes beyond importing torch, a training beyond Lightning."""
    settings = ("--threads", f"{place.threads}", "--device", f"{place.device}")
    return [
        _row("start of predict", "import torch", _predict(settings), beyond(1.2), quick=True),
        _row(f"start of a training of {_STEPS} steps", "import lightning", _train(settings), beyond(4)),
    ]


def _row(family: str, imported: str, ours: Prepare, target: Target, *, quick: bool = False) -> Row:
    return Row(
        subject="start",
        family=family,
        shape="translate",
        size=1,
        peer=imported,
        inputs=lambda place: (),
        ours=ours,
        theirs=lambda: _running(["-c", f"{imported}, torch"]),
        targets=(target,),
        same=False,
        quick=quick,
    )


def _predict(settings: Sequence[str]) -> Prepare:
    """One line, answered by a small model."""

    def prepare() -> Run:
        folder = Path(tempfile.mkdtemp())
        data, run = folder / "pairs.tsv", folder / "run"
        data.write_text(f"split\tde\ten\n{_PAIRS}", encoding="utf-8")
        words = ["--data", f"{data}", "--run", f"{run}", "--max-steps", "1", *_SIZES, *settings]
        _running(["-m", "saccade", "train", "translate", *words])()
        answer = _running(["-m", "saccade", "predict", f"{run}", "ein Satz"])
        weakref.finalize(answer, shutil.rmtree, folder)
        return answer

    return prepare


def _train(settings: Sequence[str]) -> Prepare:
    """A training by the defaults of its task, each in a new folder."""

    def prepare() -> Run:
        folder, numbers = Path(tempfile.mkdtemp()), itertools.count()

        def trained() -> Tensor:
            words = ["--run", f"{folder / str(next(numbers))}", "--max-steps", f"{_STEPS}", *settings]
            done: Tensor = _running(["-m", "saccade", "train", "translate", *words])()
            return done

        weakref.finalize(trained, shutil.rmtree, folder)
        return trained

    return prepare


def _running(words: Sequence[str]) -> Run:
    """A call that runs Python in a process of its own.

    Raises:
        Absent: the process failed, with the last line that it said; by the call.
    """

    def run() -> Tensor:
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise Absent((done.stderr.strip().splitlines() or [f"its process ended with {done.returncode}"])[-1])
        return torch.empty(0)

    return run
