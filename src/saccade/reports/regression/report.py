"""The report `regression`: how the error of kernel regression falls with the number of known points."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import torch

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.commands import command
from saccade.reports.folder import Folder
from saccade.reports.making import Design, Step, finish
from saccade.reports.options import Shared, arguments
from saccade.reports.regression.estimates import BEST, KERNEL, LEARNED, MEAN, drawn, estimate
from saccade.reports.regression.findings import summary
from saccade.reports.regression.page import write_page
from saccade.train.environment import hardware, versions
from saccade.train.options import flag, not_positive

__all__ = ["Options", "Regression"]


@dataclass(frozen=True)
class Sizes:
    """What is measured.

    Args:
        counts: of known points, in order.
        seeds: how often points are drawn.
        learned: of these how often a kernel is learned, at counts up to `_MOST`.
        steps: of a learned kernel's training.
    """

    counts: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)
    seeds: int = 40
    learned: int = 5
    steps: int = 1000


_QUICK = Sizes((64, 128, 256, 512, 1024, 2048), seeds=20, learned=2, steps=500)
_NAMES = tuple(field.name for field in fields(Sizes))
_FEWEST, _LARGEST = 8, 20_000  # points
_MOST = 512  # points of a learned kernel, which trains on all pairs at each step


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """What can be said about the report.

    >>> Options(seeds=3).seeds
    3
    """

    counts: tuple[int, ...] | None = None
    """Known points, three numbers or more: 128 256 ... 4096 if not given; 64 ... 2048 with --quick."""

    seeds: int | None = None
    """Draw points so often: 40 times if not given, 20 with --quick; a larger number goes on with a report."""

    learned: int | None = None
    """Of these learn a kernel so often, of 512 points at most: 5 times if not given, 2 with --quick; 0 for never."""

    steps: int | None = None
    """Steps of a learned kernel's training: 1000 if not given, 500 with --quick."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        for name in ("seeds", "steps"):
            if wrong := not_positive(getattr(self, name)):
                raise ArgumentError(f"{flag(name)}: {wrong}")
        if self.learned is not None and self.learned < 0:
            raise ArgumentError(f"--learned: expected a number from 0 on, got {self.learned}")
        counts = self.counts
        if counts is not None and (len({*counts}) < 3 or not all(_FEWEST <= n <= _LARGEST for n in counts)):
            got = " ".join(map(str, counts))
            raise ArgumentError(f"--counts: expected 3 or more, from {_FEWEST} to {_LARGEST}, got {got}")
        if self.quick and any(getattr(self, name) is not None for name in _NAMES):
            raise ArgumentError(f"--quick: expected none of {', '.join(map(flag, _NAMES))} beside it, got some")


class Regression:
    """The squared error of Nadaraya-Watson's estimate falls as n^(-4/5) with n points, that of the mean stays.

    Source:
        Nadaraya 1964; Watson 1964; Stone 1982 for the rate; Härdle, Marron 1985 for the bandwidth.
    """

    sentence: ClassVar[str] = (
        "the error of kernel regression by the number of known points (Nadaraya 1964, Watson 1964)"
    )
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Draw points, estimate the curve in every way, and write the page."""
        typed = command("saccade report regression", options, Options())
        sizes = _sizes(options)
        torch.set_num_threads(options.threads or torch.get_num_threads())
        path = Path(options.output or f"reports/regression{'-quick' if options.quick else ''}")
        decided = {**arguments(options), **asdict(sizes), "counts": list(sizes.counts)}
        folder = Folder.open(path, "regression", decided, typed, resume=options.resume)
        with folder.locked():
            for name, found in (("hardware", hardware(torch.device("cpu"))), ("versions", versions())):
                folder.content.setdefault(name, found)
            return finish(folder, Design("regression", write_page, summary), _steps(sizes))


def _sizes(options: Options) -> Sizes:
    """What the options say, and the rest as it usually is."""
    given = {name: value for name in _NAMES if (value := getattr(options, name)) is not None}
    sizes = replace(_QUICK if options.quick else Sizes(), **given)
    return replace(sizes, counts=tuple(sorted({*sizes.counts})))


def _steps(sizes: Sizes) -> list[Step]:
    """A step for each seed of the estimates that train nothing, and one for each learned kernel."""
    found = []
    for seed in range(1, sizes.seeds + 1):
        rows = [{"way": way, "n": count, "seed": seed} for count in sizes.counts for way in (MEAN, BEST, KERNEL)]
        found.append(Step(f"points drawn by seed {seed}", rows, partial(_measure, rows, sizes.steps)))
    for seed in range(1, min(sizes.learned, sizes.seeds) + 1):
        for count in (n for n in sizes.counts if n <= _MOST):
            rows = [{"way": LEARNED, "n": count, "seed": seed}]
            name = f"a kernel learned of {count} points, seed {seed}"
            found.append(Step(name, rows, partial(_measure, rows, sizes.steps)))
    return found


def _measure(rows: Sequence[dict[str, Any]], steps: int, folder: Folder) -> bool:
    """Make the rows of a step that are not there."""
    for row in rows:
        if not folder.rows(**row):
            points = drawn(row["n"], row["seed"])
            folder.content["rows"].append({**row, **estimate(row["way"], points, folder.path / "runs", steps)})
            folder.commit()
    return True
