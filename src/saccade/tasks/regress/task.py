"""Regression, as a task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.data.dataset import training_sample
from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames, SplitOptions
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.regressor import Predicted
from saccade.tasks.ensembles import check_drawn
from saccade.tasks.explaining import Subject
from saccade.tasks.looking import By, check_by
from saccade.tasks.predictor import Predictor
from saccade.tasks.regress.answer import Regression, answer, names_of, point_of
from saccade.tasks.regress.codec import ENDLESS, LEARNED, Batch, Columns, check_start, pad, sampler
from saccade.tasks.regress.data import BUILTIN, open_numbers
from saccade.tasks.regress.data.rows import Choice, Example, Numbers
from saccade.tasks.regress.data.written import DECIMALS
from saccade.tasks.regress.explained import methods_of, subject
from saccade.tasks.regress.inputs import Question, lines_of
from saccade.tasks.regress.metrics import (
    HEADLINE,
    Ensemble,
    Plain,
    baselines,
    fit_baselines,
    interval,
    measured,
)
from saccade.tasks.request import completed
from saccade.tasks.task import Task
from saccade.train.task import Baseline, Evaluation, Form, Loss, Suited, Unreadable

__all__ = ["REGRESS", "LookRequest", "Options", "Regresses", "Request"]


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """Options of all runs that predict numbers.

    >>> Options(target="price").batch_size
    64
    """

    target: str | None = None
    """Columns to predict, separated by commas. Default: the last one."""

    features: str | None = None
    """Input columns, separated by commas. --features=-id,-name leaves two out.
    Default: all other columns."""

    sets: bool = False
    """The input cells of a row are one set of numbers.
    Blank cells count as none, and a cell may hold several."""

    decimal: Literal[".", ","] | None = field(default=None, metadata={"before": None})
    """Mark of decimals in the numbers of a table.
    Default: by the cells of each column."""

    batch_size: int = 64
    """Rows per batch."""

    loss: Literal["squared", "absolute"] = "squared"
    """Training loss of the standardized targets: mean squared or mean absolute error."""

    start: Literal["none", "linear", "stacked"] = field(default="none", metadata={"before": "none"})
    """Method before the model: none, linear (ridge regression) or
    stacked (ridge regression and gradient boosting, weighed by cross-validation).
    The model learns its errors. Sets have none."""

    def __post_init__(self) -> None:
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000),))
        if self.loss not in ("squared", "absolute"):
            raise ArgumentError(f"--loss: expected squared or absolute, got {self.loss}")
        if self.decimal not in (None, *DECIMALS):
            raise ArgumentError(f"--decimal: expected . or , got {self.decimal}")
        for name, value in (("target", self.target), ("features", self.features)):
            if value is not None and not all(part.strip() for part in value.split(",")):
                raise ArgumentError(f"--{name}: expected names of columns with commas between, got {value!r:.60}")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Options of predictions, evaluations and pictures.

    A line of a prediction has the answer, and the lower and the upper end of its interval behind tabs.

    >>> Request(coverage=0.5).coverage
    0.5
    """

    coverage: float = 0.9
    """Probability that a prediction interval covers the target, between 0 and 1."""

    def __post_init__(self) -> None:
        if not 0 < self.coverage < 1:
            raise ArgumentError(f"--coverage: expected a share above 0 and below 1, got {self.coverage}")


@dataclass(frozen=True, kw_only=True)
class LookRequest(Request):
    """Options of pictures.

    >>> LookRequest(by="integrated-gradients").coverage
    0.9
    """

    by: By | None = None
    """Method of the picture: attention to known points or elements, its rollout
    or flow, gradients, or integrated gradients from the means of the columns.
    Default: attention, or gradients of a model without it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_by(self.by, get_args(By))


@dataclass(frozen=True)
class Regresses(Predictor):
    """Predictor of numbers with intervals."""

    codec: Columns

    ensemble = Ensemble

    def loss(self, model: Any, batch: Batch) -> Loss:
        """Return the error of standardized answers.

        Each known point is predicted by all others.
        """
        total = model.loss(batch.points, batch.answers, batch.places, self.codec.options.loss, batch.started)
        return Loss(total, len(batch.answers))

    def encode(self, inputs: Sequence[Question]) -> tuple[Padded]:
        """Return the numbers of questions."""
        return (pad([question.numbers for question in inputs]),)

    def predictions(self, model: nn.Module, batch: Batch) -> list[Predicted]:
        """Return means and standard deviations."""
        return [Predicted(*row) for row in zip(*(part.cpu() for part in model(batch.points)), strict=True)]

    def measure(
        self, model: nn.Module, predictions: Sequence[Predicted], examples: Sequence[Example], request: Any
    ) -> Evaluation:
        """Return errors and the coverage of intervals, as a whole and by group."""
        coverage = completed(Request, request).coverage
        mean, deviation = map(torch.stack, zip(*predictions, strict=True))
        low, high = interval(mean, deviation, coverage)
        answers = torch.tensor([example.answers for example in examples], dtype=torch.float64)
        inside, groups = (low <= answers) & (answers <= high), [example.group for example in examples]
        return Evaluation(*measured(mean, answers, self._std, groups, inside, coverage), len(examples), len(examples))

    def baselines(self, data: Numbers, split: str) -> dict[str, Baseline]:
        """Measure the mean of training, ridge regression, and gradient boosting of tables."""
        rows = [data.example(split, index) for index in range(data.size(split) or 0)]
        return baselines(self._plain(data), rows, self._std)

    @cached_property
    def _plain(self) -> Any:
        return cache(self._fit_plain)  # learned once for all splits

    def _fit_plain(self, data: Numbers) -> list[Plain]:
        learned = training_sample(data, ENDLESS, LEARNED)
        return fit_baselines(learned, sets=self.codec.sizes.sets, start=self.codec.options.start)

    def answer(
        self, model: nn.Module, inputs: Sequence[Question | Unreadable], request: Any, form: Form = "lines"
    ) -> list[Regression]:
        """Answer questions."""
        by = request.by if isinstance(request, LookRequest) else None
        coverage = request.coverage if isinstance(request, LookRequest) else completed(Request, request).coverage
        return [answer(model, question, self.codec, coverage, form, by) for question in inputs]

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject methods that the model does not have."""
        if isinstance(request, LookRequest):
            methods = methods_of(model, self.codec)
            check_drawn(model, request.by, methods)
            check_by(request.by, methods)

    def subjects(self, model: Any, inputs: Sequence[Question], request: Any) -> list[Subject]:
        """Return rows and sets with their predictions."""
        return [self._subject(model, question, request) for question in inputs]

    def _subject(self, model: Any, question: Question, request: Any) -> Subject:
        names, weights = names_of(question.numbers, self.codec), None
        if request.by == "attention":
            weights = answer(model, question, self.codec, request.coverage, "json").weights
            if getattr(model, "keeps", False):
                names = [point_of(self.codec, index, 0) for index in range(len(self.codec.points))]
        return subject(model, question.numbers, self.codec, names, weights)

    @property
    def _std(self) -> Tensor:
        return torch.tensor(self.codec.answers_std, dtype=torch.float64)


def _open(options: Any, objects: Any) -> Numbers:
    choice = Choice(options.target, options.features, options.sets, options.decimal)
    return open_numbers(options.data, objects, SplitNames.of_options(options), choice)


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Return the recipe for data of the user, or reject a start that they cannot have."""
    usual = task.recipe(model, explicit["data"])
    if (start := explicit.get("start", "none")) == "none":
        return Suited(usual, data=objects)
    rows = task.rows(model, explicit, objects)
    check_start(start, rows.get(), "data" if explicit["data"] == OBJECTS else explicit["data"])
    return Suited(usual, data=rows)


REGRESS = Task(
    name="regress",
    summary="Regression: numbers or sets of numbers in, predictions with intervals out.",
    unit="rows",
    headline=HEADLINE,
    models={
        "nadaraya-watson": "saccade.models.nadaraya_watson:NadarayaWatson",
        "learned-kernel": "saccade.models.learned_kernel:LearnedKernel",
        "set-transformer": "saccade.models.set_transformer:SetTransformer",
        "mlp": "saccade.models.mlp:MLP",
        "mean": "saccade.models.mean:Mean",
    },
    builtin=BUILTIN,
    open=_open,
    codec=Columns,
    predictor=Regresses,
    Options=Options,
    recipes={
        "sine": {},
        "heteroscedastic": {},
        "maximum": {"loss": "absolute", "batch_size": 128},
        "files": {"start": "stacked"},
    },
    requests={"predict": Request, "eval": Request, "look": LookRequest},
    suit=_suited,
    sampler=sampler,
    lines=lambda codec, inputs: lines_of(inputs, codec.features, codec.encoding),
    signature=Columns.signature,
)
"""The task, see docs/regress.md. Models have recipes of their own."""
