"""`saccade predict RUN [INPUT]`: answer input, line by line."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
import tyro

from saccade.cli.arguments import UsageError, parse
from saccade.cli.inputs import check_named, decoding_of, inputs, open_asked
from saccade.tasks.generate import Decoding
from saccade.train.trained import Trained

__all__ = ["run"]

_MOST = 10_000  # outputs pursued at once: more fit into no memory
_OF_A_FILE = 512  # lines: nobody waits for the next one, and large batches of like length are the fastest


@dataclass(frozen=True)
class Arguments:
    """Answer a text, the lines of a file, or those of standard input: one line of output for each line of input."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    text: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="INPUT")] = None
    """The text to answer, or of a run that hears the recording, or a folder of them; without it and without --input,
    the lines of standard input, each a text or the path of a recording, or a recording itself."""

    input: str | None = None
    """File whose lines are answered, each a text, or the path of a recording."""

    nbest: int = 1
    """Write so many answers for each line, best first (with --sample so many draws), each on a line of its own."""

    alignments: bool = False
    """Write one JSON object for each line instead: its tokens, its answers, and what each of these attended to."""

    beam_size: int | None = None
    """Outputs pursued at once in beam search; as the run has it if not given, and --nbest at the least."""

    length_penalty: float | None = None
    """How much beam search favours long outputs; as the run has it if not given."""

    ctc_rescoring: float | None = None
    """Share of CTC in the ranking of what was heard; as the run has it if not given."""

    coverage_penalty: float | None = None
    """How much it counts against an output of beam search that it leaves parts of the input unread; 0 if not given."""

    min_length: int | None = None
    """The tokens that an answer has at the least, where its limit allows so many."""

    prefix: str | None = None
    """What every answer begins with."""

    replace_unknown: bool = False
    """Write what an unknown token looked at in the input in its place."""

    sample: bool = False
    """Draw answers at random instead of searching for the best."""

    temperature: float | None = None
    """With --sample: below 1 likely tokens are drawn more often, above 1 less; 1 if not given."""

    top_p: float | None = None
    """With --sample: draw from the likeliest tokens alone that have this share of the probability; 1 if not given."""

    seed: int | None = None
    """With --sample: what the draws follow from; that of the run if not given."""

    ensemble: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="RUN")] = ()
    """Folder of a further run, whose probabilities are averaged with those of RUN; may be given several times."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""


def run(arguments: list[str]) -> int:
    """Print the answers."""
    given = parse(Arguments, arguments, "saccade predict", Arguments.__doc__ or "")
    for option, value in (("--nbest", given.nbest), ("--beam-size", given.beam_size)):
        if value is not None and not 0 < value <= _MOST:
            raise UsageError(f"{option}: expected a number from 1 to {_MOST}, got {value}")
    decoding = decoding_of(given)
    for option, ranking in (("--beam-size", given.beam_size), ("--length-penalty", given.length_penalty)):
        if given.sample and ranking is not None:
            raise UsageError(f"{option}: expected without --sample, got both; draws are not searched for")
    check_named(given.text, given.input)
    trained = _open(given, decoding)
    with inputs(trained.task, given.text, given.input) as lines:
        for answer in _answers(trained, lines, given):
            print(answer, flush=sys.stdout.isatty())
    return 0


def _open(given: Arguments, decoding: Decoding) -> Trained:
    changes = {name: getattr(given, name) for name in ("beam_size", "length_penalty", "ctc_rescoring")}
    return open_asked(given.run, given.device, decoding, given.ensemble, given.nbest, **changes)


def _answers(trained: Trained, lines: Iterator[str], given: Arguments) -> Iterator[str]:
    """What is printed for each line. Who types is answered at once; lines from elsewhere are read ahead of."""
    typed = given.text is None and given.input is None and sys.stdin.isatty()
    ahead = 1 if typed else _OF_A_FILE if given.input is not None else None
    with torch.inference_mode():
        if given.alignments:
            for found in trained.task.align(trained.model, lines, given.nbest, ahead=ahead):
                yield json.dumps(found, ensure_ascii=False)
        else:
            for outputs in trained.task.predict(trained.model, lines, given.nbest, ahead=ahead):
                yield "\n".join(outputs)
