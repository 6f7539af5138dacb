"""Interface between jobs and `saccade.train`.

`Kind.prepare` makes a job from options and data. `Kind.restore` reads a run's folder alone, even if it was moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, cast

from torch import Tensor, nn

from saccade._definitions.argument_hints import choose
from saccade._system.environment import multiplies_bfloat16
from saccade._system.imports import find
from saccade.errors import ArgumentError
from saccade.train.options import Options, flat

__all__ = [
    "Answer",
    "Baseline",
    "Data",
    "Evaluation",
    "Example",
    "Form",
    "Kind",
    "Loss",
    "Metric",
    "Suited",
    "Task",
    "Unreadable",
    "choose_model",
    "find",
    "kind_of",
    "model_class",
    "models_of",
    "options_class",
    "recipe",
    "recipes_of",
    "value",
    "values",
]

Metric: TypeAlias = float | dict[str, Any]
"""A number, or {"score": number, "signature": text} where a signature says how the number was computed."""

Form: TypeAlias = Literal["lines", "json", "pictures"]
"""What an answer will be written as: what it costs to make depends on it."""


@dataclass(frozen=True)
class Loss:
    """The loss of one batch.

    Args:
        total: scalar tensor, what is minimized (a mean, so that batches of all sizes weigh alike).
        count: how many units (`Task.unit`: tokens, frames, images) it was the mean of.
    """

    total: Tensor
    count: int


@dataclass(frozen=True)
class Baseline:
    """What a plain way that is no network does on a split.

    Args:
        metrics: what was measured, by the names that a model's `Evaluation` has; the headline first.
        about: what it does, in a few words.
        seconds: how long that took, learning included.
    """

    metrics: dict[str, Metric]
    about: str
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """How a model did on one split.

    Args:
        metrics: what was measured on all examples, fractions between 0 and 1 where that is their nature.
        groups: the same for parts of the split (a metric's name, then the group's): by language, by length.
        examples: how many examples there were.
        count: how many units (`Task.unit`) the model wrote or read.
        seconds: how long that took.
        length_ratio: how long answers are beside the right ones; 1 where their length is not the model's choice.
        baselines: what plain ways come to on the split, by their names (`Task.baselines`); none on part of it.
        confusion: examples by label and prediction, of a classifier: see `saccade.tasks.labels.metrics.confusion`.
    """

    metrics: dict[str, Metric]
    groups: dict[str, dict[str, float]] = field(default_factory=dict)
    examples: int = 0
    count: int = 0
    seconds: float = 0.0
    length_ratio: float = 1.0
    baselines: dict[str, Baseline] = field(default_factory=dict)
    confusion: dict[str, dict[str, int]] = field(default_factory=dict)


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


class Example(NamedTuple):
    """An example of the data as a person sees it.

    Args:
        input: what `Task.answer` takes.
        text: the input in one line: itself where it is a text, else a name for it.
        answer: what the right answer is, in one line.
        file: the input as a file, its name's suffix and its bytes, where the task reads files.

    >>> Example(None, "18 juin 2025", "2025-06-18").answer
    '2025-06-18'
    """

    input: Any
    text: str
    answer: str
    file: tuple[str, bytes] | None = None


class Unreadable(NamedTuple):
    """In an input's place where it could not be read: the line that asked."""

    line: str


@dataclass(frozen=True)
class Suited:
    """What suits some data.

    Args:
        options: the defaults, by their names, where they differ from the dataclasses' own.
        reason: why, in one line that names what of the data decided; "" where there was nothing to decide.
        data: what `Task.prepare` takes as objects: those that were given, or the data as they were opened for this.
        smaller: what suits where few of these options' steps fit into a budget in minutes; None: nothing else.
    """

    options: Mapping[str, Any]
    reason: str = ""
    data: Any = None
    smaller: "Suited | None" = None


class Answer(Protocol):
    """What a model makes of one input, which can be written as lines, as JSON and as pictures."""

    def lines(self) -> list[str]:
        """Return the lines that the shell prints, as many as were asked for; blank ones where there is no answer."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer with all that is known of it, as JSON has it."""

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw what the model looked at, with `json` its numbers beside each; yields the files as they are written."""

    @property
    def remark(self) -> str:
        """What is said beside the answer where one example is shown in training, "" if nothing."""


class Data(Protocol):
    """What a trainer asks of a data set."""

    @property
    def fingerprint(self) -> str:
        """What the data are, in one string; training on is refused when it has changed."""

    def size(self, split: str) -> int | None:
        """Return how many examples a split ("train", "validation", "test") has, None where it is endless."""


class Task(Protocol):
    """A job with options and data.

    All methods that take a model leave its weights alone. Random numbers come from torch's global generator, which the
    trainer seeds anew for every step.
    """

    @property
    def name(self) -> str:
        """Name of the task."""

    @property
    def requests(self) -> Mapping[str, type]:
        """Dataclass of the options of the verbs "predict", "eval" and "look". All fields have defaults."""

    @property
    def inputs(self) -> Literal["lines", "files"]:
        """Kind of the inputs: lines of text, or paths of files. "-" is standard input."""

    @property
    def unit(self) -> str:
        """Unit of a batch's size: "tokens", "frames", "images"."""

    @property
    def settings(self) -> Any:
        """All options of the run."""

    def save(self, folder: Path) -> None:
        """Write what `restore` reads."""

    @property
    def headline(self) -> str:
        """The metric that tells better from worse, larger being better: progress shows it, training may stop by it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of files end in that it takes from a folder; none where it answers lines."""

    @property
    def data(self) -> Data:
        """The data set, opened when it is first asked for: answering needs none."""

    def build(self) -> nn.Module:
        """Make the model, freshly initialized."""

    def batch(self, step: int) -> Any:
        """Return batch number `step`, a function of the seed. With W processes, training step s has W, from s W on."""

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Run the model on a batch, on the device where the model and the batch are."""

    def example(self, split: str, index: int) -> Example:
        """Return one example of the data."""

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Run the model free on a split, or on `limit` examples of it, as the run or a request for "eval" has it."""

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure simple methods on a split by their names, in seconds, without random draws."""

    def lines(self, inputs: Any) -> Iterator[str]:
        """Give what somebody hands over from Python as the lines that `read` reads.

        Raises SaccadeError in one line.
        """

    def read(self, line: str, number: int) -> Any:
        """Return line number `number` of what is asked, from 1 on, as `answer` takes it.

        Raises SaccadeError in one line where it cannot be read.
        """

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse, by SaccadeError in one line, a request that means nothing to the task or the model."""

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> Sequence[Answer]:
        """Answer inputs, in order; one that is `Unreadable` has a blank answer."""

    def join(self, model: nn.Module, others: Sequence[Any]) -> tuple[Self, nn.Module]:
        """Return a task and a model that are several runs as one: this and others (`saccade.train.trained.Trained`).

        Raises SaccadeError in one line that names what keeps them apart.
        """


class Kind(Protocol):
    """A task without options and data: a `saccade.tasks.task.Task`, or a class whose objects are a `Task`."""

    @property
    def name(self) -> str:
        """Name of the task."""

    @property
    def models(self) -> Mapping[str, str]:
        """Place of each model, "module:Class"."""

    @property
    def builtin(self) -> Mapping[str, str]:
        """Sentence about each built-in data set."""

    @property
    def Options(self) -> type:  # noqa: N802 a class
        """Dataclass of the options that all runs share."""

    @property
    def recipes(self) -> Mapping[str, Mapping[str, Any]]:
        """Defaults of each built-in data set, and of "files", for all models."""

    @property
    def requests(self) -> Mapping[str, type]:
        """Dataclass of the options of the verbs "predict", "eval" and "look". All fields have defaults."""

    @property
    def inputs(self) -> Literal["lines", "files"]:
        """Kind of the inputs."""

    def suited(self, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe for data that are not built in, from their number and length.

        Args:
            model: its name.
            given: options by their names, and "data".
            objects: Python objects, if data are some.

        Raises:
            SaccadeError: in one line, if the data cannot be read.
        """

    def prepare(self, options: Any, objects: Any = None) -> Task:
        """Open the data, or Python objects or the data of `suited`, and learn what precedes training.

        Raises:
            SaccadeError: in one line.
        """

    def restore(self, options: Any, folder: Path, objects: Any = None) -> Task:
        """Read a run's folder without its data, which are opened only if they are needed."""


def kind_of(task: Task) -> Kind:
    """Return the kind of a job."""
    kind: Kind = getattr(task, "task", cast("Any", type(task)))
    return kind


def models_of(kind: Kind) -> dict[str, str]:
    """Return the place of each model of a task, those of other packages last.

    These have an entry point "TASK.MODEL" of the group `saccade.models`.
    """
    points = entry_points(group="saccade.models")
    start = f"{kind.name}."
    return {p.name.removeprefix(start): p.value for p in points if p.name.startswith(start)} | dict(kind.models)


def choose_model(kind: Kind, name: str, argument: str = "model") -> str:
    """Return the name of a model of a task, or its place, "module:Class".

    Raises:
        ArgumentError: if there is none.
    """
    if ":" not in name and name not in kind.models:
        return choose(argument, name, models_of(kind))
    return name


def model_class(kind: Kind, name: str) -> Any:
    """Import a model of a task by its name, or by its place, "module:Class".

    Raises:
        ArgumentError: if it cannot be imported, or is not a module with `Options`.
    """
    if name in kind.models:
        return find(kind.models[name])
    try:
        model = find(models_of(kind).get(name, name))
    except ArgumentError as error:
        raise ArgumentError(f"--model: {error}") from error
    options = getattr(model, "Options", None)
    if not (isinstance(model, type) and issubclass(model, nn.Module) and is_dataclass(options)):
        raise ArgumentError(f"--model: expected a torch module with a dataclass Options, got {name}")
    for option in fields(options):
        if option.default is MISSING and option.default_factory is MISSING:
            raise ArgumentError(f"--model: {name}.Options: expected a default of each field, got none of {option.name}")
    return model


def recipes_of(kind: Kind, model: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the defaults that suit a model, by data set. A model of another package may have none."""
    return {"files": {}, **getattr(model_class(kind, model), "recipes", {})}


def options_class(kind: Kind, model: str, *, checked: bool = True) -> type[Options]:
    """Return the one flat dataclass of all options of a run with a model; its docstrings are the help."""
    try:
        return flat(model_class(kind, model).Options, kind.Options, Options, checked=checked)
    except TypeError as error:  # of a user's dataclass
        raise ArgumentError(
            f"--model: {model}.Options: expected a dataclass beside the task's, got another ({error})"
        ) from error


def recipe(kind: Kind, model: str, data: str) -> dict[str, Any]:
    """Return the defaults that suit some data and this machine, where they differ from the dataclass's own."""
    name = data if data in kind.recipes else "files"
    found = {**kind.recipes[name], **recipes_of(kind, model).get(name, {})}
    return {**found, "precision": "32"} if found.get("precision") == "bf16" and not multiplies_bfloat16() else found
