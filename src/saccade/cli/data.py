"""`saccade data TASK`: show examples, or write them for `saccade predict`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from saccade._definitions.argument_hints import choose
from saccade._system.files import check_folder
from saccade._system.notes import output
from saccade.cli.arguments import UsageError, named_options, names_of, one_line, parse
from saccade.cli.catalogue import summaries
from saccade.cli.help import Form, show_choices
from saccade.errors import SaccadeError
from saccade.look._files import write_new
from saccade.runs import examples
from saccade.tasks import TASKS, load_task
from saccade.train.options import flat, select
from saccade.train.task import Example, Kind


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Show examples of a data set: a line each, the input, a tab and the answer."""

    data: str | None = None
    """Built-in data set, folder or file, as for `saccade train`. Default: built-in."""

    split: Literal["train", "validation", "test"] = "test"
    """The split to show."""

    count: int = 5
    """Number of examples, at most."""

    output: str | None = None
    """Folder for inputs.txt, answers.txt and files. Default: standard output.

    The paths of all files are printed. If the task reads files, inputs.txt has their paths, each with a tab and the
    question if there is one."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"--count: expected a number above 0, got {self.count}")
        if self.data == "" or self.output == "":
            raise UsageError(f"{'--data' if self.data == '' else '--output'}: expected a name, got an empty one")
        if self.output is not None:
            check_folder("--output", self.output)


def form_of(kind: Kind) -> Form:
    """Return the options of a task's data."""
    groups = {"options": names_of(Arguments), kind.name: names_of(kind.Options)}
    return Form(flat(kind.Options, Arguments), f"saccade data {kind.name}", Arguments.__doc__ or "", groups=groups)


def run(arguments: list[str]) -> int:
    """Print the examples, or write them and print where."""
    if not arguments or arguments[0] in ("-h", "--help"):
        show_choices("saccade data", "TASK", summaries())
        return 0
    kind = load_task(choose("TASK", arguments[0], TASKS))
    form = form_of(kind)
    parsed: Any = parse(form.options, arguments[1:], form.program, form.description, groups=form.groups)
    options = select(parsed, Arguments)
    chosen = {name: getattr(parsed, name) for name in named_options(kind.Options, arguments[1:]) if name != "data"}
    listed = list(examples(kind, options.split, options.count, data=options.data, **chosen))
    if options.output is None:
        for example in listed:
            output(f"{one_line(example.text)}\t{one_line(example.answer)}")
    else:
        output("\n".join(map(str, _written(Path(options.output), listed, files=kind.inputs == "files"))))
    return 0


def _written(folder: Path, listed: Sequence[Example], *, files: bool) -> list[Path]:
    """Write all files without overwriting, and return their paths, lists first."""
    contents, lines = dict[Path, bytes](), list[str]()
    for number, example in enumerate(listed, 1):
        if example.file is None:
            lines.append("\t".join(map(one_line, example.text.split("\t", 1))))  # a file's name and the question
        else:
            suffix, content = example.file
            target = folder.absolute() / f"{number:04}{suffix}"
            lines.append(str(target) if files else f"{target}\t{one_line(example.text)}")
            contents[target] = content
    answers = [one_line(example.answer) for example in listed]
    lists = {folder / "inputs.txt": lines, folder / "answers.txt": answers}
    for path, rows in lists.items():
        contents[path] = "".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape")  # paths as they are
    there = [path for path in contents if os.path.lexists(path)]
    for path in there:
        if not (path.is_file() and path.read_bytes() == contents[path]):
            raise SaccadeError(f"{path}: it is there already and is something else; give another --output")
    write_new({path: content for path, content in contents.items() if path not in there})
    return [*lists, *(folder / path.name for path in contents if path not in lists)]
