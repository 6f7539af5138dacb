"""Commands of pages, read by the parsers that the program itself uses; nothing is trained."""

import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

from saccade._definitions.argument_hints import choose
from saccade.cli.arguments import parse
from saccade.cli.train import read_command
from saccade.tasks import TASKS, load_task
from saccade.train.options import flat
from saccade.train.recipes import resolve
from studies.frame.study import load, names

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}


def blocks(text):
    """Commands of a page's blocks, a list for each block, without comments."""
    found = re.findall(r"^```bash\n(.*?)^```", text, flags=re.M | re.S)
    return [[line.split("   #")[0].strip() for line in block.splitlines() if line.strip()] for block in found]


def commands(text):
    return [command for block in blocks(text) for command in block]


def quoted(text):
    """Commands that stand in a sentence or a table, complete but for what three dots leave out."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.findall(r"`(saccade (?:train|data|report) [a-z][^`\n.]*)`", prose)


def words(command):
    """What stands behind `saccade` in a command, or None where the command is another program's."""
    pieces = [shlex.split(piece.replace("$'\\t'", "'\t'"), comments=True) for piece in re.split(r" [|] ", command)]
    for piece in pieces:
        for place, word in enumerate(piece):
            if word == "saccade" and (place == 0 or "=" in piece[place - 1] or piece[place - 1] in ("-m", "--")):
                return piece[place + 1 :]
    return None


@cache
def trained():
    """The task of each folder that a command of any page trains."""
    folders = {}
    for text in PAGES.values():
        for command in commands(text):
            arguments = words(command) or [""]
            if arguments[0] == "train" and "--run" in arguments:
                folders[arguments[arguments.index("--run") + 1]] = arguments[1]
    return folders


def options(kind, words, suited=None):
    """All options of `saccade train` for some words behind the task."""
    command = read_command(kind, words)
    return resolve(kind, command.model, command.data, command.named, suited)


def accept(arguments):
    """Parse what stands behind `saccade`; the parsers raise where a word of it is wrong."""
    verb, *rest = [word for word in arguments if word != "--help"]
    if verb == "train":
        kind = load_task(choose("TASK", rest[0], TASKS))
        return options(kind, rest[1:])
    if verb == "report":
        if not rest:
            return None
        name = choose("NAME", rest[0], names())
        return parse(load(name).options, rest[1:], "report", "")
    own = import_module(f"saccade.cli.{verb}").Arguments
    if verb in ("predict", "look", "eval"):
        [task] = {trained()[word] for word in rest[:1]}
        return parse(flat(load_task(task).requests[verb], own), rest, verb, "")
    if verb == "data":
        return parse(flat(load_task(choose("TASK", rest[0], TASKS)).Options, own), rest[1:], verb, "")
    return parse(own, rest, verb, "")


def accept_other(command):
    """See that a script has the options of a command, `make` the target, and pip the extra."""
    program, *rest = shlex.split(command, comments=True)
    if program == "make":
        assert re.search(rf"^{rest[0]}:", (ROOT / "Makefile").read_text(), flags=re.M), command
    elif program == "pip":
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert all(f"\n{extra} = [" in project for extra in re.findall(r"[\[,]([\w-]+)", rest[-1])), command
    elif program == "python" and rest[0] != "-m":
        assert (ROOT / rest[0]).exists(), command
        scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / rest[0]).parent.glob("*.py"))
        names = [word.partition("=")[0].removeprefix("--") for word in rest if word.startswith("--")]
        assert all(name in scripts or name.replace("-", "_") in scripts for name in names), command
    else:
        assert program in ("source", "cat", "python"), command
