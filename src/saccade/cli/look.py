"""`saccade look RUN [INPUT]`: draw what a trained model attends to, or what matters to one that does not attend."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from saccade.cli.arguments import parse
from saccade.cli.inputs import check_named, inputs, open_trained

__all__ = ["run"]


@dataclass(frozen=True)
class Arguments:
    """Draw what a trained model attends to, as PNG and SVG; the paths of the pictures are printed."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    text: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="INPUT")] = None
    """The text to look at, or of a run that hears the recording or a folder of them; without it and without --input,
    the lines of standard input."""

    input: str | None = None
    """File whose lines are looked at, each a text, or the path of a recording."""

    output: str | None = None
    """Folder for the pictures: those of the run if not given."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""


def run(arguments: list[str]) -> int:
    """Print the paths of the pictures as they are drawn."""
    given = parse(Arguments, arguments, "saccade look", Arguments.__doc__ or "")
    check_named(given.text, given.input)
    trained = open_trained(given.run, given.device)
    with inputs(trained.task, given.text, given.input) as lines:
        folder = Path(given.output) if given.output else trained.run.folder / "pictures"
        for path in trained.task.look(trained.model, lines, folder):
            print(path)
    return 0
