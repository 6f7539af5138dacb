"""Options of the verbs that use a run: the verb's own, and the run's task's."""

import sys
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tyro

from saccade._definitions.argument_hints import choose, help_texts
from saccade.cli.arguments import UsageError, names_of, parse
from saccade.cli.help import Form
from saccade.cli.inputs import readable
from saccade.cli.threads import set_threads
from saccade.data.texts import check_encoding
from saccade.runs import Run, load
from saccade.tasks import TASKS, load_task, usable_tasks
from saccade.tasks.other_data import reading_options
from saccade.train.options import check_threads, flat, select
from saccade.train.run import Run as Folder
from saccade.train.task import Kind


@dataclass(frozen=True, kw_only=True)
class Device:
    """Run and device of a verb."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    device: str = "auto"
    """Device: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Processor threads. Default: torch's, or fewer on a busy machine."""

    def __post_init__(self) -> None:
        check_threads(self.threads)


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Further runs."""

    ensemble: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="RUN")] = ()
    """Folder of another run, to average probabilities with RUN. May be repeated."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Inputs of a verb."""

    text: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[INPUT]")] = None
    """Text, file or folder of files. Default: lines of standard input, or a file."""

    input: str | None = None
    """File of inputs, a line each, or a table. - is standard input.

    A table (.csv, .tsv, .jsonl, .parquet) has the columns of the run's inputs."""

    encoding: str | None = None
    """Encoding of the file of inputs, such as cp1252. Default: UTF-8."""

    names: bool = False
    """Write each input, a text or a path, and a tab before what it comes to."""

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc] # of `Device`, which comes after it
        check_encoding(self.encoding)
        if self.encoding is not None and "\n".encode(self.encoding) != b"\n":
            raise UsageError(f"--encoding: expected one that extends ASCII, such as cp1252, got {self.encoding}")

    @property
    def typed(self) -> bool:
        """Whether somebody types the inputs one by one."""
        return self.text is None and self.input in (None, "-") and sys.stdin.isatty()


def open_request(verb: str, verb_options: type, arguments: Sequence[str]) -> tuple[Any, Any, Run]:
    """Return the options of a verb, its request to the run, and the run."""
    program, description = f"saccade {verb}", verb_options.__doc__ or ""
    folder = arguments[0] if arguments else "--"
    if folder.startswith("-") or not Path(folder).is_dir():  # help, options before RUN, or a mistyped word
        end = arguments.index("--") if "--" in arguments else len(arguments)  # words behind it are no options
        request_of_any = _any_request(verb)
        any_run: Any = flat(request_of_any, verb_options)
        groups = {"options": names_of(verb_options), "tasks": names_of(request_of_any)}
        folder = parse(any_run, arguments[:end], program, description, any_run(run=""), groups=groups).run
        folder = folder or "".join(arguments[end + 1 : end + 2])
    if not folder:
        got = "an empty name" if "" in arguments else f"none; see {program} --help"
        raise UsageError(f"RUN: expected the folder of a run, got {got}")
    opened = Folder.open(Path(folder))
    kind = load_task(choose(str(opened.folder), opened.config["task"], TASKS))
    request, *reading = _parts(kind, verb)
    form = form_of(kind, verb, verb_options)
    parsed: Any = parse(
        form.options,
        arguments,
        program,
        description,
        others=lambda: {name: kind.requests[verb] for name, kind in usable_tasks(TASKS).items()},
        owner="a run of",
        groups=form.groups,
    )
    selected: Any = select(parsed, request)
    texts = {name: readable(value) for name, value in vars(selected).items() if isinstance(value, str)}
    selected = replace(selected, **texts)
    if hasattr(parsed, "text"):  # inputs are named once, and exist, before a run is loaded for them
        if parsed.text is not None and parsed.input is not None:
            raise UsageError("--input: expected INPUT or --input FILE, got both")
        if parsed.input not in (None, "-"):
            Path(parsed.input).stat()
    set_threads(parsed.threads)
    ensemble, data = getattr(parsed, "ensemble", ()), getattr(parsed, "data", None)
    if data == "":
        raise UsageError("--data: expected a file or a folder, got an empty name")
    how = {name: value for part in reading for name, value in vars(select(parsed, part)).items() if value is not None}
    run = load(parsed.run, device=parsed.device, ensemble=ensemble, data=data, **how)
    return parsed, run.checked(selected), run


def form_of(kind: Kind, verb: str, verb_options: type) -> Form:
    """Return the options of a verb for runs of a task."""
    parts = _parts(kind, verb)
    groups = {"options": names_of(verb_options), kind.name: [name for part in parts for name in names_of(part)]}
    return Form(flat(*parts, verb_options), f"saccade {verb}", verb_options.__doc__ or "", groups=groups)


def _parts(kind: Kind, verb: str) -> list[type]:
    """Options of a verb for a task: its request, and how it reads data."""
    return [kind.requests[verb], *([reading_options(kind.Options)] if verb == "eval" else [])]


def _any_request(verb: str) -> type:
    """Options of a verb for any run, with their tasks before each text of help."""
    options: dict[str, list[Field[Any]]] = {}
    texts: dict[str, dict[str, list[str]]] = {}
    for task, owner in usable_tasks(TASKS).items():
        for part in _parts(owner, verb):
            explained = help_texts(part.__mro__)
            for option in fields(part):
                options.setdefault(option.name, []).append(option)
                texts.setdefault(option.name, {}).setdefault(explained[option.name], []).append(task)
    made = []
    for name, others in options.items():
        choices = dict.fromkeys(word for option in others for part in get_args(option.type) for word in get_args(part))
        kind: Any = Literal[*choices, None] if choices else others[0].type
        text = " ".join(f"{', '.join(tasks)}: {text}" for text, tasks in texts[name].items())
        made.append((name, Annotated[kind, tyro.conf.arg(help=text)], field(default=others[0].default)))
    return make_dataclass("Request", made, frozen=True, kw_only=True)
