"""Help of a verb: its options in groups, the first screen or all of it."""

import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, fields
from inspect import cleandoc
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from saccade._definitions.argument_hints import help_texts
from saccade._system.notes import escaped, output

WORDS = {"--help", "-h", "--help-all"}
_COLUMN = 26  # where the text of an option begins
_NARROWEST = 40


def show_help(
    kind: type,
    program: str,
    description: str,
    defaults: Mapping[str, Any],
    groups: Mapping[str, Sequence[str]],
    *,
    everything: bool,
) -> None:
    """Print the help of a dataclass of options: one screen, or everything.

    Args:
        kind: the dataclass.
        program: the words before the options.
        description: of the program.
        defaults: where they differ from the dataclass's own.
        groups: names of options by title. The first group is explained on the first screen.
        everything: explain all groups, not the first one alone.
    """
    width, height = shutil.get_terminal_size()
    width = max(_NARROWEST, width)
    types = get_type_hints(kind, include_extras=True)
    table = {field.name: copy(field) for field in fields(kind)}
    for name, option in table.items():
        option.type = types[name]
    groups = {title: names for title, names in groups.items() if names} or {"options": list(table)}
    texts = help_texts(kind.__mro__)
    first_words = [name for name, option in table.items() if positional(option)]

    def described(title: str, *, briefly: bool = False) -> list[str]:
        lines = ["", f"{title}:"]
        for name in sorted(groups[title], key=lambda name: name not in first_words):
            text = _annotation(table[name], "help") or texts.get(name, "")
            text = re.split(r"[.;] ", text)[0].removesuffix(".") + "." if briefly else text
            lines += _explained(table[name], text, defaults.get(name, table[name].default), width)
        return lines

    usage = " ".join([program, *(positional(table[name]) for name in first_words), "[OPTIONS]"])
    top = [f"usage: {usage}", "", *_wrapped(cleandoc(description), width)]
    lines = [line for title in groups for line in described(title)]
    if not everything and len(top) + len(lines) >= height:
        first, *others = groups
        lines = described(first, briefly=True)
        for title in others:
            lines += ["", f"{title}:", *_wrapped(" ".join(map(_flag, groups[title])), width, "  ")]
        lines += ["", f"{program} --help-all explains every option."]
    output(escaped("\n".join(top + lines)))


def show_choices(program: str, word: str, choices: Mapping[str, str]) -> None:
    """Print the help of a verb with a choice as its first word."""
    width = max(map(len, choices))
    output(f"usage: {program} {word} [OPTIONS]\n\n{word}:")
    output("\n".join(f"  {name:{width}}  {sentence}".rstrip() for name, sentence in choices.items()))
    output(f"\n{program} {word} --help lists the options.")


def choices_of(kind: Any) -> list[str]:
    """The words that a type allows, none if it is no choice.

    >>> choices_of(Literal["pre", "post"] | None), choices_of(str)
    (['pre', 'post'], [])
    """
    if get_origin(kind) is Literal:
        return [str(word) for word in get_args(kind) if word is not None]
    return [word for part in get_args(kind) for word in choices_of(part)]


def _explained(option: Field[Any], text: str, default: Any, width: int) -> list[str]:
    """Lines of an option: its name and value, its text, its default."""
    head = f"  {positional(option) or _flag(option.name)} {_value(option)}".rstrip()
    if isinstance(default, bool):
        head = f"  --[no-]{option.name.replace('_', '-')}" if default else head
    elif default not in (MISSING, None, "", ()):
        text = f"{text} (default: {default})"
    column = min(_COLUMN, width // 2)
    lines = _wrapped(text, width - column)
    begins = [f"{head:{column}}{lines.pop(0)}"] if len(head) < column - 1 else [head]
    return [*begins, *(" " * column + line for line in lines)]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def positional(option: Field[Any]) -> str:
    """Return the word for a positional argument, "" for an option."""
    import tyro

    return _annotation(option, "metavar") if tyro.conf.Positional in _metadata(option) else ""


def _metadata(option: Field[Any]) -> tuple[Any, ...]:
    return getattr(option.type, "__metadata__", ())


def _annotation(option: Field[Any], name: str) -> str:
    return next((value for part in _metadata(option) if (value := getattr(part, name, None))), "")


def _value(option: Field[Any]) -> str:
    """Return the word for an option's value, "" for positional arguments and flags."""
    kind: Any = option.type
    if metavar := _annotation(option, "metavar"):
        return "" if positional(option) else metavar
    if choices := choices_of(kind):
        return "{" + ",".join(choices) + "}"
    kinds = [part for part in get_args(kind) or [kind] if part is not NoneType]
    return {bool: "", int: "INT", float: "FLOAT"}.get(kinds[0], "TEXT")


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Paragraphs of a text, broken at spaces."""
    settings: Any = {"initial_indent": indent, "subsequent_indent": indent, "break_on_hyphens": False}
    return [line for part in text.splitlines() for line in textwrap.wrap(part, width, **settings) or [""]] or [""]
