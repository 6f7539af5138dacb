"""`saccade look RUN [INPUT]`: draw what a trained model attends to, or what matters to one that does not attend."""

from dataclasses import dataclass

from saccade.cli.inputs import Asked, inputs
from saccade.cli.requests import Device, Inputs, asked
from saccade.train.files import check_folder
from saccade.train.notes import output

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class Arguments(Inputs, Device):
    """Draw what a trained model attends to, as PNG and SVG; the paths of the pictures are printed."""

    output: str | None = None
    """Folder for the pictures: those of the run if not given."""

    json: bool = False
    """Write the numbers behind each picture beside it, in a file of its name that ends in .json."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.output:
            check_folder("--output", self.output)


def run(arguments: list[str]) -> int:
    """Print the paths of the pictures as they are drawn."""
    given, request, trained = asked("look", Arguments, arguments)
    with inputs(trained.task, given.text, given.input) as found:
        lines = Asked(found)
        for path in trained.pictures(lines, request, given.output, json=given.json, typed=given.typed):
            output(f"{lines.latest()}\t{path}" if given.names else str(path))
    return 0
