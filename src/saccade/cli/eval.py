"""`saccade eval RUN`: measure a trained model on a split of its data."""

from dataclasses import dataclass
from typing import Literal

from saccade._system.notes import output, say
from saccade.cli.arguments import UsageError, one_line
from saccade.cli.metrics import print_baselines, print_metrics
from saccade.cli.requests import Device, Ensemble, open_request
from saccade.tasks.measuring import name_of
from saccade.train.options import not_positive


@dataclass(frozen=True, kw_only=True)
class Arguments(Ensemble, Device):
    """Measure a trained model on a split, and write results-SPLIT.json into the run.

    Baselines follow, such as the most frequent answer. The file's name has unusual options.
    """

    split: Literal["test", "validation"] = "test"
    """The split to measure."""

    data: str | None = None
    """Data to measure on. Default: the data of the run.

    Moved files of the run keep its splits. Other data without splits of their own are measured as a whole."""

    errors: int | None = None
    """List this many examples with the largest losses, those of training.

    Columns are loss, input, target and answer, with tabs between."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if wrong := not_positive(self.errors):
            raise UsageError(f"--errors: {wrong}")


def run(arguments: list[str]) -> int:
    """Print every metric, overall and by group."""
    options, request, trained = open_request("eval", Arguments, arguments)
    hardest = trained.hardest(options.split, options.errors, request) if options.errors else []
    evaluation = trained.measure(options.split, request)
    called = name_of(trained.task.data, options.split)
    print_metrics(called, evaluation.metrics, evaluation.groups)  # first: the folder may be read-only
    print_baselines(called, evaluation.baselines)
    trained.save_results(options.split, evaluation, request)
    if hardest:
        say("the largest losses: loss, input, target, answer")
    for loss, example, answer in hardest:
        output(
            "\t".join([f"{loss:.4f}", *map(one_line, (example.text, example.answer, next(iter(answer.lines()), "")))])
        )
    return 0
