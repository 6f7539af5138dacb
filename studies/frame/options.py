"""Options of studies at the command line, and the command that repeats a study."""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from saccade._system.files import check_folder
from saccade.errors import ArgumentError
from saccade.tasks.translate.data import BUILTIN
from saccade.train.options import check_threads, flag, not_positive

_MAY_DIFFER = ("output", "resume", "device", "threads")


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Options of every study."""

    output: str = ""
    """Folder of the report, new or to be continued. Default: reports/NAME-DATA."""

    quick: bool = False
    """Test the claim on built-in data in at most five minutes."""

    resume: bool = True
    """Continue the report if it exists; with --no-resume start a new one beside it."""

    device: str = "auto"
    """Device: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Processor threads. Default: as torch sets them; in training as recipes do."""

    def __post_init__(self) -> None:
        check_threads(self.threads)
        if self.output:
            check_folder("--output", self.output)


@dataclass(frozen=True, kw_only=True)
class Direct(Shared):
    """Options of a study that trains, here small models without a task."""

    seeds: int = 3
    """Train each model with the seeds 1, 2, 3, ...; a larger number adds to a report."""

    max_steps: int | None = None
    """Train each model for so many steps (`isolation`: each task). Default: by study."""

    max_minutes: float | None = None
    """Limit of each training in minutes (`isolation`: each task). Default: by study."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.seeds <= 1000:
            raise ArgumentError(f"--seeds: expected a number from 1 to 1000, got {self.seeds}")
        check_positive(self, "max_steps", "max_minutes")
        if self.quick and (self.max_steps or self.max_minutes):
            raise ArgumentError("--quick: expected no budget beside it, got some; leave one out")


@dataclass(frozen=True, kw_only=True)
class Seeded(Direct):
    """Options of a study that trains models of a task."""

    builtin: ClassVar[Mapping[str, str]] = BUILTIN
    """The task's built-in data, with a sentence each."""

    data: str = ""
    """Data of the task, as in `saccade train`: a folder, a file, or built-in ones."""

    seeds: int = 1
    """Train each model with the seeds 1, 2, 3, ...; a larger number adds to a report."""

    max_steps: int | None = None
    """Train each model for so many steps. Default: the recipe's, at most 40 minutes."""

    max_minutes: float | None = None
    """Train each model for so many minutes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quick and self.data not in ("", *self.builtin):
            builtin = " or ".join(self.builtin)
            raise ArgumentError(f"--quick: expected no --data but {builtin} beside it, got {self.data}; leave one out")


@dataclass(frozen=True, kw_only=True)
class Trained(Seeded):
    """Options of a study that trains translators."""

    data: str = ""
    """Parallel corpus, as in `saccade train translate`: a folder, file, or dates."""

    source: str | None = None
    """Language to translate from, if the corpus is a folder."""

    target: str | None = None
    """Language to translate into, if the corpus is a folder."""


def check_positive(options: Any, *names: str) -> None:
    """Reject options of 0 or less."""
    for name in names:
        if wrong := not_positive(getattr(options, name)):
            raise ArgumentError(f"{flag(name)}: {wrong}")


def filled(options: Shared, usual: Mapping[str, Any], quick: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes of the command line, with defaults, or those of --quick."""
    typed = {name: value for name in usual if (value := getattr(options, name)) is not None}
    if options.quick and typed:
        raise ArgumentError(f"--quick: expected none of {', '.join(map(flag, usual))} beside it, got some")
    return {**(quick if options.quick else usual), **typed}


def arguments(options: Shared) -> dict[str, Any]:
    """Return the options that determine the rows of a report."""
    return {name: value for name, value in asdict(options).items() if name not in _MAY_DIFFER}


def default_folder(name: str, options: Shared, data: str = "") -> str:
    """Return the folder of a report if the user names none.

    >>> default_folder("length", Trained(data="data/corpus", source="de", target="en"), "data/corpus")
    'reports/length-corpus-de-en'
    """
    pair = [language for side in ("source", "target") if (language := getattr(options, side, None))]
    names = [name, *filter(None, [Path(data).name]), *pair, *(["quick"] if options.quick else [])]
    return "reports/" + "-".join(names)


def command(program: str, options: Any, *defaults: Any, always: Collection[str] = ()) -> str:
    """Return a command line with every option that differs from a default.

    Example:
        >>> command("saccade report length", Trained(data="my data", seeds=2, resume=False), Trained())
        "saccade report length --no-resume --seeds 2 --data 'my data'"
    """
    words = [program]
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in always and all(value == getattr(default, field.name) for default in defaults):
            continue
        if isinstance(value, bool):
            words.append(flag(field.name) if value else flag("no_" + field.name))
        else:
            several = value if isinstance(value, tuple) else (value,)
            words.append(f"{flag(field.name)} {shlex.join(map(str, several))}")
    return " ".join(words)
