"""`saccade predict RUN [INPUT]`: answer input, line by line."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
import tyro

from saccade.cli.arguments import UsageError, parse
from saccade.cli.inputs import open_trained, texts
from saccade.train.trained import Trained

__all__ = ["run"]

_MOST = 10_000  # outputs pursued at once: more fit into no memory


@dataclass(frozen=True)
class Arguments:
    """Answer a text, the lines of a file, or those of standard input: one line of output for each line of input."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    text: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="INPUT")] = None
    """The text to answer; without it and without --input, the lines of standard input."""

    input: str | None = None
    """File whose lines are answered."""

    nbest: int = 1
    """Write so many answers for each line, best first, each on a line of its own."""

    beam_size: int | None = None
    """Outputs pursued at once in beam search; as the run has it if not given."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""


def run(arguments: list[str]) -> int:
    """Print the answers."""
    given = parse(Arguments, arguments, "saccade predict", Arguments.__doc__ or "")
    for option, value in (("--nbest", given.nbest), ("--beam-size", given.beam_size)):
        if value is not None and not 0 < value <= _MOST:
            raise UsageError(f"{option}: expected a number from 1 to {_MOST}, got {value}")
    with texts(given.text, given.input) as lines:
        for answers in _answers(open_trained(given.run, given.device), lines, given):
            print("\n".join(answers), flush=sys.stdout.isatty())
    return 0


def _answers(trained: Trained, lines: Iterator[str], given: Arguments) -> Iterator[list[str]]:
    """One list of answers a line. Somebody who types is answered at once; lines from elsewhere are read ahead of."""
    typed = given.text is None and given.input is None and sys.stdin.isatty()
    with torch.inference_mode():
        for part in ([line] for line in lines) if typed else (lines,):
            yield from trained.task.predict(trained.model, part, given.nbest, given.beam_size)
