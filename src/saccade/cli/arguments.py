"""Parsing of the command line to a dataclass, by tyro. Errors are one line."""

import contextlib
import io
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from saccade._definitions.argument_hints import suggest
from saccade.cli import help as helping
from saccade.errors import SaccadeError

T = TypeVar("T")
_ELSEWHERE = {  # options of other trainers, by ours
    "--learning-rate": ("--lr",),
    "--batch-size": ("--batch-tokens", "--bs", "--train-batch-size", "--per-device-train-batch-size"),
    "--batch-tokens": ("--batch-size", "--bs", "--max-tokens", "--train-batch-size", "--per-device-train-batch-size"),
    "--max-steps": ("--epochs", "--num-epochs", "--num-train-epochs", "--max-epochs", "--max-update"),
    "--device": ("--gpu", "--gpus", "--cuda", "--accelerator"),
    "--run": ("--output", "--output-dir", "--save-dir", "--checkpoint"),
    "--vocabulary-size": ("--vocab-size", "--vocab"),
    "--max-length": ("--max-len", "--max-seq-length"),
    "--hidden-dim": ("--hidden-size", "--embed-dim", "--d-model"),
    "--heads": ("--num-heads", "--num-attention-heads"),
    "--layers": ("--num-layers", "--num-hidden-layers"),
    "--patience": ("--early-stopping", "--early-stopping-patience"),
    "--beam-size": ("--num-beams", "--beam"),
    "--nbest": ("--n-best", "--num-return-sequences"),
    "--json": ("--alignments", "--jsonl"),
}
_VALUE = re.compile(r"^Error parsing (--\S+): (.*(?:INT|FLOAT|int|float).*) \[?'(.*)'\]?$")  # a number's
_OF_A_CHECK = re.compile(r"^Error parsing \w+: (?=--)")  # the dataclass of options rejects one
_CHOICE = re.compile(r"^invalid choice '(.*)' for argument '(--[^']+)'\. Expected one of \((.*)\)$")
_MISSING = re.compile(r"^Missing value for argument '(--[^']+)'.*$")
_WIDEST = "20000"  # columns: longer than any error
_RULES = set(" ─-│|╭╮╰╯+")  # tyro's frames of words
INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C


class UsageError(SaccadeError):
    """The command line is not one that this program understands."""


def parse(
    kind: type[T],
    arguments: Sequence[str],
    program: str,
    description: str,
    default: T | None = None,
    others: Callable[[], Mapping[str, type]] = dict,
    owner: str = "",
    groups: Mapping[str, Sequence[str]] | None = None,
) -> T:
    """Return the dataclass that the arguments behind a program describe.

    The docstrings of the dataclass are the help, in `groups` of options by title. For an unknown option, `others`
    returns dataclasses that may have it, by names of their owners, such as models, and `owner` is the owners' kind,
    such as "--model".

    Raises:
        UsageError: in one line, with "did you mean".
        SystemExit: with 0 after --help was answered.
    """
    if not helping.WORDS.isdisjoint(arguments):
        usual = {} if default is None else vars(default)
        form = helping.Form(kind, program, description, usual, groups or {})
        helping.show_help(form, everything="--help-all" in arguments)
        raise SystemExit(0)
    import tyro

    settings: dict[str, Any] = {"prog": program, "return_unknown_args": True}
    if default is not None:
        settings["default"] = default
    complaint = io.StringIO()
    options: T
    try:
        with contextlib.redirect_stderr(complaint), _wide_errors():
            options, unknown = tyro.cli(kind, args=arguments, **settings)
    except SystemExit:
        _refuse_unknown(kind, [word for word in arguments if word.startswith("--")], others, owner)
        gist = _MISSING.sub(lambda match: _no_value(match[1], arguments), _gist(complaint.getvalue()))
        raise UsageError(f"{gist}; see {program} --help") from None
    _refuse_unknown(kind, unknown, others, owner)
    return options


def peek(arguments: Sequence[str], option: str) -> str | None:
    """Return the value of an option that the parsing of the rest depends on."""
    value = None
    for word, following in zip(arguments, [*arguments[1:], None], strict=False):
        name, equals, behind = word.partition("=")
        if name.replace("_", "-") == option:
            value = behind if equals else following
    return value


def names_of(kind: Any) -> list[str]:
    """Return the names of the fields of a dataclass."""
    return [field.name for field in fields(kind)]


def named_options(kind: Any, arguments: Iterable[str]) -> list[str]:
    """Return the fields of a dataclass named by the arguments, --no-NAME included."""
    words = {word.partition("=")[0].replace("_", "-") for word in arguments}
    flags = {name: name.replace("_", "-") for name in names_of(kind)}
    return [name for name, flag in flags.items() if not words.isdisjoint((f"--{flag}", f"--no-{flag}"))]


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


def _refuse_unknown(kind: Any, words: Sequence[str], others: Callable[[], Mapping[str, type]], owner: str) -> None:
    """Reject options and words that belong to no field."""
    names = [name.replace("_", "-") for name in names_of(kind)]
    allowed = ["--help", "--help-all", *(f"--{name}" for name in names), *(f"--no-{name}" for name in names)]
    for word in words:
        typed = word.partition("=")[0]
        option = typed.replace("_", "-")
        if word.startswith("--") and option not in allowed:
            name = option.removeprefix("--").removeprefix("no-").replace("-", "_")
            if owners := " or ".join(key for key, other in others().items() if name in names_of(other)):
                raise UsageError(f"{option}: expected only with {owner} {owners}; leave it out")
            ours = next(
                (name for name, others_of in _ELSEWHERE.items() if option in others_of and name in allowed), None
            )
            hint = suggest(option, allowed, "see --help") if ours is None else f"here it is {ours}"
            raise UsageError(f"unknown option {typed}; {hint}")
    loose = [word for word in words if not word.startswith("--")]
    if loose and re.match("-[A-Za-z]", loose[0]):
        raise UsageError(f"unknown option {loose[0]}; see --help")
    if loose:
        several = ", ask several by --input FILE" if "input" in names else ""
        raise UsageError(f"unexpected argument {loose[0]}; quote texts that contain spaces{several}, and see --help")


@contextlib.contextmanager
def _wide_errors() -> Iterator[None]:
    """Many columns for tyro, so that it breaks no line of an error."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDEST
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _no_value(option: str, arguments: Sequence[str]) -> str:
    """Error for an option without a value, or with one that looks like an option."""
    behind = dict(itertools.pairwise([word.replace("_", "-") if word.startswith("--") else word for word in arguments]))
    word = behind.get(option)
    if word is None or word.startswith("--"):
        return f"{option}: expected a value, got {word or 'nothing'}"
    return f"{option}: expected a value, got {word}, which looks like an option; write {option}={word}"


def _gist(box: str) -> str:
    """Text of tyro's box below its title and above its first rule, as one line."""
    lines = iter(["" if set(line) <= _RULES else line.strip(" │") for line in box.splitlines()])
    next(filter(None, lines), None)  # the title
    body = itertools.dropwhile(lambda line: not line, lines)
    text = _OF_A_CHECK.sub("", one_line(" ".join(itertools.takewhile(bool, body))).rstrip("."))
    return _CHOICE.sub(_one_of, _VALUE.sub(_expected, text))


def _one_of(complaint: re.Match[str]) -> str:
    """Error for a word outside some choices, from tyro's."""
    value, option, choices = complaint.groups()
    names = re.findall(r"'([^']*)'", choices)
    if "None" in names:  # tyro makes a set of them
        names = [*sorted({*names} - {"None"}), "None"]
    expected = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{option}: expected {expected}, got {value}; {suggest(value, names, '')}".removesuffix("; ")


def _expected(complaint: re.Match[str]) -> str:
    """Error for a value that should be a number, from tyro's."""
    option, reason, value = complaint.groups()
    kind = "a whole number" if "int" in reason.lower() else "a number"
    return f"{option}: expected {kind}, got {value or 'nothing'}"
