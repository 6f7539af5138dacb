"""`saccade predict RUN [INPUT]`: answer input, line by line."""

import json
from dataclasses import dataclass

from saccade.cli.arguments import UsageError
from saccade.cli.inputs import Asked, inputs
from saccade.cli.requests import Device, Ensemble, Inputs, asked
from saccade.train.notes import output
from saccade.train.task import Form

__all__ = ["run"]

_READ_AHEAD, _OF_A_FILE = 64, 512  # lines: of a file nobody waits for the next one, and large batches are the fastest


@dataclass(frozen=True, kw_only=True)
class Arguments(Ensemble, Inputs, Device):
    """Answer a text, the lines of a file, or those of standard input: one line of output for each line of input."""

    alignments: bool = False
    """Write one JSON object for each line instead: its tokens, its answers, and what each of these attended to."""


def run(arguments: list[str]) -> int:
    """Print the answers. Who types is answered at once; lines from elsewhere are read ahead of."""
    given, request, trained = asked("predict", Arguments, arguments)
    if given.names and given.alignments:
        raise UsageError("--names: expected without --alignments, whose objects hold their inputs; leave it out")
    ahead = 1 if given.typed else _OF_A_FILE if given.input is not None else _READ_AHEAD
    form: Form = "json" if given.alignments else "lines"
    with inputs(trained.task, given.text, given.input) as found:
        lines = Asked(found)
        for answer in trained.answers(lines, request, form, ahead, typed=given.typed):
            name = lines.answered()
            if given.alignments:
                output(json.dumps(answer.to_json(), ensure_ascii=False).encode("utf-8", "backslashreplace").decode())
            elif given.names:
                output("\n".join(f"{name}\t{line}" for line in answer.lines()))
            else:
                output(str(answer))
    return 0
