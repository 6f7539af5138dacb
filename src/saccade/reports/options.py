"""What can be said about any report, and about those that train models."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from saccade.errors import ArgumentError
from saccade.tasks.translate.data import BUILTIN
from saccade.train.files import check_folder
from saccade.train.notes import say
from saccade.train.options import check_threads, flag, not_positive

__all__ = ["Seeded", "Shared", "Trained", "arguments", "check_trainings", "default_folder", "whole"]

T = TypeVar("T", bound="Seeded")
_MAY_DIFFER = ("output", "resume", "device", "threads")


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The options of every report.

    >>> Shared(quick=True).device
    'auto'
    """

    output: str = ""
    """Folder of the report: made when it is not there, continued when it is. Default: reports/NAME-DATA."""

    quick: bool = False
    """Try the claim in at most five minutes, with nothing but what is built in."""

    resume: bool = True
    """Continue the report if it exists; with --no-resume start a new one beside it."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Processor threads, in training and in measuring. If not given as torch has it; in training as recipes have it."""

    def __post_init__(self) -> None:
        """Refuse what is no number of threads, and a file in the folder's place."""
        check_threads(self.threads)
        if self.output:
            check_folder("--output", self.output)


@dataclass(frozen=True, kw_only=True)
class Seeded(Shared):
    """The options of a report that trains models of any task.

    >>> Seeded(data="reviews").seeds
    1
    """

    builtin: ClassVar[Mapping[str, str]] = BUILTIN
    """The task's built-in data, with a sentence each."""

    data: str = ""
    """The data, as `saccade train` takes them for the task: a folder, a file, or built-in ones."""

    seeds: int = 1
    """Train each model so often, with the seeds 1, 2, 3, ...; a larger number goes on with a report."""

    max_steps: int | None = None
    """Train each model for so many steps. Without a budget: as the recipe has it, but for 40 minutes at most."""

    max_minutes: float | None = None
    """Train each model for so many minutes."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        check_trainings(self.seeds, self.max_steps, self.max_minutes)
        if self.quick and (self.data not in ("", *self.builtin) or self.max_steps or self.max_minutes):
            beside = f"no --data but {' or '.join(self.builtin)} and no budget beside it"
            raise ArgumentError(f"--quick: expected {beside}, got some; leave one out")


@dataclass(frozen=True, kw_only=True)
class Trained(Seeded):
    """The options of a report that trains translators.

    >>> Trained(data="dates").seeds
    1
    """

    data: str = ""
    """Parallel corpus, as `saccade train translate` takes it: a folder, a file of pairs, or dates."""

    source: str | None = None
    """Language to translate from, where the corpus is a folder."""

    target: str | None = None
    """Language to translate into, where the corpus is a folder."""


def check_trainings(seeds: int, max_steps: int | None, max_minutes: float | None) -> None:
    """Refuse numbers of trainings and budgets that mean nothing, naming the option as it is typed.

    Raises:
        ArgumentError: seeds that are not 1 to 1000; a budget that is not above 0.
    """
    if not 0 < seeds <= 1000:
        raise ArgumentError(f"--seeds: expected a number from 1 to 1000, got {seeds}")
    for name, given in (("max_steps", max_steps), ("max_minutes", max_minutes)):
        if wrong := not_positive(given):
            raise ArgumentError(f"{flag(name)}: {wrong}")


def whole(options: T, quick: str) -> T:
    """Return the options with what --quick means said.

    Args:
        options: as they were typed.
        quick: the built-in data that --quick takes where no others are named.

    Raises:
        ArgumentError: if there are no data.
    """
    if not options.quick and not options.data:
        raise ArgumentError("--data: expected a corpus, got none; --quick tries the claim on built-in data")
    if not options.quick:
        return options
    data = options.data or quick
    say(f"trying the claim on {data}: {options.builtin[data]}")
    return replace(options, data=data)


def arguments(options: Shared) -> dict[str, Any]:
    """Return the options that decide what a report's rows say.

    >>> arguments(Shared(quick=True, output="a"))
    {'quick': True}
    """
    return {name: value for name, value in asdict(options).items() if name not in _MAY_DIFFER}


def default_folder(name: str, options: Seeded) -> str:
    """Return where a report is made if nothing is said.

    >>> default_folder("length", Trained(data="data/corpus", source="de", target="en"))
    'reports/length-corpus-de-en'
    """
    pair = [language for side in ("source", "target") if (language := getattr(options, side, None))]
    return "-".join([f"reports/{name}-{Path(options.data).name}", *pair, *(["quick"] if options.quick else [])])
