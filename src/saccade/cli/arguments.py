"""From words on the command line to a dataclass, by tyro; whatever is wrong with them is one line with the fix."""

import contextlib
import difflib
import io
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from saccade.errors import SaccadeError
from saccade.train.notes import escaped

__all__ = ["UsageError", "choose", "given", "one_line", "parse", "peek", "suggest"]

T = TypeVar("T")
_VALUE = re.compile(r"^Error parsing (--\S+): (.*(?:INT|FLOAT|int|float).*) \[?'(.*)'\]?$")  # a number's
_CHOICE = re.compile(r"^invalid choice '(.*)' for argument '(--[^']+)'\. Expected one of \((.*)\)$")
_MISSING = re.compile(r"^Missing value for argument '(--[^']+)'.*$")
_WIDEST = 20_000  # columns: longer than any complaint
_NARROWEST = 40  # columns: help is no longer readable in fewer, and below ten tyro never comes to an end
_HELP = {"--help", "-h"}
_RULES = set(" ─-│|╭╮╰╯+")  # what tyro frames its words with


class UsageError(SaccadeError):
    """The command line is not one that this program understands."""


def parse(
    kind: type[T],
    arguments: Sequence[str],
    program: str,
    description: str,
    default: T | None = None,
    elsewhere: Callable[[], Mapping[str, str]] = dict,
) -> T:
    """Return the dataclass that the arguments describe.

    Args:
        kind: the dataclass; its docstrings are the help.
        arguments: what stands behind the program.
        program: what the user typed before them, for the help.
        description: a sentence or two for the help.
        default: values of what is not given.
        elsewhere: called for an unknown option, names options that there are beside others alone, and beside which.

    Raises:
        UsageError: in one line, with "did you mean".
        SystemExit: with 0 after --help was answered.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Options:
        ...     beam_size: int = 1
        >>> parse(Options, ["--beam-size", "5"], "saccade", "")
        Options(beam_size=5)
        >>> parse(Options, ["--beem-size", "5"], "saccade", "")
        Traceback (most recent call last):
        ...
        saccade.cli.arguments.UsageError: unknown option --beem-size; did you mean --beam-size?
    """
    import tyro

    settings: dict[str, Any] = {"prog": program, "description": description, "return_unknown_args": True}
    if default is not None:
        settings["default"] = default if _HELP.isdisjoint(arguments) else _escaped(default)
    complaint = io.StringIO()
    options: T
    try:
        with contextlib.redirect_stderr(complaint), _as_wide_as(_width(arguments)):
            options, unknown = tyro.cli(kind, args=list(arguments), **settings)
    except SystemExit as stop:
        if not stop.code:
            raise
        _refuse_unknown(kind, [word for word in arguments if word.startswith("--")], elsewhere)
        gist = _MISSING.sub(lambda found: _no_value(found[1], arguments), _gist(complaint.getvalue()))
        raise UsageError(f"{gist}; see {program} --help") from None
    _refuse_unknown(kind, unknown, elsewhere)
    return options


def peek(arguments: Sequence[str], option: str) -> str | None:
    """Return the value of an option before the rest can be parsed, because the rest depends on it.

    >>> peek(["--model", "a", "--seed=3"], "--model"), peek(["--model", "a", "--seed=3"], "--seed")
    ('a', '3')
    """
    value = None
    for word, following in zip(arguments, [*arguments[1:], None], strict=False):
        name, equals, behind = word.partition("=")
        if name.replace("_", "-") == option:
            value = behind if equals else following
    return value


def given(kind: Any, arguments: Iterable[str]) -> list[str]:
    """Return which fields of a dataclass the arguments name, --no-NAME included.

    >>> from dataclasses import make_dataclass
    >>> given(make_dataclass("Options", ["seed", "resume"]), ["--no-resume", "--max-steps", "3"])
    ['resume']
    """
    words = {word.partition("=")[0].replace("_", "-") for word in arguments}
    names = [(field.name, field.name.replace("_", "-")) for field in fields(kind)]
    return [name for name, typed in names if not words.isdisjoint((f"--{typed}", f"--no-{typed}"))]


def choose(what: str, name: str, table: Iterable[str]) -> str:
    """Return a name that is in a table.

    Raises:
        UsageError: if it is not, with the one that was perhaps meant.
    """
    if name not in (names := list(table)):
        raise UsageError(f"{what}: there is no {name}; {suggest(name, names)}")
    return name


def suggest(name: str, names: Iterable[str]) -> str:
    """Return what to say after a name that is not there.

    >>> suggest("rnnserch", ["rnnsearch"]), suggest("x", ["rnnsearch"])
    ('did you mean rnnsearch?', 'there is: rnnsearch')
    """
    known = list(names)
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"there is: {', '.join(known)}"


def one_line(text: str) -> str:
    r"""Return a text without line breaks.

    >>> one_line("a\n  b")
    'a b'
    """
    return " ".join(text.split())


def _refuse_unknown(kind: Any, words: Sequence[str], elsewhere: Callable[[], Mapping[str, str]]) -> None:
    """Refuse options that are no fields, and words that belong to none."""
    names = [field.name.replace("_", "-") for field in fields(kind)]
    known = ["--help", *(f"--{name}" for name in names), *(f"--no-{name}" for name in names)]
    for word in words:
        option = word.partition("=")[0].replace("_", "-")
        if word.startswith("--") and option not in known:
            if (beside := elsewhere().get(option.removeprefix("--").removeprefix("no-"))) is not None:
                raise UsageError(f"{option}: expected only with {beside}; leave it out")
            near = difflib.get_close_matches(option, known, 1)
            way_out = f"did you mean {near[0]}?" if near else "see --help"
            raise UsageError(f"unknown option {word.partition('=')[0]}; {way_out}")
    loose = [word for word in words if not word.startswith("--")]
    if loose and re.match("-[A-Za-z]", loose[0]):
        raise UsageError(f"unknown option {loose[0]}; see --help")
    if loose:
        several = ", ask several by --input FILE" if "input" in names else ""
        raise UsageError(f"unexpected argument {loose[0]}; quote texts that contain spaces{several}, and see --help")


def _escaped(default: T) -> T:
    """Defaults for a page of help, which a terminal may show: some are words of the command line."""
    dataclass: Any = default
    texts = {name: escaped(text) for name, text in vars(default).items() if isinstance(text, str)}
    return replace(dataclass, **texts)  # type: ignore[no-any-return]


def _width(arguments: Sequence[str]) -> int:
    """How many columns there are: for help those of the terminal; a complaint is read, and no path in it may break."""
    if _HELP.isdisjoint(arguments):
        return _WIDEST
    return max(_NARROWEST, shutil.get_terminal_size().columns)


@contextlib.contextmanager
def _as_wide_as(columns: int) -> Iterator[None]:
    """Have tyro believe that the terminal is so wide."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns)
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _no_value(option: str, arguments: Sequence[str]) -> str:
    """What to say of an option without a value, or with one that looks like an option itself."""
    behind = dict(itertools.pairwise([word.replace("_", "-") if word.startswith("--") else word for word in arguments]))
    word = behind.get(option)
    if word is None or word.startswith("--"):
        return f"{option}: expected a value, got {word or 'nothing'}"
    return f"{option}: expected a value, got {word}, which looks like an option; write {option}={word}"


def _gist(box: str) -> str:
    """What tyro's box, drawn in lines or in blanks, says below its title and above its first rule, as one line."""
    lines = iter(["" if set(line) <= _RULES else line.strip(" │") for line in box.splitlines()])
    next(filter(None, lines), None)  # the title
    body = itertools.dropwhile(lambda line: not line, lines)
    text = one_line(" ".join(itertools.takewhile(bool, body))).rstrip(".").removeprefix("Error parsing Options: ")
    return _CHOICE.sub(_one_of, _VALUE.sub(_expected, text))


def _one_of(complaint: re.Match[str]) -> str:
    """What tyro says of a word that is none of some, in the words of all our errors."""
    value, option, choices = complaint.groups()
    names = re.findall(r"'([^']*)'", choices)
    near = difflib.get_close_matches(value, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{option}: expected {' or '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}, got {value}{hint}"


def _expected(complaint: re.Match[str]) -> str:
    """What tyro says of a value that is not a number, in the words of all our errors."""
    option, reason, value = complaint.groups()
    kind = "a whole number" if "int" in reason.lower() else "a number"
    return f"{option}: expected {kind}, got {value or 'nothing'}"
