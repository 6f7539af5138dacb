"""`saccade export RUN FILE`: write a model to a file that runs without Saccade."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from saccade._system.notes import output
from saccade.cli.arguments import parse
from saccade.runs import load
from saccade.tasks.export import check_path


@dataclass(frozen=True)
class Arguments:
    """Write a trained model to a new file of ONNX or torch.export, and print its path."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The new file. Its suffix, .onnx or .pt2, chooses the format."""


def run(arguments: list[str]) -> int:
    """Print the path of the file."""
    options = parse(Arguments, arguments, "saccade export", Arguments.__doc__ or "")
    check_path(Path(options.file))
    output(str(load(options.run, device="cpu").export(options.file)))
    return 0
