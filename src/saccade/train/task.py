"""What a job must offer so that `saccade.train` can run it, and nothing about any job in particular.

A task is a class. `prepare` makes one from options and data, `restore` from a run's folder alone (no data, so that a
run moved elsewhere still predicts). Everything else is asked of the object that they return.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias

from torch import Tensor, nn

from saccade.train.options import Options

__all__ = ["Evaluation", "Loss", "Metric", "Task", "value", "values"]

Metric: TypeAlias = float | dict[str, Any]
"""A number, or {"score": number, "signature": text} where a signature says how the number was computed."""


@dataclass(frozen=True)
class Loss:
    """The loss of one batch.

    Args:
        total: scalar tensor, what is minimized (a mean, so that batches of all sizes weigh alike).
        tokens: how many tokens (or frames, or examples: what the task counts) it was the mean of.
    """

    total: Tensor
    tokens: int


@dataclass(frozen=True)
class Evaluation:
    """How a model did on one split.

    Args:
        metrics: what was measured on all examples, fractions between 0 and 1 where that is their nature.
        groups: the same for parts of the split (a metric's name, then the group's): by language, by length.
        examples: how many examples there were.
        tokens: how many tokens the model wrote.
        seconds: how long that took.
    """

    metrics: dict[str, Metric]
    groups: dict[str, dict[str, float]] = field(default_factory=dict)
    examples: int = 0
    tokens: int = 0
    seconds: float = 0.0


def value(metric: Metric) -> float:
    """Return the number of a metric, which may come with a signature.

    >>> value(0.5), value({"score": 38.5, "signature": "nrefs:1|case:mixed"})
    (0.5, 38.5)
    """
    return float(metric["score"] if isinstance(metric, dict) else metric)


def values(metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Return the numbers of metrics by name.

    >>> values({"exact_match": 0.5, "bleu": {"score": 38.5, "signature": "nrefs:1"}})
    {'exact_match': 0.5, 'bleu': 38.5}
    """
    return {name: value(metric) for name, metric in metrics.items()}


class Task(Protocol):
    """A job: its data, its models, its loss, what it measures, and how it answers.

    Adding one is a folder in `saccade.tasks` with a class of this shape, and a line in `saccade.tasks.TASKS`. All
    methods that take a model leave its weights alone; what is random in them draws from torch's global generator, which
    the trainer seeds anew for every step.
    """

    name: ClassVar[str]
    models: ClassVar[dict[str, str]]
    """Name of each model, and where it is: "module:Class"."""
    builtin: ClassVar[dict[str, str]]
    """Name of each built-in data set, and a sentence about it."""
    inputs: ClassVar[Literal["lines", "files"]]
    """What it answers: lines of text, or files, each by its path, "-" being standard input's bytes."""

    @classmethod
    def options(cls, model: str) -> type[Options]:
        """The one flat dataclass of all that can be said about a run with this model; its docstrings are the help."""

    @classmethod
    def recipe(cls, model: str, data: str) -> dict[str, Any]:
        """The defaults that suit these data, where they differ from the dataclass's own."""

    @classmethod
    def prepare(cls, options: Any) -> Self:
        """Read the data, learn what is learned before training (a tokenizer). Raises SaccadeError in one line."""

    @classmethod
    def restore(cls, options: Any, folder: Path) -> Self:
        """Make the task again from what `save` wrote, without its data."""

    def save(self, folder: Path) -> None:
        """Write what `restore` reads."""

    @property
    def fingerprint(self) -> str:
        """What the data are, in one string; training on is refused when it has changed. Opens the data."""

    @property
    def headline(self) -> str:
        """The metric that tells better from worse, larger being better: progress shows it, training may stop by it."""

    def build(self) -> nn.Module:
        """Make the model, freshly initialized."""

    def batch(self, step: int) -> Any:
        """Return the batch of one training step: a function of the options' seed and the step alone."""

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Run the model on a batch, on the device where the model and the batch are."""

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None) -> Evaluation:
        """Run the model free on a split ("validation", "test"), or on its first `limit` examples."""

    def sample(self, model: nn.Module, step: int) -> str:
        """Show what the model does on one example, in a line; which example may depend on the step."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of files end in that it takes from a folder; none where it answers lines."""

    def predict(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[list[str]]:
        """Answer each input with its best `count` outputs, in order, in constant memory.

        At most `ahead` inputs are read before the first of them is answered; with None as many as suit the task.
        """

    def align(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The same with what each output attended to, as JSON has it."""

    def asked(self, model: nn.Module, decoding: Any, count: int) -> Self:
        """Return the task that answers so (`saccade.tasks.generate.Decoding`), each input with `count` outputs.

        Raises SaccadeError in one line where that means nothing to the task or the model.
        """

    def join(self, model: nn.Module, others: Sequence[Any]) -> tuple[Self, nn.Module]:
        """Return a task and a model that are several runs as one: this and others (`saccade.train.trained.Trained`).

        Raises SaccadeError in one line that names what keeps them apart.
        """

    def look(self, model: nn.Module, inputs: Iterable[str], folder: Path) -> Iterator[Path]:
        """Draw what the model attends to on each input; yields the files as they are written."""
