"""Numbers as tensors: their scales, a sample of training points, and batches."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from saccade._system.files import write_json
from saccade.data.dataset import spread, training_sample
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.regressor import Regressor, Sizes, TrainingData
from saccade.tasks.batches import Sampler
from saccade.tasks.export import Signature
from saccade.tasks.regress.data import BUILTIN
from saccade.tasks.regress.data.cells import exact
from saccade.tasks.regress.data.encoding import Encoding
from saccade.tasks.regress.data.other import known_columns
from saccade.tasks.regress.data.rows import Example as Row
from saccade.tasks.regress.data.rows import Numbers
from saccade.tasks.regress.inputs import Question, read_cells, read_numbers
from saccade.tasks.regress.plain import FEWEST, Fitted, fit_start
from saccade.tasks.saved import reading
from saccade.tasks.task import AsTraining, Job
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["ENDLESS", "LEARNED", "POINTS", "Batch", "Columns", "Sample", "check_start", "kept_points", "pad", "sampler"]

POINTS = 1000
"""Largest number of training points in a model's memory and in a curve."""

ENDLESS, LEARNED = 2_000, 50_000
"""Training examples for scales and baselines: of endless data, and of other data."""

_FILE, _START = "columns.json", "start.json"


class Sample(NamedTuple):
    """Numbers of an example, its answers, and its index among the model's points.

    The index is -1 for an example that is none of these points. `started` is the prediction of the start without this
    example, () if there is none.
    """

    numbers: tuple[float, ...]
    answers: tuple[float, ...]
    point: int = -1
    started: tuple[float, ...] = ()
    size: int = 1
    order: int = 0


class Batch(NamedTuple):
    """Numbers, answers, indices among known points, and predictions of the start.

    Answers and predictions are `(batch, outputs)`, float64. Indices are `(batch,)`.
    """

    points: Padded
    answers: Tensor
    places: Tensor
    started: Tensor | None = None

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        started = None if self.started is None else self.started.to(device)
        return Batch(self.points.to(device), self.answers.to(device), self.places.to(device), started)


@dataclass(frozen=True)
class Columns:
    """Codec of rows or sets of numbers.

    Args:
        features: names of the features, () for sets.
        targets: names of the targets.
        mean, std: of each feature, or of all elements of sets.
        answers_mean, answers_std: of each target.
        points: training points, spread over all of them. None of sets.
        answers: targets of the points.
        start: the fitted start of the model, or None.
        encoding: codes of the columns of a table, None if all cells are numbers.
        options: of the run.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    answers_mean: tuple[float, ...]
    answers_std: tuple[float, ...]
    points: tuple[tuple[float, ...], ...] = ()
    answers: tuple[tuple[float, ...], ...] = ()
    start: Fitted | None = None
    encoding: Encoding | None = None
    options: Any = field(default=None, compare=False)

    @classmethod
    def fit(cls, data: Numbers, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn scales, and note constant features.

        Raises:
            ArgumentError: if the targets, or all features, are constant.
        """
        rows, size = training_sample(data, ENDLESS, LEARNED), data.size("train")
        features, targets = data.features, data.targets
        if features:
            inputs = _tensor([row.numbers for row in rows])
        else:
            inputs = _tensor([number for row in rows for number in row.numbers])[:, None]
        outputs = _tensor([row.answers for row in rows])
        which = "every row to train on" if size == len(rows) else f"all {len(rows):,} rows to train on that were seen"
        note = _constant(inputs, features or ("elements",), "features", which)
        _constant(outputs, targets, "target", which)
        kept = rows[:POINTS] if size is None else [data.example("train", index) for index in kept_points(size)]
        points, answers = zip(*(row[:2] for row in kept), strict=True) if features else ((), ())
        kind, start = getattr(options, "start", "none"), None
        if getattr(options, "data", None) in BUILTIN:  # their recipes have none
            check_start(kind, data, options.data)
        if features and kind != "none":
            start = fit_start(inputs.numpy(), outputs.numpy(), kind)
        if start is not None:
            learned = dict(
                zip(range(len(rows)) if size is None else spread(size, LEARNED), start.predictions, strict=True)
            )
            estimates = start.module()(_tensor(points)).tolist()
            indices = range(len(estimates)) if size is None else kept_points(size)
            start = replace(
                start, points=[learned.get(index, other) for index, other in zip(indices, estimates, strict=True)]
            )
        scales = *_scales(inputs), *_scales(outputs)
        columns = cls(features, targets, *scales, points, answers, start, data.encoding, options)
        return columns, [note] if start is None else [note, start.note(targets)]

    def save(self, folder: Path) -> None:
        """Write columns.json."""
        content = asdict(self)
        del content["options"], content["start"], content["encoding"]
        if self.encoding is not None:
            content["encoding"] = self.encoding.to_json()
        write_json(folder / _FILE, content)
        if self.start is not None:
            write_json(folder / _START, self.start.to_json())

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read columns.json, or raise an `ArgumentError` if it is missing or damaged."""
        with reading(folder / _FILE, "the columns") as content:
            features, targets = (tuple(content[name]) for name in ("features", "targets"))
            if not targets or not all(isinstance(name, str) for name in (*features, *targets)):
                raise ValueError(f"features {features!r:.60} and targets {targets!r:.60}")
            wide, high = max(1, len(features)), len(targets)
            widths = [("mean", wide), ("std", wide), ("answers_mean", high), ("answers_std", high)]
            mean, std, answers_mean, answers_std = (_numbers([content[name]], width)[0] for name, width in widths)
            points, answers = _numbers(content["points"], wide), _numbers(content["answers"], high)
            if len(points) != len(answers):
                raise ValueError(f"{len(points)} points and {len(answers)} answers")
            encoding = Encoding.of_json(content["encoding"]) if "encoding" in content else None
            if encoding is not None and encoding.features != features:
                raise ValueError(f"codes of other columns, {', '.join(encoding.names):.60}")
            columns = cls(
                features, targets, mean, std, answers_mean, answers_std, points, answers, None, encoding, options
            )
        if not features or getattr(options, "start", "none") == "none" or not (folder / _START).exists():
            return columns
        with reading(folder / _START, "the start") as content:
            return replace(columns, start=Fitted.restore(content, len(features), len(targets)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of an input, () for sets."""
        return self.features if self.encoding is None else self.encoding.names

    @property
    def sizes(self) -> Sizes:
        """Sizes of a model."""
        return Sizes(len(self.features), len(self.targets), len(self.points))

    def opening(self) -> dict[str, Any]:
        """Return options to open other data: all columns, and the targets of the run."""
        several = any(name[-1:].isdecimal() or "," in name for name in self.targets)  # perhaps of one cell
        target = self.options.target or (None if several else ",".join(self.targets))
        return {"target": target, "features": self.options.features if self.options.sets else None}

    def adapted(self, data: Numbers) -> Numbers:
        """Return other data with the columns of the run, by its codes."""
        return known_columns(data, self.features, self.targets, self.encoding)

    def encode(self, examples: Sequence[Row], split: str) -> list[Sample]:
        """Return samples without indices among known points."""
        return [Sample(example.numbers, example.answers) for example in examples]

    def collate(self, samples: Sequence[Sample], step: int | None = None) -> Batch:
        """Return a batch."""
        points = torch.tensor([sample.point for sample in samples])
        started = None
        if self.start is not None:
            unknown = (math.nan,) * len(self.targets)
            started = _tensor([sample.started or unknown for sample in samples])
        return Batch(pad([s.numbers for s in samples]), _tensor([s.answers for s in samples]), points, started)

    def build(self, model: Any) -> nn.Module:
        """Return a model with these scales and known points."""
        model.check(self.sizes, self.options.model)
        made: Regressor = model(self.sizes, select(self.options, model.Options))
        mean, std, answers_mean, answers_std = map(_tensor, (self.mean, self.std, self.answers_mean, self.answers_std))
        points = _tensor(self.points).reshape(-1, max(1, len(self.features)))
        answers = _tensor(self.answers).reshape(-1, len(self.targets))
        start = None
        if self.start is not None:
            start, answers = self.start.module(), answers - _tensor(self.start.points).reshape(answers.shape)
            answers_mean, answers_std = torch.zeros_like(answers_mean), _tensor(self.start.std)
        made.begin(TrainingData(mean, std, answers_mean, answers_std, points, answers, start))
        return made

    def signature(self, model: nn.Module) -> Signature:
        """Return the model as a function of numbers, or of sets and their lengths."""
        mean, std = _tensor(self.mean), _tensor(self.std)

        def draw(batch: int, length: int) -> dict[str, Tensor]:
            length = len(self.features) or length
            numbers = mean + std * torch.linspace(-2, 2, batch * length, dtype=torch.float64).view(batch, length)
            lengths = {} if self.features else {"lengths": length - torch.arange(batch) % length}
            return {"numbers": numbers, **lengths}

        names = ("features", "targets", "mean", "std", "answers_mean", "answers_std")
        about = {name: getattr(self, name) for name in names}
        about["encoding"] = None if self.encoding is None else self.encoding.to_json()
        if self.features:
            sizes = {"numbers": {0: "batch"}}
        else:
            sizes = {"numbers": {0: "batch", 1: "length"}, "lengths": {0: "batch"}}
        return Signature(_OfTensors(model), draw, sizes, ["answers", "deviations"], about)

    def show(self, example: Row, name: str) -> Example:
        """Return the cells or numbers of an example, and their answers."""
        text = exact(example.numbers) if self.encoding is None else self.encoding.line(example.cells)
        return Example(Question(example.numbers, example.cells), text, exact(example.answers))

    def read(self, line: str, number: int) -> Question:
        """Return the numbers of a line."""
        if self.encoding is not None:
            return read_cells(line, number, self.encoding)
        return Question(read_numbers(line, number, self.features))

    @property
    def parts(self) -> Mapping[str, tuple[object, str]]:
        """Names and codes of the columns, equal for all members of an ensemble."""
        return {
            "the features": (self.features, f"{', '.join(self.features) or 'sets':.80}"),
            "the targets": (self.targets, f"{', '.join(self.targets):.80}"),
            "the codes of columns": (self.encoding, "others (kinds, categories or medians)"),
        }


class _OfTensors(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, numbers: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if lengths is None:
            lengths = torch.full_like(numbers[:, 0], numbers.shape[1], dtype=torch.int64)
        mean, deviation = self.model(Padded(numbers, lengths))
        return mean, deviation


def sampler(job: Job) -> Sampler[Sample]:
    """Return batches with indices of samples among known points.

    The model excludes these indices, so no point predicts itself.
    """
    data, settings, size = job.data, job.settings, job.data.size("train")
    trained = size is not None and not (isinstance(data, AsTraining) and data.split != "train")
    points, started = dict[int, int](), dict[int, Sequence[float]]()
    if trained:
        points = {index: position for position, index in enumerate(kept_points(size))}
        if (start := job.codec.start) is not None:
            started = dict(zip(spread(size, LEARNED), start.predictions, strict=True))

    def samples(indices: Sequence[int]) -> list[Sample]:
        pairs = zip(job.samples("train", indices), indices, strict=True)
        return [
            sample._replace(point=points.get(index, -1), started=tuple(started.get(index, ())))
            for sample, index in pairs
        ]

    return Sampler(samples, size, settings.batch_size, settings.seed, count=len)


def check_start(start: str, data: Numbers, name: str) -> None:
    """Reject a start that the model of some data cannot have.

    Args:
        start: of an option.
        data: the data.
        name: the data, for the message.

    Raises:
        ArgumentError: for sets, and for fewer than 20 training rows.
    """
    size = data.size("train")
    if start == "none" or (data.features and (size is None or size >= FEWEST)):
        return
    why = f"whose {size} rows to train on are fewer than {FEWEST}" if data.features else "which are sets"
    raise ArgumentError(f"--start: expected none for {name}, {why}, got {start}; leave it out")


def kept_points(size: int) -> range:
    """Return the indices of the training rows that a model keeps.

    >>> len(kept_points(POINTS)), len(kept_points(10**6)) <= POINTS
    (1000, True)
    """
    return spread(size, POINTS)


def pad(rows: Sequence[Sequence[float]]) -> Padded:
    """Return rows of numbers as one batch, with 0 behind shorter rows.

    >>> pad([(1.0, 2.0), (3.0,)]).values
    tensor([[1., 2.],
            [3., 0.]], dtype=torch.float64)
    """
    longest = max(map(len, rows), default=1)
    values = [[*row, *[0.0] * (longest - len(row))] for row in rows]
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    return Padded(_tensor(values).reshape(len(rows), longest), lengths)


def _tensor(numbers: Any) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _scales(columns: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each column."""
    return tuple(columns.mean(0).tolist()), tuple(columns.std(0, correction=0).tolist())


def _constant(columns: Tensor, names: Sequence[str], option: str, which: str) -> str:
    """Return a note of constant columns, "" if there are none.

    Reject constant targets, and features if all are constant.
    """
    differ = (columns != columns[0]).any(0).tolist()
    constant = [name for name, differs in zip(names, differ, strict=True) if not differs]
    if constant and (option == "target" or len(constant) == len(names)):
        got = f"got {columns[0, names.index(constant[0])]:g} in {which}"
        raise ArgumentError(f"data: column {constant[0]} ({option}): expected numbers that differ, {got}")
    return f"{', '.join(constant):.100}: the same number in {which}, which tells nothing" if constant else ""


def _numbers(rows: Any, width: int) -> tuple[tuple[float, ...], ...]:
    numbers = np.array(rows, np.float64)
    if len(rows) > POINTS or (rows and numbers.shape != (len(rows), width)) or not np.isfinite(numbers).all():
        raise ValueError(f"expected rows of {width} finite numbers, got {rows!r:.60}")
    return tuple(map(tuple, numbers.tolist()))
