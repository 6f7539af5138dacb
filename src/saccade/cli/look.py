"""`saccade look RUN [INPUT]`: draw the attention of a model, or its gradients."""

from dataclasses import dataclass

from saccade._system.files import check_folder
from saccade._system.notes import output
from saccade.cli.arguments import UsageError
from saccade.cli.inputs import Pending, inputs
from saccade.cli.requests import Device, Inputs, open_request


@dataclass(frozen=True, kw_only=True)
class Arguments(Inputs, Device):
    """Draw a trained model's attention, as PNG and SVG, and print the paths."""

    output: str | None = None
    """Folder for the pictures: those of the run if not given."""

    json: bool = False
    """Write the numbers behind each picture to a .json file beside it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output:
            check_folder("--output", self.output)


def run(arguments: list[str]) -> int:
    """Print the paths of the pictures as they are drawn."""
    options, request, trained = open_request("look", Arguments, arguments)
    if options.text is not None and not options.text.strip():
        raise UsageError("INPUT: expected an input to draw, got a blank one")
    with inputs(trained.task, options.text, options.input, options.encoding) as source:
        lines = Pending(source)
        for path in trained.pictures(lines, request, options.output, json=options.json, typed=options.typed):
            output(f"{lines.latest()}\t{path}" if options.names else str(path))
    return 0
