"""A task as a value, and a job: a task with a run's options, codec and data."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import torch
from torch import nn

from saccade._system.notes import say
from saccade.data.columns import Column
from saccade.data.dataset import Dataset, Lazy, opened, take
from saccade.data.naming import data_options, input_columns, reading
from saccade.errors import ArgumentError
from saccade.tasks import load_task
from saccade.tasks.batches import Sampler, batch_size, by_length, moved, sampler_of
from saccade.tasks.codec import Codec
from saccade.tasks.ensembles import check_alike, shortest_texts
from saccade.tasks.explaining import Subject
from saccade.tasks.export import Signature
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import NoOptions
from saccade.tasks.stream import place, texts
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.tasks.views import AsTraining, Few, at_their_place
from saccade.train.task import (
    Answer,
    Baseline,
    Evaluation,
    Example,
    Form,
    Loss,
    Suited,
    headline_of,
    model_class,
    options_class,
    recipe,
)

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["AsTraining", "Hard", "Job", "Task"]

AT_ONCE = 256
"""Examples of a block of an evaluation."""


class Hard(NamedTuple):
    """An example with a large loss, and the answer of the model."""

    loss: float
    example: Example
    answer: Answer


def _usual(task: "Task", model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    return Suited(task.recipe(model, explicit["data"]), data=objects)


def _in_blocks(job: "Job", model: nn.Module, split: str, indices: Sequence[int], request: Any) -> Evaluation:
    predictor: Any = job.predictor
    predictions, examples, seconds, at_once = list[Any](), list[Any](), 0.0, job.at_once
    for first in range(0, len(indices), at_once):
        chunk = [job.data.example(split, index) for index in indices[first : first + at_once]]
        samples = job.codec.encode(chunk, split)
        began = time.perf_counter()
        predictions += predictor.predict(model, samples, request)
        seconds += time.perf_counter() - began
        examples += chunk
    evaluation: Evaluation = predictor.measure(model, predictions, examples, request)
    return replace(evaluation, seconds=seconds)


def _joined(job: "Job", model: nn.Module, others: Sequence["Trained"]) -> Any:
    return shortest_texts(job, model, others) if hasattr(job.settings, "max_length") else job.codec


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of job.

    Args:
        name: name of the task.
        summary: a sentence about the task.
        unit: unit of the batch size, for example "tokens".
        headline: the metric to compare checkpoints, larger is better, or a function from options to the metric.
        models: "module:Class" of each model. The class has `Options` (a dataclass) and `recipes`.
        builtin: a sentence about each built-in data set.
        open: from the options of a run and Python objects, or None, to a data set.
        codec: class of the codec.
        predictor: from a codec to a predictor.
        Options: dataclass of the options of all runs.
        recipes: defaults of each built-in data set, and of "files", for all models.
        requests: dataclass of the options of the verbs "predict", "eval" and "look". Default: no options.
        inputs: lines of text, or paths of files. "-" is standard input.
        suffixes: suffixes of input files in a folder, or a function of the codec.
        columns: needed columns of its tables, the answer last. `Options` gets an option for the name of each.
        file_column: a name of the column that holds a file, if inputs are lines.
        suit: recipe of a model for data of the user.
        sampler: from a job to its training batches. Default: about `batch_tokens` words, or else `batch_size` samples.
        evaluate: measures some examples of a split. Default: by the predictor's `predict` and `measure`.
        lines: from a codec and Python objects to lines of input. Default: texts, paths, and rows by `columns`.
        joined: from a job, its model and other runs to the codec of the ensemble. Default: that of the job, with the
            least `max_length` of all runs.
        at_once: examples of a split that are in memory together. Default: `AT_ONCE`.
        signature: from a codec and a model to the module of `saccade export`. None: the task has no export.
    """

    name: str
    summary: str
    unit: str
    headline: str | Callable[[Any], str]
    models: Mapping[str, str]
    builtin: Mapping[str, str]
    open: Callable[[Any, Any], Dataset[Any]]
    codec: type[Codec]
    predictor: Callable[[Any], Predictor]
    Options: type
    recipes: Mapping[str, Mapping[str, Any]]
    requests: Mapping[str, type] = field(default_factory=lambda: dict.fromkeys(("predict", "eval", "look"), NoOptions))
    inputs: Literal["lines", "files"] = "lines"
    suffixes: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    columns: tuple[Column, ...] = field(default=(), repr=False)
    file_column: str | None = None
    suit: Callable[["Task", str, Mapping[str, Any], Any], Suited] = field(default=_usual, repr=False)
    sampler: Callable[["Job"], Sampler[Any]] = field(default=sampler_of, repr=False)
    evaluate: Callable[["Job", nn.Module, str, Sequence[int], Any], Evaluation] = field(default=_in_blocks, repr=False)
    lines: Callable[[Any, Any], Iterator[str]] | None = field(default=None, repr=False)
    joined: Callable[["Job", nn.Module, Sequence["Trained"]], Any] = field(default=_joined, repr=False)
    at_once: int | None = None
    signature: Callable[[Any, nn.Module], Signature] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Add the options of data: an encoding, and names of columns."""
        object.__setattr__(self, "Options", data_options(self.Options, self.columns))

    def recipe(self, model: str, data: str) -> dict[str, Any]:
        """Return the defaults of a model on a data set."""
        return recipe(self, model, data)

    def suited(self, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe for data of the user, and reject shares of fixed splits."""
        if given.get("held_out") == 0:  # runs without the option have 0, so data reject other shares alone
            self.rows(model, {**given, "held_out": 0.25}, objects).get()
        return self.suit(self, model, given, objects)

    def rows(self, model: str, given: Mapping[str, Any], objects: Any) -> Lazy[Any]:
        """Return the data for `suit`, by these options and defaults."""
        return self.lazy_data(options_class(self, model, checked=False)(**given), objects)

    def prepare(self, options: Any, objects: Any = None) -> "Job":
        """Open the data and fit the codec."""
        data = self.lazy_data(options, objects).get()
        guessed = {f"{name}_column": column for name, column in getattr(data, "guessed", {}).items()}
        options = replace(options, **guessed)
        codec, notes = self.codec.fit(data, options)
        for note in filter(None, (data.note, *notes)):
            say(note)
        job = Job(self, codec, Lazy(lambda: data))
        job.sampler  # noqa: B018 (its first look at the data may reject them before there is a run)
        return job

    def trial(self, options: Any, objects: Any = None) -> "Job":
        """Return a job with a codec of a few training examples, to time its steps."""
        data = Few(self.lazy_data(options, objects).get())
        try:
            return Job(self, self.codec.fit(data, options)[0], Lazy(lambda: data))
        except ArgumentError:  # the few may be unusual
            return self.prepare(options, objects)

    def restore(self, options: Any, folder: Path, objects: Any = None) -> "Job":
        """Read the codec of a run. Its data are opened at their first use."""
        data = self.lazy_data(options, objects)
        return Job(self, self.codec.restore(folder, options), at_their_place(data, options, self.builtin))

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Pickle the name alone, for other processes of a training."""
        return load_task, (self.name,)

    def lazy_data(self, options: Any, objects: Any) -> Lazy[Any]:
        """Return the data of a run, opened at their first use."""
        return opened(objects, partial(self._open, options))

    def _open(self, options: Any, objects: Any) -> Dataset[Any]:
        """Open data with files of text in the encoding of an option."""
        with reading(options, self.builtin):
            return self.open(options, objects)


@dataclass(frozen=True)
class Job:
    """A task with the codec, the options and the data of a run."""

    task: Task
    codec: Any
    rows: Lazy[Any]

    @property
    def name(self) -> str:
        """Name of the task."""
        return self.task.name

    @property
    def settings(self) -> Any:
        """Options of the run."""
        return self.codec.options

    def changed(self, **options: Any) -> "Job":
        """Return the job with other options."""
        return replace(self, codec=replace(self.codec, options=replace(self.settings, **options)))

    @property
    def unit(self) -> str:
        """Unit of a batch's size."""
        return self.task.unit

    @property
    def headline(self) -> str:
        """Metric that compares checkpoints."""
        return headline_of(self.task, self.settings)

    @property
    def requests(self) -> Mapping[str, type]:
        """Dataclass of the options of each verb."""
        return self.task.requests

    @property
    def inputs(self) -> Literal["lines", "files"]:
        """Kind of the inputs."""
        return self.task.inputs

    @property
    def columns(self) -> list[Column]:
        """Columns of an input, with the name of an option or guess before the usual names."""
        return input_columns(self.settings, self.task.columns)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of input files in a folder."""
        suffixes = self.task.suffixes
        return suffixes if isinstance(suffixes, tuple) else suffixes(self.codec)

    @property
    def at_once(self) -> int:
        """Number of examples in memory at once."""
        return self.task.at_once or AT_ONCE

    @property
    def data(self) -> Any:
        """Data set, opened at its first use."""
        return self.rows.get()

    @cached_property
    def predictor(self) -> Predictor:
        """Predictor of the run."""
        return self.task.predictor(self.codec)

    @cached_property
    def sampler(self) -> Sampler[Any]:
        """Batches of samples by step."""
        return self.task.sampler(self)

    def save(self, folder: Path) -> None:
        """Write the codec."""
        self.codec.save(folder)

    def build(self) -> nn.Module:
        """Return a freshly initialized model."""
        return self.codec.build(model_class(self.task, self.settings.model))  # type: ignore[no-any-return]

    def samples(self, split: str, indices: Iterable[int]) -> list[Any]:
        """Return samples of a split."""
        return self.codec.encode([self.data.example(split, index) for index in indices], split)  # type: ignore[no-any-return]

    def batch(self, step: int) -> Any:
        """Return the batch of a training step."""
        return self.codec.collate(self.sampler.batch(step), step)

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Return the loss of a batch."""
        return self.predictor.loss(model, batch)

    def example(self, split: str, index: int) -> Example:
        """Return an example of the data for people."""
        return self.codec.show(self.data.example(split, index), f"{split}-{index}")  # type: ignore[no-any-return]

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Measure a model on a split, or on `limit` examples spread over it."""
        return self.task.evaluate(self, model, split, take(self.data, split, limit), request)

    def sampler_of(self, split: str) -> Sampler[Any]:
        """Return the sampler of training samples of any split."""
        return replace(self, rows=Lazy(lambda: AsTraining(self.data, split))).sampler

    def mean_loss(self, model: nn.Module, split: str, limit: int | None = None) -> float | None:
        """Return the mean loss of a split, or of `limit` examples spread over it.

        Examples that training leaves out, such as too long ones, have no loss. It is None if all are left out.
        """
        device, sampler, losses = next(model.parameters()).device, self.sampler_of(split), list[Loss]()
        indices, at_once = take(self.data, split, limit), self.at_once
        for first in range(0, len(indices), at_once):
            with suppress(ArgumentError):
                samples = sampler.encode(indices[first : first + at_once])
                sizes = [sample.size for sample in samples]
                for group in by_length(sizes, batch_size(self.settings, max(sizes))):
                    batch = self.codec.collate([samples[index] for index in group]).to(device)
                    losses.append(self.loss(model, batch))
        count = sum(loss.count for loss in losses)
        return sum(loss.total.item() * loss.count for loss in losses) / count if count else None

    def hardest(self, model: nn.Module, split: str, count: int, request: Any = None) -> list[Hard]:
        """Return the examples of a split with the largest losses, largest first.

        Examples that training leaves out, such as too long ones, have no loss.
        """
        device, sampler = next(model.parameters()).device, self.sampler_of(split)
        losses = list[tuple[float, int]]()
        for index in take(self.data, split, None):
            with suppress(ArgumentError):
                batch = self.codec.collate(sampler.encode([index])).to(device)
                losses.append((self.loss(model, batch).total.nan_to_num(torch.inf).item(), index))
        worst = sorted(losses, reverse=True)[:count]
        examples = [self._named(split, index) for _, index in worst]
        answers = self.answer(model, [example.input for example in examples], request)
        rows = zip(worst, examples, answers, strict=True)
        return [Hard(loss, example, answer) for (loss, _), example, answer in rows]

    def _named(self, split: str, index: int) -> Example:
        """Return an example with the name of its image before its text."""
        example = self.example(split, index)
        about_file = example.file is not None and self.inputs == "lines"
        return example._replace(text=f"{split}-{index} {example.text}") if about_file else example

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure simple methods on a split."""
        return self.predictor.baselines(self.data, split)

    def lines(self, inputs: Any) -> Iterator[str]:
        """Return Python objects as lines for `read`."""
        if self.task.lines is not None:
            return self.task.lines(self.codec, inputs)
        return texts(inputs, [column.names for column in self.columns])

    def read(self, line: str, number: int) -> Any:
        """Read line `number` of the inputs. A row of a table has a number of its own."""
        return self.codec.read(line, place(line, number))

    def encode(self, lines: Iterable[str], device: torch.device) -> tuple[Any, ...]:
        """Return lines as one batch: the arguments of the model.

        Raises:
            ArgumentError: if there are none, or one is blank or could not be read.
        """
        batch: tuple[Any, ...] = moved(self.predictor.encode(self._read_all(lines)), device)
        return batch

    def subjects(self, model: nn.Module, lines: Iterable[str], request: Any) -> list[Subject]:
        """Return lines with their answers, for the methods of `--by`.

        Raises:
            ArgumentError: as for `encode`, and if the task has no such methods.
        """
        return self.predictor.subjects(model, self._read_all(lines), request)

    def _read_all(self, lines: Iterable[str]) -> list[Any]:
        """Read lines, and reject blank ones."""
        read = list[Any]()
        for number, line in enumerate(lines, 1):
            read.append(self.read(line, number))
            if not line.strip() or getattr(read[-1], "size", 1) == 0:
                raise ArgumentError(f"inputs: expected none that is blank, got number {number}; leave it out")
        if not read:
            raise ArgumentError("inputs: expected one or more, got none")
        return read

    @property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer of input texts, or of output texts if inputs are none."""
        for name in ("words", "source", "target"):
            if (tokenizer := getattr(self.codec, name, None)) is not None:
                return cast("Tokenizer", tokenizer)
        raise ArgumentError(f"tokenizer: expected a run with a tokenizer, got one of {self.name}, which has none")

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject a request that does not fit the model."""
        self.predictor.check(model, request)

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> Sequence[Answer]:
        """Return an answer to each input, blank for an unreadable input."""
        return self.predictor.answer(model, inputs, request, form)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple["Job", nn.Module]:
        """Return the job and the model of an ensemble."""
        check_alike(self, others, lambda job: job.codec.parts)
        job = replace(self, codec=self.task.joined(self, model, others))
        return job, job.predictor.ensemble([model, *(other.model for other in others)])
