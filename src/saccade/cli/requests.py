"""The options of the verbs that ask a run: some are every verb's own, the others are the task's of the run."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from saccade.cli.arguments import UsageError, choose, parse
from saccade.cli.inputs import readable
from saccade.cli.threads import use_threads
from saccade.runs import Run, load
from saccade.tasks import TASKS, load_task
from saccade.train.options import check_threads, flat, select
from saccade.train.run import Run as Folder

__all__ = ["Device", "Ensemble", "Inputs", "asked", "check_named"]


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where a verb computes, and for which run."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Processor threads. If not given as torch has it, or fewer where the machine is busy when the command begins."""

    def __post_init__(self) -> None:
        """Refuse what is no number of threads."""
        check_threads(self.threads)


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Further runs."""

    ensemble: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="RUN")] = ()
    """Folder of a further run, whose probabilities are averaged with those of RUN; may be given several times."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a verb is given."""

    text: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="INPUT")] = None
    """The input: a text, or of a run that reads files a file or a folder of them; without it and without --input the
    lines of standard input, each a text or a path, or one file itself."""

    input: str | None = None
    """File whose lines are the inputs, each a text or a path; - is standard input."""

    names: bool = False
    """Write each input, a text or a path, and a tab before what it comes to."""

    @property
    def typed(self) -> bool:
        """Whether somebody types the inputs one by one."""
        return self.text is None and self.input in (None, "-") and sys.stdin.isatty()


def asked(verb: str, own: type, arguments: Sequence[str]) -> tuple[Any, Any, Run]:
    """Return the options of a verb, what they ask of the run, and the run, ready to be asked.

    Args:
        verb: the verb.
        own: the dataclass of its own options.
        arguments: what stands behind it.

    Raises:
        SaccadeError: if one means nothing, or the run cannot be loaded.
    """
    program, description = f"saccade {verb}", own.__doc__ or ""
    folder = _folder(own, verb, arguments)
    if folder is None:  # help without a run, or nothing at all: what there is for any run
        parse(flat(*_requests(verb), own), ["RUN", *arguments], program, description)
        raise UsageError(f"RUN: expected the folder of a run, got none; see {program} --help")
    if not folder:
        raise UsageError("RUN: expected the folder of a run, got an empty name")
    if not Path(folder).is_dir():  # help is wanted all the same, or an option is mistyped and this is its value
        parse(flat(*_requests(verb), own), arguments, program, description)
    opened = Folder.open(Path(folder))
    kind = load_task(choose(str(opened.folder), opened.config["task"], TASKS))
    request = kind.requests[verb]
    merged: Any = flat(request, own)
    given = parse(merged, arguments, program, description, elsewhere=lambda: _elsewhere(verb, request))
    wanted: Any = select(given, request)
    words = {name: readable(value) for name, value in vars(wanted).items() if isinstance(value, str)}
    wanted = replace(wanted, **words)
    if hasattr(given, "text"):
        check_named(given.text, given.input)
    use_threads(given.threads)
    run = load(given.run, device=given.device, ensemble=getattr(given, "ensemble", ()))
    return given, run.checked(wanted), run


def check_named(argument: str | None, file: str | None) -> None:
    """See that what shall be answered is named once, and is there, before a run is opened for it.

    Raises:
        UsageError: if both were given.
        OSError: if there is no such file.
    """
    if argument is not None and file is not None:
        raise UsageError("--input: expected INPUT or --input FILE, got both")
    if file not in (None, "-"):
        Path(str(file)).stat()


def _requests(verb: str) -> list[type]:
    """The dataclasses of a verb's options of all tasks, each that another one extends left out."""
    found = list(dict.fromkeys(load_task(name).requests[verb] for name in TASKS))
    return [one for one in found if not any(one is not other and issubclass(other, one) for other in found)]


def _folder(own: type, verb: str, arguments: Sequence[str]) -> str | None:
    """The first word that is neither an option nor the value of one."""
    if arguments and not arguments[0].startswith("-"):
        return arguments[0]  # without the options of all tasks, whose import takes half a second
    kinds = [own, *_requests(verb)]
    switches = {f"--{f.name.replace('_', '-')}" for kind in kinds for f in fields(kind) if f.type in (bool, "bool")}
    valued = {f"--{f.name.replace('_', '-')}" for kind in kinds for f in fields(kind)} - switches
    words = iter(arguments)
    for word in words:
        option = word.replace("_", "-")
        if option in valued:
            next(words, None)
        elif not word.startswith("-") or word == "-":
            return word
    return None


def _elsewhere(verb: str, request: type) -> dict[str, str]:
    """The options that runs of other tasks have, by their names, and which tasks these are."""
    own, found = {field.name for field in fields(request)}, dict[str, list[str]]()
    for name in TASKS:
        for field in fields(load_task(name).requests[verb]):
            if field.name not in own:
                found.setdefault(field.name.replace("_", "-"), []).append(name)
    return {name: f"a run of {' or '.join(tasks)}" for name, tasks in found.items()}
