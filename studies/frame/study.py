"""A study as a value, and `make`, its measurement of missing rows and its page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from saccade._system.environment import choose_device, hardware, versions
from saccade._system.files import check_folder
from saccade._system.notes import say
from studies.frame import page
from studies.frame.folder import Folder
from studies.frame.options import Shared, arguments, command, default_folder


@dataclass(frozen=True)
class Step:
    """A part of a study; its name is printed when it begins.

    Args:
        rows: the first columns of each row, which identify it: a step whose rows all exist is skipped.
        do: measures the missing rows; each is committed before the next.
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    do: Callable[[Folder], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Work:
    """The measurements that a study makes with the options of one command.

    Args:
        steps: in order.
        decided: values beside the options that determine the rows, such as sizes; another value is an error.
        data: in the name of the folder, if the user names none.
        about: further entries of report.json, kept as they were first written. Default: this machine.
    """

    steps: Sequence[Step]
    decided: Mapping[str, Any] = field(default_factory=dict)
    data: str = ""
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Study:
    """A claim of the literature, and how it is tested.

    Args:
        sentence: a line for the list of studies.
        title: of the page.
        claim: a sentence or two.
        source: the papers, with addresses.
        options: the dataclass of the command line; its docstrings are the help.
        measure: from the options to the work: variants to train, or rows to measure.
        compare: from report.json alone to findings: a `verdict`, and `fields()` of the page: tables as lists of rows,
            texts, numbers.
        body: the page below its verdict, in Markdown; `{name}` is a field of the findings or a picture.
        plot: draws into a folder; returns a picture in Markdown by the name of its field.
    """

    sentence: str
    title: str
    claim: str
    source: str
    options: type[Shared]
    measure: Callable[[Any], Work]
    compare: Callable[[Mapping[str, Any]], Any]
    body: str
    plot: Callable[[Any, Path], Mapping[str, str]]

    @property
    def name(self) -> str:
        """Name on the command line: the name of the study's file."""
        return self.compare.__module__.rpartition(".")[2].replace("_", "-")


class Made(NamedTuple):
    """A report: its folder, its page for a terminal, and whether rows were missing."""

    folder: Path
    text: str
    fresh: bool


def names() -> list[str]:
    """Return the names of all studies: of the files beside this folder."""
    files = Path(__file__).parents[1].glob("[a-z]*.py")
    return sorted(file.stem.replace("_", "-") for file in files)


def load(name: str) -> Study:
    """Return a study by its name."""
    study: Study = import_module(f"studies.{name.replace('-', '_')}").STUDY
    return study


def made_here(device: str) -> dict[str, Any]:
    """Return entries of report.json about this machine, for studies without runs."""
    return {"hardware": hardware(choose_device(device)), "versions": versions()}


def make(study: Study, options: Shared) -> Made:
    """Measure the missing rows, one commit each, then write the page."""
    typed = command(f"saccade report {study.name}", options, study.options())
    work = study.measure(options)
    path = Path(options.output or default_folder(study.name, options, work.data))
    check_folder("--output", path)
    decided = {**arguments(options), **work.decided}
    folder = Folder.open(path, study.name, decided, typed, resume=options.resume)
    with folder.locked():
        about = made_here(options.device) if work.about is None else work.about
        if about.keys() - folder.content.keys():
            folder.content.update({**about, **folder.content})
            folder.commit()
        left = [step for step in work.steps if not all(folder.rows(**row) for row in step.rows)]
        for step in left:
            say(f"{step.name}: {work.steps.index(step) + 1} of {len(work.steps)}")
            for row in step.do(folder):
                folder.add(row)
        count = len(folder.content["rows"])  # more seeds add rows
        if folder.content.get("page") != count or not all((folder.path / name).exists() for name in page.NAMES):
            page.publish(study, folder.content, folder.path)
            folder.content["page"] = count
            folder.commit()
        return Made(folder.path, page.summary(folder.path), fresh=bool(left))
