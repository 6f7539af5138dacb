"""`saccade eval RUN`: measure a trained model on a split of its data."""

from dataclasses import dataclass

from saccade.cli.arguments import choose
from saccade.cli.metrics import print_baselines, print_metrics
from saccade.cli.requests import Device, Ensemble, asked

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class Arguments(Ensemble, Device):
    """Measure a trained model on a split of its data, and write results-SPLIT.json into the run.

    Below it stands what plain ways come to there, such as the most frequent answer. Where answers are found in another
    way than the run's, the file's name says so.
    """

    split: str = "test"
    """The split: test or validation."""

    def __post_init__(self) -> None:
        """Refuse what is no split that is held out."""
        super().__post_init__()
        choose("--split", self.split, ("test", "validation"))


def run(arguments: list[str]) -> int:
    """Print every metric, overall and by group."""
    given, request, trained = asked("eval", Arguments, arguments)
    found = trained.measure(given.split, request)
    print_metrics(given.split, found.metrics, found.groups)  # first: the folder may be one that cannot be written
    print_baselines(given.split, found.baselines)
    trained.save_results(given.split, found, request)
    return 0
