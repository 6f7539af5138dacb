"""What a run knows of its numbers beside weights: what they are called, their scale, and some of them to be drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade._system.files import write_json
from saccade._system.notes import say
from saccade.data.dataset import spread, training_sample
from saccade.errors import ArgumentError
from saccade.models.regressor import Known, Sizes
from saccade.tasks.regress.data.dataset import Example, Numbers
from saccade.tasks.saved import reading

__all__ = ["POINTS", "Columns", "kept_places"]

POINTS = 1000
"""Training points that a model may keep, and that a curve is drawn with, at most."""

_FILE = "columns.json"
_ENDLESS, _LEARNED = (
    2_000,
    50_000,
)  # training examples that scales are learned from: of those without end, and of others
_MOST = 100_000  # columns, beyond any table's


@dataclass(frozen=True)
class Columns:
    """What a run knows of its numbers.

    Args:
        features: what the numbers of a row are called; none of sets.
        targets: what the answers are called.
        mean, std: of each feature, or of all elements of sets.
        answers_mean, answers_std: of each answer.
        points: training points, spread over all; those of sets are left out.
        answers: theirs.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    answers_mean: tuple[float, ...]
    answers_std: tuple[float, ...]
    points: tuple[tuple[float, ...], ...] = ()
    answers: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def learn(cls, data: Numbers) -> "Columns":
        """Look at training examples; a column that is always the same is said.

        Raises:
            ArgumentError: if the answers, or all features, are always the same.
        """
        found = training_sample(data, _ENDLESS, _LEARNED)
        features, targets = data.features, data.targets
        if features:
            asked = torch.tensor([one.numbers for one in found], dtype=torch.float64)
        else:
            asked = torch.tensor([number for one in found for number in one.numbers], dtype=torch.float64)[:, None]
        answered = torch.tensor([one.answers for one in found], dtype=torch.float64)
        size = data.size("train")
        rows = "every row to train on" if size == len(found) else f"all {len(found):,} rows to train on that were seen"
        _check_constant(asked, features or ("elements",), "features", rows)
        _check_constant(answered, targets, "target", rows)
        kept = _kept(data, found) if features else []
        points, answers = tuple(one.numbers for one in kept), tuple(one.answers for one in kept)
        scales = (*_scales(asked), *_scales(answered))
        return cls(tuple(features), tuple(targets), *scales, points=points, answers=answers)

    @property
    def sizes(self) -> Sizes:
        """What a model is made for."""
        return Sizes(len(self.features), len(self.targets), len(self.points))

    @property
    def known(self) -> Known:
        """What a model begins with."""
        wide, high = max(1, len(self.features)), len(self.targets)
        return Known(
            mean=_tensor(self.mean),
            std=_tensor(self.std),
            answers_mean=_tensor(self.answers_mean),
            answers_std=_tensor(self.answers_std),
            points=_tensor(self.points).reshape(-1, wide),
            answers=_tensor(self.answers).reshape(-1, high),
        )

    def save(self, folder: Path) -> None:
        """Write columns.json."""
        write_json(folder / _FILE, asdict(self))

    @classmethod
    def restore(cls, folder: Path) -> "Columns":
        """Read columns.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / _FILE, "the columns") as content:
            features, targets = _names(content, "features"), _names(content, "targets")
            if not targets:
                raise ValueError("no targets")
            wide, high = max(1, len(features)), len(targets)
            mean, std = (_numbers(content[name], wide) for name in ("mean", "std"))
            centre, scale = (_numbers(content[name], high) for name in ("answers_mean", "answers_std"))
            points, answers = _rows(content["points"], wide), _rows(content["answers"], high)
            if len(points) != len(answers):
                raise ValueError(f"{len(points)} points and {len(answers)} answers")
            return cls(features, targets, mean, std, centre, scale, points, answers)


def kept_places(size: int) -> range:
    """Return which training rows are kept, of so many.

    >>> len(kept_places(POINTS)), len(kept_places(10**6)) <= POINTS
    (1000, True)
    """
    return spread(size, POINTS)


def _kept(data: Numbers, found: Sequence[Example]) -> list[Example]:
    size = data.size("train")
    if size is None:
        return list(found[:POINTS])
    return [data.example("train", index) for index in kept_places(size)]


def _scales(columns: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the deviation of each column."""
    return tuple(columns.mean(0).tolist()), tuple(columns.std(0, correction=0).tolist())


def _tensor(numbers: Any) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _check_constant(columns: Tensor, names: Sequence[str], option: str, rows: str) -> None:
    """Refuse answers, or features all of which, are always the same in some rows; a single feature is said."""
    same = [name for name, one in zip(names, (columns == columns[0]).all(0).tolist(), strict=True) if one]
    if same and (option == "target" or len(same) == len(names)):
        got = f"got {columns[0, names.index(same[0])]:g} in {rows}"
        raise ArgumentError(f"data: column {same[0]} ({option}): expected numbers that differ, {got}")
    if same:
        say(f"{', '.join(same):.100}: the same number in {rows}, which tells nothing")


def _names(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = content[name]
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found) or len(found) > _MOST:
        raise ValueError(f"{name} {found!r:.60}")
    return tuple(found)


def _numbers(found: Any, count: int) -> tuple[float, ...]:
    if not isinstance(found, list) or len(found) != count or not all(type(one) in (int, float) for one in found):
        raise ValueError(f"{count} numbers expected, {found!r:.60}")
    if not all(map(math.isfinite, found)):
        raise ValueError(f"finite numbers expected, {found!r:.60}")
    return tuple(map(float, found))


def _rows(found: Any, count: int) -> tuple[tuple[float, ...], ...]:
    if not isinstance(found, list) or len(found) > POINTS:
        raise ValueError(f"rows expected, {found!r:.60}")
    return tuple(_numbers(row, count) for row in found)
