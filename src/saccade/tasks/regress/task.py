"""The task that answers with numbers: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from saccade._system.notes import say
from saccade.data.dataset import Lazy, take, training_sample
from saccade.data.splits import SplitNames
from saccade.models.regressor import Predicted, Regressor
from saccade.tasks.batches import Sampler
from saccade.tasks.ensembles import check_alike
from saccade.tasks.regress.answer import Asked, Regression, answers
from saccade.tasks.regress.baselines import plain_ways
from saccade.tasks.regress.batches import Batch, Encoded, padded, stacked
from saccade.tasks.regress.columns import Columns, kept_places
from saccade.tasks.regress.data import BUILTIN, open_numbers
from saccade.tasks.regress.data.dataset import Example as Row
from saccade.tasks.regress.data.dataset import Numbers, exact
from saccade.tasks.regress.data.reader import Wanted
from saccade.tasks.regress.ensemble import Ensemble
from saccade.tasks.regress.interval import interval
from saccade.tasks.regress.measures import HEADLINE, measured
from saccade.tasks.regress.options import RECIPES, REQUESTS, EvalRequest, Options
from saccade.tasks.regress.question import lines_of, read_numbers
from saccade.tasks.request import completed
from saccade.train import options as shared
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, Unreadable, model_class, recipe

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Regress"]

_AT_ONCE = 256  # rows that are measured together
_ENDLESS, _LEARNED = 2_000, 50_000  # training rows that plain ways learn from: of those without end, and of others


@dataclass(frozen=True)
class Regress:
    """Learn which numbers answer others, from rows of a table or sets with their answers.

    Args:
        settings: all options of the run.
        known: what columns are called, and their scales.
        numbers: the rows.
    """

    settings: Any
    known: Columns
    numbers: Lazy[Numbers]

    name: ClassVar[str] = "regress"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "lines"
    suffixes: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "rows"
    models: ClassVar[dict[str, str]] = {
        "nadaraya-watson": "saccade.models.nadaraya_watson:NadarayaWatson",
        "learned-kernel": "saccade.models.learned_kernel:LearnedKernel",
        "set-transformer": "saccade.models.set_transformer:SetTransformer",
        "mlp": "saccade.models.mlp:MLP",
        "mean": "saccade.models.mean:Mean",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all numbers that are one's own."""
        return Suited(recipe(cls, model, given["data"]), data=objects)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the rows, and learn their scales."""
        data = _opened(options, objects)
        if data.note:
            say(data.note)
        return cls(options, Columns.learn(data), Lazy(lambda: data))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read columns and scales back."""
        return cls(options, Columns.restore(folder), Lazy(lambda: _opened(options, objects)))

    def save(self, folder: Path) -> None:
        """Write columns.json."""
        self.known.save(folder)

    @property
    def data(self) -> Numbers:
        """The rows, opened when they are first asked for."""
        return self.numbers.get()

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        settings, size = self.settings, self.data.size("train")
        places = {} if size is None else {index: place for place, index in enumerate(kept_places(size))}

        def encode(indices: Sequence[int]) -> list[Encoded]:
            rows = ((self.data.example("train", index), places.get(index, -1)) for index in indices)
            return [Encoded(row.numbers, row.answers, place) for row, place in rows]

        return Sampler(encode, size, settings.batch_size, settings.seed, count=len)

    def build(self) -> nn.Module:
        """Make the model, with what it knows before training."""
        kind = model_class(type(self), self.settings.model)
        kind.check(self.known.sizes, self.settings.model)
        model: Regressor = kind(self.known.sizes, shared.select(self.settings, kind.Options))
        model.begin(self.known.known)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return stacked(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the error of standardized answers, no point being answered by itself."""
        regressor: Any = model
        total = regressor.loss(batch.points, batch.answers, batch.places, self.settings.loss)
        return Loss(total, len(batch.answers))

    def example(self, split: str, index: int) -> Example:
        """Return numbers and their answers."""
        row = self.data.example(split, index)
        return Example(Asked(row.numbers), exact(row.numbers), exact(row.answers))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Answer a split, or `limit` rows spread over it, and measure it, as a whole and by group."""
        coverage = completed(EvalRequest, request).coverage
        rows = [self.data.example(split, index) for index in take(self.data, split, limit)]
        began = time.perf_counter()
        found = _predicted(model, rows)
        seconds = time.perf_counter() - began
        low, high = interval(found.mean, found.deviation, coverage)
        wanted = torch.tensor([row.answers for row in rows], dtype=torch.float64)
        within = (low <= wanted) & (wanted <= high)
        result = measured(found.mean, wanted, self._usual, [row.group for row in rows], within, coverage)
        return Evaluation(*result, len(rows), len(rows), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the mean of training, and the best linear function."""
        rows = [self.data.example(split, index) for index in range(self.data.size(split) or 0)]
        train = training_sample(self.data, _ENDLESS, _LEARNED)
        return plain_ways(train, rows, self._usual, sets=self.known.sizes.sets)

    def lines(self, inputs: Any) -> Iterator[str]:
        """Give texts, rows of numbers or columns as lines."""
        return lines_of(inputs, self.known.features)

    def read(self, line: str, number: int) -> Asked:
        """Read the numbers of a line."""
        return Asked(read_numbers(line, number, self.known.features))

    def check(self, model: nn.Module, request: Any) -> None:
        """Nothing that can be asked means nothing to a model."""

    def answer(
        self, model: nn.Module, inputs: Sequence[Asked | Unreadable], request: Any, form: Form = "lines"
    ) -> list[Regression]:
        """Answer numbers; what could not be read has a blank answer."""
        coverage = completed(EvalRequest, request).coverage
        return answers(model, inputs, self.known, coverage, form)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble."""
        check_alike(self, others, _shared_parts)
        return self, Ensemble([model, *(each.model for each in others)])

    @property
    def _usual(self) -> Tensor:
        return torch.tensor(self.known.answers_std, dtype=torch.float64)


def _predicted(model: nn.Module, rows: Sequence[Row]) -> Predicted:
    """Answers to rows, and how far they may be off, on the CPU."""
    device, found = next(model.parameters()).device, list[Predicted]()
    for first in range(0, len(rows), _AT_ONCE):
        part: Predicted = model(padded([row.numbers for row in rows[first : first + _AT_ONCE]]).to(device))
        found.append(part)
    mean, deviation = (torch.cat(parts).cpu() for parts in zip(*found, strict=True))
    return Predicted(mean, deviation)


def _opened(options: Any, objects: Any) -> Numbers:
    wanted = Wanted(options.target, options.features, options.sets)
    return open_numbers(options.data, objects, SplitNames.of_options(options), wanted)


def _shared_parts(task: Regress) -> dict[str, tuple[object, str]]:
    known = task.known
    described = ((names, f"{', '.join(names) or 'sets':.80}") for names in (known.features, known.targets))
    return dict(zip(("the features", "the targets"), described, strict=True))
