"""Interface between jobs and `saccade.train`.

`Kind.prepare` makes a job from options and data. `Kind.restore` reads a run's folder alone, even if it was moved.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from torch import Tensor, nn

from saccade._definitions.argument_hints import choose
from saccade._system.environment import bfloat16_speedup, rounding_speedup
from saccade._system.imports import find
from saccade.errors import ArgumentError
from saccade.train.options import Options, flat

_FASTER = 1.2  # speed in multiples of another, from which a measurement is no accident

Metric: TypeAlias = float | dict[str, Any]
"""A number, or {"score": number, "signature": text}.

The signature has the settings of the computation.
"""

Form: TypeAlias = Literal["lines", "json", "pictures"]
"""Output form of an answer. The cost depends on it."""


@dataclass(frozen=True)
class Loss:
    """The loss of one batch.

    Args:
        total: scalar tensor to minimize, a mean, so that batches of all sizes weigh alike.
        count: number of units (`Task.unit`: tokens, frames, images) that it is the mean of.
    """

    total: Tensor
    count: int


@dataclass(frozen=True)
class Baseline:
    """A simple method without a network on a split.

    Args:
        metrics: by the names of a model's `Evaluation`, the headline first.
        about: the method in a few words.
        seconds: time, learning included.
        advice: the way to a model as good as this one, such as "try --model sum", or "".
    """

    metrics: dict[str, Metric]
    about: str
    seconds: float
    advice: str = ""


@dataclass(frozen=True)
class Evaluation:
    """Measurements of a model on one split.

    Args:
        metrics: of all examples, fractions between 0 and 1 where that is their nature.
        groups: of parts of the split (a metric's name, then the group's): by language, by length.
        examples: number of examples.
        count: number of units (`Task.unit`) that the model wrote or read.
        seconds: time that it took.
        length_ratio: length of answers over that of the right ones; 1 where the model does not choose it.
        baselines: by name (`Task.baselines`); none on a part of the split.
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
    """Return the number of a metric with or without a signature."""
    return float(metric["score"] if isinstance(metric, dict) else metric)


def values(metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Return the numbers of metrics by name.

    >>> values({"exact_match": 0.5, "bleu": {"score": 38.5, "signature": "nrefs:1"}})
    {'exact_match': 0.5, 'bleu': 38.5}
    """
    return {name: value(metric) for name, metric in metrics.items()}


class Example(NamedTuple):
    """An example of the data for people.

    Args:
        input: of `Task.answer`.
        text: the input in one line, or a name of it.
        answer: the right answer in one line.
        file: the input as a file, the suffix of its name and its bytes, if the task reads files.
    """

    input: Any
    text: str
    answer: str
    file: tuple[str, bytes] | None = None


class Unreadable(NamedTuple):
    """The line of an input that could not be read, in its place."""

    line: str


@dataclass(frozen=True)
class Suited:
    """A recipe for some data.

    Args:
        options: defaults by name that differ from those of the dataclasses.
        reason: a line with the property of the data that decided, "" if none did.
        data: for `Kind.prepare`: the given objects, or the data as they were opened for this.
        smaller: a recipe for budgets in minutes into which few steps of this one fit.
    """

    options: Mapping[str, Any]
    reason: str = ""
    data: Any = None
    smaller: "Suited | None" = None


class Answer(Protocol):
    """A model's answer to one input."""

    def lines(self) -> list[str]:
        """Return the lines of the shell, as many as were requested.

        They are blank without an answer.
        """

    def to_json(self) -> dict[str, Any]:
        """Return the answer with its alignments as JSON."""

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw attention weights or gradients of the model, with `json` as numbers too.

        Yields the paths of the files.
        """

    @property
    def remark(self) -> str:
        """Text beside the answer of a sample in training, or ""."""


class Data(Protocol):
    """A data set, as the trainer uses it."""

    @property
    def fingerprint(self) -> str:
        """A mark of the content. A run goes on with the same one alone."""

    def size(self, split: str) -> int | None:
        """Return the number of examples of "train", "validation" or "test".

        It is None if the split is endless.
        """


class Task(Protocol):
    """A job with options and data, as the trainer uses it: `saccade.tasks.task.Job`.

    No method changes the weights of a model. Random numbers come from torch's global generator, which the trainer seeds
    anew for every step.
    """

    @property
    def unit(self) -> str:
        """Unit of a batch's size: "tokens", "frames", "images"."""

    @property
    def headline(self) -> str:
        """Metric that progress shows and early stopping compares. Larger is better."""

    @property
    def data(self) -> Data:
        """The data set, opened when it is first needed."""

    def save(self, folder: Path) -> None:
        """Write the files that `Kind.restore` reads."""

    def build(self) -> nn.Module:
        """Return a freshly initialized model."""

    def batch(self, step: int) -> Any:
        """Return batch number `step`, a function of the seed.

        With W processes, training step s has W batches, from number s W on.
        """

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Return the loss of a batch on the device of the model and the batch."""

    def example(self, split: str, index: int) -> Example:
        """Return one example of the data."""

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Measure a model on a split, or on `limit` examples spread over it."""

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure baselines on a split by name.

        This takes seconds and draws no random numbers.
        """

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> Sequence[Answer]:
        """Answer inputs, in order. The answer to an `Unreadable` is blank."""


class Kind(Protocol):
    """A task without options and data: `saccade.tasks.task.Task`.

    Its methods raise SaccadeError in one line.
    """

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
    def headline(self) -> str | Callable[[Any], str]:
        """Metric that compares checkpoints, or a function from options to it."""

    @property
    def requests(self) -> Mapping[str, type]:
        """Dataclass of the options of the verbs "predict", "eval" and "look".

        All fields have defaults.
        """

    @property
    def inputs(self) -> Literal["lines", "files"]:
        """Kind of the inputs: lines of text, or paths of files. "-" is standard input."""

    def suited(self, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of a model for data of the user.

        These are `given["data"]`, or Python objects.
        """

    def prepare(self, options: Any, objects: Any = None) -> Any:
        """Return a `Task`: open the data and learn the codec.

        The data may be Python objects, or those of `suited`.
        """

    def restore(self, options: Any, folder: Path, objects: Any = None) -> Any:
        """Return the `Task` of a run's folder, without its data.

        The data are opened only if they are needed.
        """


def kind_of(task: Task) -> Kind:
    """Return the kind of a job."""
    return cast("Kind", getattr(task, "task", type(task)))


def headline_of(kind: Kind, options: Any) -> str:
    """Return the metric that compares checkpoints of a run."""
    return kind.headline if isinstance(kind.headline, str) else kind.headline(options)


def models_of(kind: Kind) -> dict[str, str]:
    """Return the import path of each model of a task, other packages last.

    These have an entry point "TASK.MODEL" of the group `saccade.models`.
    """
    points = entry_points(group="saccade.models")
    start = f"{kind.name}."
    return {p.name.removeprefix(start): p.value for p in points if p.name.startswith(start)} | dict(kind.models)


def choose_model(kind: Kind, name: str, argument: str = "model") -> str:
    """Return the name of a model of a task, or its path, "module:Class".

    Raises ArgumentError if there is none.
    """
    if ":" not in name and name not in kind.models:
        return choose(argument, name, models_of(kind))
    return name


def model_class(kind: Kind, name: str) -> Any:
    """Import a model of a task by its name, or by its place, "module:Class".

    Raises ArgumentError if it cannot be imported, or is not a module with `Options`.
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
    """Return the recommended defaults of a model, by data set.

    A model of another package may have none.
    """
    return {"files": {}, **getattr(model_class(kind, model), "recipes", {})}


def options_class(kind: Kind, model: str, *, checked: bool = True) -> type[Options]:
    """Return one flat dataclass of all options of a run with a model.

    Its docstrings are the help.
    """
    try:
        return flat(model_class(kind, model).Options, kind.Options, Options, checked=checked)
    except TypeError as error:  # of a user's dataclass
        raise ArgumentError(
            f"--model: {model}.Options: expected a dataclass beside the task's, got another ({error})"
        ) from error


def recipe(kind: Kind, model: str, data: str) -> dict[str, Any]:
    """Return the recommended defaults for some data and this machine.

    Only those that differ from the dataclass are included.
    """
    name = data if data in kind.recipes else "files"
    return on_machine({**kind.recipes[name], **recipes_of(kind, model).get(name, {})})


def on_machine(options: Mapping[str, Any], device: str = "auto") -> dict[str, Any]:
    """Return the options of a recipe, without rounding that makes a device slower.

    >>> on_machine({"precision": "32", "hidden_dim": 8})
    {'precision': '32', 'hidden_dim': 8}
    """
    changed, rounding = dict(options), options.get("matmul_precision", "highest")
    if options.get("precision") == "bf16" and bfloat16_speedup(device) < _FASTER:
        changed["precision"] = "32"
    if rounding != "highest" and rounding_speedup(rounding, device) < 1 / _FASTER:
        changed["matmul_precision"] = "highest"
    return changed
