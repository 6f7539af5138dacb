"""Options of every run, and tools for dataclasses of options."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from saccade._definitions.argument_hints import suggest
from saccade.errors import ArgumentError
from saccade.train.schedules import FALLING, SCHEDULES

T = TypeVar("T")

_MOST_THREADS = 1024  # many more crash the process
_MOST_MINUTES = 10**8  # 190 years
_MOST_FOLDS = 1000
_PATIENCE = 10  # validations, of a run that neither a clock nor its schedule ends
_CHOICES: dict[str, Collection[str]] = {
    "precision": ("32", "bf16", "16"),
    "matmul_precision": ("highest", "high", "medium"),
    "schedule": SCHEDULES,
}
_POSITIVE = (
    *("processes", "checkpoint_steps", "validation_steps", "validation_examples", "learning_rate", "warmup_steps"),
    *("clip", "max_steps", "max_minutes", "threads", "average", "patience", "schedule_steps"),
)
_BUDGET: dict[str, Any] = {"budget": True}  # may differ when a run is continued: it changes no weight of any step
_COMMAND: dict[str, Any] = {**_BUDGET, "place": True}  # of a command, not of its run
PATH: dict[str, Any] = {"path": True}
"""Metadata of an option that names a file or a folder."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of all tasks. A task and its model add further options."""

    model: str = ""
    """Model to train. `saccade list` names them."""

    data: str = field(default="", metadata={**_COMMAND, **PATH})  # runs compare fingerprints
    """A built-in data set, or a folder or file.
    The page of the task in docs/ has its formats."""

    run: str = field(default="", metadata=_COMMAND)
    """Folder of the run, new or to be continued. Default: runs/TASK-DATA-MODEL."""

    resume: bool = field(default=True, metadata=_COMMAND)
    """Continue the run if it exists; with --no-resume start a new one beside it."""

    folds: int | None = field(default=None, metadata=_COMMAND)
    """Cross-validation: number of runs, each tested on another part of the data.
    They are in RUN/fold-1 and so on."""

    seed: int = 1
    """Seed of everything random: initial weights, batches, dropout."""

    max_steps: int | None = field(default=10_000, metadata=_BUDGET)
    """Steps of the whole run. --max-minutes alone replaces them."""

    max_minutes: float | None = field(default=None, metadata=_BUDGET)
    """Minutes of the whole run, its start and its final evaluation included.
    Without --max-steps, warmup, schedule, validations and checkpoints follow the clock. Options that you give stay."""

    checkpoint_steps: int = field(default=500, metadata=_BUDGET)
    """Steps between two checkpoints.
    The last two are kept, and the weights that --average needs."""

    validation_steps: int = field(default=500, metadata=_BUDGET)
    """Steps between two measurements on the validation split."""

    validation_examples: int = field(default=500, metadata=_BUDGET)
    """Validation examples measured during training.
    The final evaluation takes all of them."""

    device: str = field(default="auto", metadata=_COMMAND)
    """Device: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    processes: int = 1
    """Processes that train together. A step takes a batch in each."""

    threads: int | None = field(default=None, metadata=_COMMAND)
    """Processor threads. Default: torch's. Small models gain nothing from many."""

    learning_rate: float = 1e-3
    """Highest learning rate of Adam."""

    schedule: str = "inverse-sqrt"
    """Schedule of the learning rate: inverse-sqrt, constant, linear or cosine.
    It begins after the warmup."""

    warmup_steps: int = 1000
    """Steps of the rise of the learning rate from zero to its highest."""

    schedule_steps: int | None = None
    """Last step of a linear or cosine schedule.
    A longer run goes on at the final rate."""

    final_rate: float = 0.0
    """Final learning rate of a linear or cosine schedule.
    It is a fraction of the highest one."""

    beta1: float = 0.9
    """Adam β₁."""

    beta2: float = 0.99
    """Adam β₂, such as 0.999 for many steps."""

    weight_decay: float = 0.0
    """Weight decay of AdamW for matrices. Vectors are not decayed."""

    clip: float = 1.0
    """Largest norm of the gradient. A larger gradient is scaled down to it."""

    precision: str = "32"
    """Precision of products in training: 32, bf16, or 16 on a GPU.
    Weights and evaluations stay in float32."""

    matmul_precision: str = "highest"
    """Precision of float32 matrix products: highest, high (TF32) or medium (bfloat16).
    It is that of torch.set_float32_matmul_precision in training."""

    average: int = field(default=1, metadata=_BUDGET)
    """Number of last checkpoints to average into the trained model.
    The last alone is taken if it is better."""

    patience: int | None = field(default=None, metadata=_BUDGET)
    """Validations without improvement before a run stops with the best weights.
    Default: 10 once it has improved, without minutes or a falling schedule."""

    tensorboard: bool = field(default=False, metadata=_BUDGET)
    """Log loss, learning rate and validations for TensorBoard too.
    The logs are in tensorboard/ of the run."""

    @property
    def early_stopping(self) -> int | None:
        """Number of validations without improvement before a run stops."""
        endless = self.max_minutes is None and self.schedule not in FALLING
        return self.patience or (_PATIENCE if endless else None)

    def __post_init__(self) -> None:
        """Reject values without a meaning."""
        for name in _POSITIVE:
            if wrong := not_positive(getattr(self, name)):
                raise ArgumentError(f"{flag(name)}: {wrong}")
        check_threads(self.threads)
        check_threads(self.processes, "processes")
        check_folds(self.folds)
        if self.max_steps is None and self.max_minutes is None:
            raise ArgumentError("--max-steps: expected a number, or --max-minutes, got neither")
        if self.max_minutes is not None and self.max_minutes > _MOST_MINUTES:
            raise ArgumentError(f"--max-minutes: expected at most {_MOST_MINUTES:,}, got {self.max_minutes:g}")
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise ArgumentError(f"{flag(name)}: expected one of {', '.join(choices)}, got {value}")
        _check_schedule(self)
        for name in ("beta1", "beta2"):
            if not 0 <= (beta := getattr(self, name)) < 1:
                raise ArgumentError(f"--{name}: expected 0 <= {name} < 1, got {beta}")
        if not 0 <= self.weight_decay < math.inf:
            raise ArgumentError(f"--weight-decay: expected a finite number from 0 on, got {self.weight_decay}")


def check_threads(count: int | None, name: str = "threads") -> None:
    """Reject a number of threads, or of processes, that no machine has."""
    if count is not None and not 0 < count <= _MOST_THREADS:
        expected = "a number above 0" if count <= 0 else f"at most {_MOST_THREADS}"
        raise ArgumentError(f"{flag(name)}: expected {expected}, got {count}")


def check_folds(count: int | None) -> None:
    """Reject fewer than two folds, and very many."""
    if count is not None and not 2 <= count <= _MOST_FOLDS:
        raise ArgumentError(f"--folds: expected a number from 2 to {_MOST_FOLDS}, got {count}")


def _check_schedule(options: Options) -> None:
    """Reject a horizon or a final rate that the schedule does not have."""
    name, steps, warmup = options.schedule, options.schedule_steps, options.warmup_steps
    if not 0 <= options.final_rate <= 1:
        raise ArgumentError(f"--final-rate: expected a share between 0 and 1, got {options.final_rate}")
    if name in FALLING and (steps is None or steps <= warmup):
        got = "none" if steps is None else steps
        raise ArgumentError(f"--schedule-steps: expected, for {name}, more than {warmup} (--warmup-steps), got {got}")
    if name not in FALLING and (steps is not None or options.final_rate):
        what = "--final-rate" if steps is None else "--schedule-steps"
        raise ArgumentError(f"{what}: expected only with --schedule {' or '.join(FALLING)}, got --schedule {name}")


def not_positive(value: float | None) -> str | None:
    """Return an error for a number unless it is positive and finite.

    Valid numbers and None have no error.

    >>> not_positive(0), not_positive(math.inf), not_positive(0.5), not_positive(None)
    ('expected a number above 0, got 0', 'expected a finite number above 0, got inf', None, None)
    """
    if value is None or 0 < value < math.inf:
        return None
    return f"expected a {'finite ' if value == math.inf else ''}number above 0, got {value}"


def flag(name: str) -> str:
    """Return an option in the form of the command line, such as --max-steps."""
    return "--" + name.replace("_", "-")


@cache
def flat(*parts: type, checked: bool = True) -> type[Options]:
    """Return one dataclass of all fields of several, docstrings and checks included.

    The command line uses one that is not `checked`, for example, before it has the recipe.
    """

    def check(self: Options) -> None:
        for part in parts if checked else ():
            if hasattr(part, "__post_init__"):
                part.__post_init__(self)

    return make_dataclass("Options", [], bases=parts, namespace={"__post_init__": check}, frozen=True, kw_only=True)


def select(options: Any, part: type[T]) -> T:
    """Return the options of one part of `flat`, as that dataclass."""
    return part(**{f.name: getattr(options, f.name) for f in fields(part)})  # type: ignore[arg-type]


def check_types(kind: Any, values: Mapping[str, Any]) -> None:
    """Check the types of values from a file.

    Raises ArgumentError for the first wrong one.
    """
    for name, option in get_type_hints(kind).items():
        if name in values and not fits(value := values[name], option):
            raise ArgumentError(f"{flag(name)}: expected {_named(option)}, got {value!r:.60}")


def fits(value: object, kind: Any) -> bool:
    """Whether a value from a file has a type. An integer may stand for a float.

    >>> fits(3, float | None), fits("3", float | None), fits(True, int)
    (True, False, False)
    """
    if get_origin(kind) in (Union, UnionType):
        return any(fits(value, member) for member in get_args(kind))
    if isinstance(value, bool):  # an int to Python
        return kind is bool
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    return isinstance(value, kind) or (isinstance(value, int) and isinstance(0.0, kind))


def _named(kind: Any) -> str:
    """A type as an error names it."""
    if get_origin(kind) in (Union, UnionType):
        return " | ".join(map(_named, get_args(kind)))
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    return "None" if kind is NoneType else getattr(kind, "__name__", str(kind))


def paths(options: Any) -> dict[str, str]:
    """Return the relative paths among options by name."""
    named = {f.name: getattr(options, f.name) for f in fields(options) if f.metadata.get("path")}
    return {name: value for name, value in named.items() if value and not Path(value).is_absolute()}


def origin(config: Mapping[str, Any], options: Options) -> str:
    """Return a mark of weights: a hash of their data and of the options that matter.

    The options are those of `identity`.

    >>> origin({"data": "dates"}, Options(max_steps=9)) == origin({"data": "dates"}, Options())
    True
    """
    former = before(type(options))
    kept = {name: value for name, value in identity(options).items() if name not in former or value != former[name]}
    content = json.dumps([config["data"], kept], sort_keys=True, default=str)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def before(kind: Any) -> dict[str, Any]:
    """Return the values of options in runs from before these options existed."""
    return {f.name: f.metadata["before"] for f in fields(kind) if "before" in f.metadata}


def identity(options: Options) -> dict[str, Any]:
    """Return the options with an effect on the weights.

    These are all options except budgets, devices and folders.

    >>> sorted(set(identity(Options())) & {"seed", "max_steps", "device"})
    ['seed']
    """
    return {f.name: getattr(options, f.name) for f in fields(options) if not f.metadata.get("budget")}


def check_named(values: Mapping[str, Any], kind: Any, where: str) -> None:
    """Reject values of options that a dataclass does not have, or of other types.

    >>> check_named({"learning_rte": 0.1}, Options, "a run")
    Traceback (most recent call last):
        ...
    saccade.errors.ArgumentError: learning_rte: a run has no such option; did you mean learning_rate?
    """
    names = [field.name for field in fields(kind)]
    if unknown := next((name for name in values if name not in names), ""):
        raise ArgumentError(f"{unknown}: {where} has no such option; {suggest(unknown, names)}")
    check_types(kind, values)
