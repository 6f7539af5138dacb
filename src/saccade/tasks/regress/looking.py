"""What is drawn of numbers: a curve among known points, what weighed on the answer, and what bandwidths err by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade import look
from saccade.look import Curve, Dots, Fit, Prediction
from saccade.look._files import file_name
from saccade.models.padded import Padded
from saccade.tasks.regress.batches import padded
from saccade.tasks.regress.columns import Columns
from saccade.tasks.regress.interval import interval

__all__ = ["Pictures"]

_PLACES = 201  # of a curve
_AROUND = 0.04  # of the width of known points, that a curve goes on beyond them
_MOST = 12  # bars
_NAMED = 3  # numbers of a known point that name it
_WHOLE = 1e15  # a whole number below it is written in all of its digits


@dataclass(frozen=True, eq=False)
class Pictures:
    """What is drawn of one answer.

    Args:
        model: what answered, in evaluation mode.
        known: of the run.
        numbers: what was asked.
        mean, lower, upper: the answer.
        weights: what was attended to, by heads, `(heads, known points or elements)`; None of a model without attention.
        coverage: of intervals.
    """

    model: Any
    known: Columns
    numbers: tuple[float, ...]
    mean: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    weights: Tensor | None
    coverage: float

    def draw(self, folder: Path, *, json: bool) -> Iterator[Path]:
        """Draw a picture for each answer, and one of bandwidths where there are some."""
        for place, target in enumerate(self.known.targets):
            name = file_name(" ".join(_shown(number, 4) for number in self.numbers)) + (
                f"-{file_name(target)}" if len(self.known.targets) > 1 else ""
            )
            if len(self.known.features) == 1:
                yield from self._curve(folder / name, place, json=json)
            else:
                yield from self._bars(folder / name, place, json=json)
        if hasattr(self.model, "tried"):
            tried, errors, taken, label = self.model.tried(self.known.features)
            yield from look.curves(
                [Curve("error", tried.tolist(), errors.tolist())],
                folder / "bandwidth",
                labels=(label, "mean squared error, each point by all others"),
                title=f"{_BANDWIDTH}: {taken:.4g} is taken",
                bounds=(0.0, None),
                log="x",
                mark=(taken, f"taken: {taken:.4g}"),
                json=json,
            )

    def _title(self, place: int) -> str:
        low, high = self.lower[place], self.upper[place]
        said = f"{self.known.targets[place]}: {self.mean[place]:.4g}"
        return f"{said}, with {self.coverage:.0%} from {low:.4g} to {high:.4g}"

    def _curve(self, path: Path, place: int, *, json: bool) -> list[Path]:
        points = torch.tensor(self.known.points, dtype=torch.float64)
        answers = torch.tensor(self.known.answers, dtype=torch.float64)[:, place]
        low, high = min(float(points.min()), self.numbers[0]), max(float(points.max()), self.numbers[0])
        edge = _AROUND * (high - low)
        x = torch.linspace(low - edge, high + edge, _PLACES, dtype=torch.float64)
        asked = Padded(x[:, None], torch.ones(_PLACES, dtype=torch.int64))
        found, slope = _with_slopes(self.model, asked, place)
        lower, upper = interval(*found, self.coverage)
        drawn = Fit(x, found[0], lower, upper, torch.stack([points[:, 0], answers], 1))
        weights = self._of_points()
        return look.fit(
            drawn,
            Prediction(self.numbers[0], self.mean[place], self.lower[place], self.upper[place]),
            path,
            labels=(self.known.features[0], self.known.targets[place]),
            title=self._title(place),
            weights=weights,
            slope=slope[:, 0] if weights is None else None,
            json=json,
        )

    def _bars(self, path: Path, place: int, *, json: bool) -> list[Path]:
        """The known points that weighed most, the elements of a set, or the gradient of the answer."""
        weights = self._of_points()
        if weights is not None:
            order = weights.argsort(descending=True)[:_MOST]
            names = [self._point(index, place) for index in order.tolist()]
            which = f"the {len(order)} of {len(weights)}" if len(order) < len(weights) else "the"
            note = f"{which} known points that weigh most, {float(weights[order].sum()):.0%} in all"
            title = self._title(place)
            series = [Dots("weight", weights[order].tolist())]
            return look.dots(names, series, path, label="weight", title=title, note=note, bars=True, json=json)
        named = self.known.features or tuple(_shown(number, 6) for number in self.numbers)
        if self.weights is not None:
            told = "weight", "what the answer took of each, the mean of all heads"
            return _largest(named, self.weights.mean(0), path, self._title(place), told, json=json)
        _, slope = _with_slopes(self.model, padded([self.numbers]), place)
        scale = torch.tensor(self.known.std, dtype=torch.float64)
        told = "gradient", "how the answer changes with each, by a deviation of it"
        return _largest(named, slope[0] * scale, path, self._title(place), told, json=json)

    def _of_points(self) -> Tensor | None:
        """The weight of each known point, the mean of all heads; None where no points are attended to."""
        if self.weights is None or not self.known.features or not getattr(self.model, "keeps", False):
            return None
        return self.weights.mean(0)

    def _point(self, index: int, place: int) -> str:
        """A known point as a bar names it: its answer, and its first numbers."""
        numbers = ", ".join(_shown(number, 3) for number in self.known.points[index][:_NAMED])
        more = ", …" if len(self.known.features) > _NAMED else ""
        return f"{self.known.answers[index][place]:.4g}  at  {numbers}{more}"


def _shown(number: float, digits: int) -> str:
    """A number in so many digits, and a whole one in all of its own: a date or a name that is a number.

    >>> _shown(20200510.0, 3), _shown(0.12345, 3)
    ('20200510', '0.123')
    """
    return f"{number:.0f}" if number.is_integer() and abs(number) < _WHOLE else f"{number:.{digits}g}"


_BANDWIDTH = "What each bandwidth errs by, each known point answered by all others"


def _largest(
    names: Sequence[str], values: Tensor, path: Path, title: str, told: tuple[str, str], *, json: bool
) -> list[Path]:
    """The largest bars, in the order of what they stand for."""
    order = values.abs().argsort(descending=True)[:_MOST].sort().values
    shown, (label, note) = [names[place] for place in order.tolist()], told
    if len(order) < len(names):
        note = f"{note}; {len(order)} of {len(names)} are shown, the largest"
    series = [Dots(label, values[order].tolist())]
    return look.dots(shown, series, path, label=label, title=title, note=note, bars=True, json=json)


def _with_slopes(model: Any, points: Padded, place: int) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """One of the answers with its deviation, `(rows,)`, and how it changes with each number, `(rows, numbers)`."""
    device = next(model.parameters()).device
    with torch.inference_mode(mode=False), torch.enable_grad():  # whoever answers asks for no gradients
        values = points.values.clone().to(device).requires_grad_()
        found = model(Padded(values, points.lengths.clone().to(device)))
        [slope] = torch.autograd.grad(found.mean[:, place].sum(), values, materialize_grads=True)
    return (found.mean[:, place].detach().cpu(), found.deviation[:, place].detach().cpu()), slope.detach().cpu()
