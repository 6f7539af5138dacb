"""Commands of pages, read by the parsers that the program itself uses, and those of them that run within seconds."""

import re
import shlex
from functools import cache
from importlib import import_module
from itertools import pairwise
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

SECONDS = ("train", "eval", "predict", "look", "export", "data", "list", "env")
"""Verbs that take seconds, if a training is cut short."""
PUBLISHED = ("docs/results.md", "docs/reports.md")
"""Pages whose commands are recipes of published runs, which nobody types in their order."""
FILE = re.compile(r"[\w./-]+\.[a-z]\w*")


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


def obstacle(command, paths):
    """Why a command cannot run within seconds beside some paths, in a word or two; None if it can."""
    if not command.startswith("saccade ") or " | " in command:
        return "another program"
    verb, *rest = words(command)
    if verb not in SECONDS or "--processes" in rest:
        return "minutes"
    if verb in ("train", "data") and "--data" in rest:
        data = rest[rest.index("--data") + 1]
        if data not in load_task(rest[0]).builtin and not data.startswith("sklearn:"):
            return "own data"
    for before, word in pairwise(["", *rest]):
        needed = (word.startswith("runs/") or FILE.fullmatch(word)) and before not in ("--run", "--output")
        written = verb == "export" and word == rest[1]
        if needed and not written and not any(f"{word}/".startswith(f"{path}/") for path in paths):
            return "own files"
    return None


def plan(text):
    """Each command of a page with its obstacle, if the commands before it ran in a folder with the files of docs/."""
    paths, steps = {"docs"}, []
    for command in commands(text):
        why_not = obstacle(command, paths)
        steps.append((command, why_not))
        if why_not is None:
            arguments = words(command)
            paths |= {word for before, word in pairwise(arguments) if before in ("--run", "--output")}
            paths |= set(arguments[2:3]) if arguments[0] == "export" else set()
    return steps


def loaded(text):
    """Runs that the Python blocks of a page load."""
    return re.findall(r'load\("(runs/[\w-]+)"', "".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)))


def cut_short(command, whole=()):
    """Arguments of a command, whose training has two steps if its run is not one of `whole`."""
    arguments = words(command)
    if arguments[0] != "train" or set(arguments) & set(whole):
        return arguments
    return [*arguments, "--max-steps", "2", "--validation-examples", "4"]


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
