"""`saccade predict RUN [INPUT]`: answer input, line by line."""

import json
from dataclasses import dataclass

from saccade._system.notes import output
from saccade.cli.arguments import UsageError
from saccade.cli.inputs import Pending, inputs
from saccade.cli.requests import Device, Ensemble, Inputs, open_request
from saccade.train.task import Form

_READ_AHEAD, _OF_A_FILE = 64, 512  # lines: of a file nobody waits for the next one, and large batches are the fastest


@dataclass(frozen=True, kw_only=True)
class Arguments(Ensemble, Inputs, Device):
    """Answer a text, the lines of a file, or standard input, one line each.

    Behind a tab, a class has its probability, and a number the ends of its prediction interval.
    """

    json: bool = False
    """Write a JSON object for each line: tokens, answers and attention."""


def run(arguments: list[str]) -> int:
    """Print the answers. Lines are read ahead unless somebody types them."""
    options, request, trained = open_request("predict", Arguments, arguments)
    if options.names and options.json:
        raise UsageError("--names: expected without --json, whose objects have their inputs; leave it out")
    ahead = 1 if options.typed else _OF_A_FILE if options.input is not None else _READ_AHEAD
    form: Form = "json" if options.json else "lines"
    with inputs(trained.task, options.text, options.input, options.encoding) as source:
        lines = Pending(source)
        for answer in trained.answers(lines, request, form, ahead, typed=options.typed):
            name = lines.answered()
            if options.json:
                output(json.dumps(answer.to_json(), ensure_ascii=False).encode("utf-8", "backslashreplace").decode())
            elif options.names:
                output("\n".join(f"{name}\t{line}" for line in answer.lines()))
            else:
                output(str(answer))
    return 0
