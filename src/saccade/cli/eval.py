"""`saccade eval RUN`: measure a trained model on a split of its data."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from saccade.cli.arguments import choose, parse
from saccade.cli.inputs import open_trained
from saccade.cli.metrics import print_metrics
from saccade.train.files import write_json
from saccade.train.notes import say
from saccade.train.results import measure, split_results

__all__ = ["run"]


@dataclass(frozen=True)
class Arguments:
    """Measure a trained model on a split of its data, and write results-SPLIT.json into the run.

    With another beam or length penalty than the run's, the file's name says so.
    """

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    split: str = "test"
    """The split: test or validation."""

    beam_size: int | None = None
    """Outputs pursued at once in beam search; as the run has it if not given."""

    length_penalty: float | None = None
    """How much beam search favours long outputs; as the run has it if not given."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""


def run(arguments: list[str]) -> int:
    """Print every metric, overall and by group."""
    given = parse(Arguments, arguments, "saccade eval", Arguments.__doc__ or "")
    choose("--split", given.split, ("test", "validation"))
    changes = {"beam_size": given.beam_size, "length_penalty": given.length_penalty}
    trained = open_trained(given.run, given.device, **changes)
    known, found = trained.run.config["data"], trained.task.fingerprint
    if found != known:
        say(f"the data are not those that {trained.run.folder} was trained on: {found}, where those were {known}")
    result = measure(trained.task, trained.model, given.split, trained.options.seed)
    results = split_results(trained.run, trained.options, trained.model, given.split, result)
    print_metrics(given.split, result.metrics, result.groups)  # first: the folder may be one that cannot be written
    other = "".join(f"-{name.replace('_', '-')}-{value}" for name, value in changes.items() if value is not None)
    write_json(trained.run.folder / f"results-{given.split}{other}.json", results)
    return 0
