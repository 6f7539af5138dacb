"""Start of commands in new processes, beside imports of their dependencies."""

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from saccade.bench.row import Prepare, Row, Run, Setup, Target, beyond, run_python

_STEPS = 4
_SIZES = ("--hidden-dim", "16", "--embedding-dim", "8")
_PAIRS = "".join(
    f"{split}\tein Satz {number}\ta line {number}\n" for split in ("train", "dev", "test") for number in "123"
)


def rows(setup: Setup) -> list[Row]:
    """Return rows of commands: an answer beside torch, a training beside Lightning."""
    settings = ("--threads", f"{setup.threads}", "--device", f"{setup.device}")
    kinds: tuple[tuple[str, str, Prepare, Target], ...] = (
        ("start of predict", "import torch", partial(_predict, settings), beyond(1.2)),
        (f"start of a training of {_STEPS} steps", "import lightning", partial(_train, settings), beyond(4)),
    )
    return [
        Row(
            family=family,
            shape="translate",
            peer=imported,
            inputs=lambda setup: (),
            ours=ours,
            theirs=partial(partial, run_python, ["-c", f"{imported}, torch"]),
            targets=(target,),
            same=False,
            quick=imported == "import torch",
        )
        for family, imported, ours, target in kinds
    ]


def _predict(settings: Sequence[str]) -> Run:
    """One line, answered by a small model."""
    folder = Path(tempfile.mkdtemp())
    data, run = folder / "pairs.tsv", folder / "run"
    data.write_text(f"split\tde\ten\n{_PAIRS}", encoding="utf-8")
    answer = partial(run_python, ["-m", "saccade", "predict", f"{run}", "ein Satz"])
    weakref.finalize(answer, shutil.rmtree, folder)  # a training that fails leaves no folder
    words = ["--data", f"{data}", "--run", f"{run}", "--max-steps", "1", *_SIZES, *settings]
    run_python(["-m", "saccade", "train", "translate", *words])
    return answer


def _train(settings: Sequence[str]) -> Run:
    """A training by the defaults of its task, each in a new folder."""
    folder, numbers = Path(tempfile.mkdtemp()), itertools.count()

    def trained() -> str:
        words = ["--run", f"{folder / str(next(numbers))}", "--max-steps", f"{_STEPS}", *settings]
        return run_python(["-m", "saccade", "train", "translate", *words])

    weakref.finalize(trained, shutil.rmtree, folder)
    return trained
