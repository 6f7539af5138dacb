"""Answers with prediction intervals, and their pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade import look
from saccade._system.notes import say
from saccade.look import Curve, Dots, Fit, Prediction
from saccade.look._files import file_name
from saccade.models.padded import Padded
from saccade.tasks.answered import Answered
from saccade.tasks.looking import By, check_moves
from saccade.tasks.regress.codec import Columns, pad
from saccade.tasks.regress.explained import subject
from saccade.tasks.regress.inputs import Question
from saccade.tasks.regress.metrics import interval
from saccade.train.task import Form, Unreadable

__all__ = ["Regression", "answer", "names_of", "point_of", "spelled"]

_DIGITS = 6  # significant digits of an answer, as many as float32 has
_X = 201  # inputs of a curve
_MARGIN = 0.04  # of the width of known points, beyond both ends of a curve
_BARS, _NAMED = 12, 3  # bars of a picture, and numbers in the name of a known point
_WHOLE = 1e15  # whole numbers below it are written with all digits
_BANDWIDTH = "What each bandwidth errs by, each known point answered by all others"


@dataclass(frozen=True, repr=False)
class Regression(Answered):
    """Answer to a question.

    Args:
        asked: the question, or a line that could not be read.
        mean, lower, upper: of each target, () if the question could not be read.
        weights: of attention, `(heads, known points or elements)`. None for a model without attention.
        pictures: None if nothing is drawn.
    """

    asked: Question | Unreadable
    mean: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    weights: Tensor | None = None
    pictures: "_Pictures | None" = None

    def lines(self) -> list[str]:
        """Return mean, lower and upper end, separated by tabs.

        The line is blank if there is no answer.
        """
        return ["\t".join(map(spelled, (self.mean, self.lower, self.upper))) if self.mean else ""]

    def to_json(self) -> dict[str, Any]:
        """Return the question, the answer, its interval and the weights."""
        weights = None if self.weights is None else [[round(w, 6) for w in row] for row in self.weights.tolist()]
        return {
            "numbers": [] if isinstance(self.asked, Unreadable) else list(self.asked.numbers),
            **({"cells": self.asked.shown} if isinstance(self.asked, Question) and self.asked.cells else {}),
            "answer": list(self.mean),
            "lower": list(self.lower),
            "upper": list(self.upper),
            "weights": weights,
        }

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw a picture of each target, and one of bandwidths if the model compared some."""
        if self.pictures is not None and isinstance(self.asked, Question):
            yield from self.pictures.draw(self, self.asked, folder, json=json)


def spelled(numbers: Sequence[float]) -> str:
    """Return numbers separated by commas.

    >>> spelled([0.5, 1 / 3])
    '0.5,0.333333'
    """
    return ",".join(f"{number:.{_DIGITS}g}" for number in numbers)


def answer(
    model: Any,
    question: Question | Unreadable,
    columns: Columns,
    coverage: float,
    form: Form,
    by: By | None = None,
) -> Regression:
    """Answer one question. A batch of several would round each answer differently.

    Args:
        model: in evaluation mode.
        question: the question.
        columns: codec of the run.
        coverage: probability of the interval.
        form: of the answer.
        by: method of the picture, or None for the default.
    """
    if isinstance(question, Unreadable):
        return Regression(question)
    points = pad([question.numbers]).to(next(model.parameters()).device)
    mean, deviation = model(points)
    if not bool(mean.isfinite().all() and deviation.isfinite().all()):
        say(f"no answer to {spelled(question.numbers):.60}: numbers this far from those of training overflow")
        return Regression(Unreadable(spelled(question.numbers)))
    weights = model.weights(points) if form != "lines" else None
    pictures = _Pictures(model, columns, coverage, by) if form == "pictures" else None
    center, low, high = (tuple(part[0].tolist()) for part in (mean, *interval(mean, deviation, coverage)))
    return Regression(question, center, low, high, None if weights is None else weights[0].cpu(), pictures)


@dataclass(frozen=True, eq=False)
class _Pictures:
    """Pictures of answers: curves of one feature, bars of several or of sets."""

    model: Any
    columns: Columns
    coverage: float
    by: By | None = None

    def draw(self, made: Regression, question: Question, folder: Path, *, json: bool) -> Iterator[Path]:
        several, numbers = len(self.columns.targets) > 1, question.numbers
        name = file_name(" ".join(question.shown or (_formatted(number, 4) for number in numbers)))
        for target, called in enumerate(self.columns.targets):
            path = folder / (f"{name}-{file_name(called)}" if several else name)
            prediction = f"{called}: {made.mean[target]:.4g}, with {self.coverage:.0%}"
            title = f"{prediction} from {made.lower[target]:.4g} to {made.upper[target]:.4g}"
            kind = self._curve if len(self.columns.features) == 1 else self._bars
            kind = kind if self.by in (None, "attention") else self._scored
            yield from kind(made, numbers, target, path, title, json)
        if hasattr(self.model, "tried"):
            tried, errors, best, label = self.model.tried(self.columns.features)
            yield from look.curves(
                [Curve("error", tried.tolist(), errors.tolist())],
                folder / "bandwidth",
                labels=(label, "mean squared error, each point by all others"),
                title=f"{_BANDWIDTH}: {best:.4g} is taken",
                bounds=(0.0, None),
                log="x",
                mark=(best, f"taken: {best:.4g}"),
                json=json,
            )

    def _curve(
        self, made: Regression, numbers: Sequence[float], target: int, path: Path, title: str, json: bool
    ) -> list[Path]:
        points = torch.tensor(self.columns.points, dtype=torch.float64)[:, 0]
        answers = torch.tensor(self.columns.answers, dtype=torch.float64)[:, target]
        low, high = min(float(points.min()), numbers[0]), max(float(points.max()), numbers[0])
        margin = _MARGIN * (high - low)
        x = torch.linspace(low - margin, high + margin, _X, dtype=torch.float64)
        grid = Padded(x[:, None], torch.ones(_X, dtype=torch.int64))
        mean, deviation, slope = _with_slopes(self.model, grid, target)
        weights = self._of_points(made)
        return look.fit(
            Fit(x, mean, *interval(mean, deviation, self.coverage), torch.stack([points, answers], 1)),
            Prediction(numbers[0], made.mean[target], made.lower[target], made.upper[target]),
            path,
            labels=(self.columns.features[0], self.columns.targets[target]),
            title=title,
            weights=weights,
            slope=slope[:, 0] if weights is None else None,
            json=json,
        )

    def _bars(
        self, made: Regression, numbers: Sequence[float], target: int, path: Path, title: str, json: bool
    ) -> list[Path]:
        """Draw bars of the known points or elements with the largest weights.

        Without attention, draw bars of the gradient.
        """
        weights, label = self._of_points(made), "weight"
        if weights is not None:
            order = weights.argsort(descending=True)[:_BARS]
            names = [self._point(index, target) for index in order.tolist()]
            which = f"the {len(order)} of {len(weights)}" if len(order) < len(weights) else "the"
            note = f"{which} known points that weigh most, {float(weights[order].sum()):.0%} in all"
            if (start := getattr(self.model, "start", None)) is not None:
                note = f"{note}; their errors correct the start, {self._start(start, numbers, target):.4g}"
            return look.dots(
                names, [Dots(label, weights[order].tolist())], path, label=label, title=title, note=note, bars=True,
                json=json,
            )  # fmt: skip
        names = names_of(numbers, self.columns)
        encoding, start = self.columns.encoding, getattr(self.model, "start", None)
        if encoding is not None:
            cells = zip(encoding.names, encoding.decode(numbers), strict=True)
            names = [f"{name}: {cell}" for name, cell in cells]
        if made.weights is not None:
            of = "the answer"
            if start is not None:
                correction = made.mean[target] - self._start(start, numbers, target)
                of = f"the correction of the start, {correction:.4g},"
            values, note = made.weights.mean(0), f"what {of} took of each, the mean of all heads"
            if encoding is not None:
                values = torch.stack([values[list(part)].sum() for part in encoding.parts])
        elif encoding is not None or start is not None:
            values, label = self._effects(numbers, target), "effect"
            note = "how the answer differs from that with the mean of each column"
        else:
            *_, slope = _with_slopes(self.model, pad([numbers]), target)
            values = slope[0] * torch.tensor(self.columns.std, dtype=torch.float64)
            label, note = "gradient", "how the answer changes with each, by a deviation of it"
        order = values.abs().argsort(descending=True)[:_BARS].sort().values
        if len(order) < len(names):
            note = f"{note}; {len(order)} of {len(names)} are shown, the largest"
        labels, series = [names[index] for index in order.tolist()], [Dots(label, values[order].tolist())]
        return look.dots(labels, series, path, label=label, title=title, note=note, bars=True, json=json)

    def _scored(
        self, made: Regression, numbers: Sequence[float], target: int, path: Path, title: str, json: bool
    ) -> list[Path]:
        """Draw bars of the scores of a method."""
        assert self.by is not None
        names = names_of(numbers, self.columns)
        scores = subject(self.model, numbers, self.columns, names).scores(self.by)
        check_moves(scores.values)
        values = scores.values[target]
        order = values.abs().argsort(descending=True)[:_BARS].sort().values
        note = f"{scores.method} by each; {len(order)} of {len(names)} are shown, the largest"
        labels, series = [names[index] for index in order.tolist()], [Dots(self.by, values[order].tolist())]
        return look.dots(labels, series, path, label=self.by, title=title, note=note, bars=True, json=json)

    def _start(self, start: Any, numbers: Sequence[float], target: int) -> float:
        return float(start(pad([numbers]).values.to(next(self.model.parameters()).device))[0, target])

    def _effects(self, numbers: Sequence[float], target: int) -> Tensor:
        """Change of the answer if a column has its mean in training, `(columns,)`."""
        encoding = self.columns.encoding
        parts = encoding.parts if encoding is not None else [range(n, n + 1) for n in range(len(numbers))]
        rows = [
            [self.columns.mean[n] if n in part else number for n, number in enumerate(numbers)]
            for part in (range(0), *parts)
        ]
        points = pad(rows)
        device = next(self.model.parameters()).device
        mean: Tensor = self.model(Padded(points.values.to(device), points.lengths.to(device))).mean[:, target]
        return (mean[:1] - mean[1:]).cpu()

    def _of_points(self, made: Regression) -> Tensor | None:
        """Mean weight of each known point over heads.

        It is None if the model attends to no known points.
        """
        keeps = self.columns.features and getattr(self.model, "keeps", False)
        return made.weights.mean(0) if keeps and made.weights is not None else None

    def _point(self, index: int, target: int) -> str:
        return point_of(self.columns, index, target)


def names_of(numbers: Sequence[float], columns: Columns) -> list[str]:
    """Return the names of the columns, or the numbers of a set as texts."""
    return list(columns.features) or [_formatted(number, 6) for number in numbers]


def point_of(columns: Columns, index: int, target: int) -> str:
    """Return a known point as text, with its answer."""
    point, encoding = columns.points[index], columns.encoding
    texts = [_formatted(number, 3) for number in point] if encoding is None else encoding.decode(point)
    numbers, more = ", ".join(texts[:_NAMED]), ", …" if len(texts) > _NAMED else ""
    return f"{columns.answers[index][target]:.4g}  at  {numbers}{more}"


def _formatted(number: float, digits: int) -> str:
    """Return a number with some digits, and an integer with all of them.

    A date is an example of such an integer.

    >>> _formatted(20200510.0, 3), _formatted(0.12345, 3)
    ('20200510', '0.123')
    """
    return f"{number:.0f}" if number.is_integer() and abs(number) < _WHOLE else f"{number:.{digits}g}"


def _with_slopes(model: Any, points: Padded, target: int) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and deviation of a target, and the gradient of the mean.

    Mean and deviation are `(rows,)`, the gradient is `(rows, numbers)`.
    """
    device = next(model.parameters()).device
    with torch.inference_mode(mode=False), torch.enable_grad():  # answers are computed without gradients
        values = points.values.clone().to(device).requires_grad_()
        predicted = model(Padded(values, points.lengths.clone().to(device)))
        [slope] = torch.autograd.grad(predicted.mean[:, target].sum(), values, materialize_grads=True)
    return predicted.mean[:, target].detach().cpu(), predicted.deviation[:, target].detach().cpu(), slope.detach().cpu()
