"""Help of a verb: its options in groups, the first screen or all of it."""

import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, fields
from inspect import cleandoc
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from saccade._definitions.argument_hints import help_texts
from saccade._system.notes import escaped, output

WORDS = {"--help", "-h", "--help-all"}
_COLUMN = 26  # where the text of an option begins
_NARROWEST = 40


class Form(NamedTuple):
    """The options of a program, as its help and its page show them."""

    options: type
    """The dataclass."""

    program: str
    """The words before the options."""

    description: str
    defaults: Mapping[str, Any] = {}
    """Defaults that replace those of the dataclass."""

    groups: Mapping[str, Sequence[str]] = {}
    """Names of options by title, the first screen's group first. Default: one group."""

    @property
    def usage(self) -> str:
        """The program with its positional arguments."""
        words = [option.head for group in self.described().values() for option in group if option.positional]
        return " ".join([self.program, *words, "[OPTIONS]"])

    def described(self) -> dict[str, list["Option"]]:
        """Return the options by the titles of their groups, positional arguments first."""
        types, texts = get_type_hints(self.options, include_extras=True), help_texts(self.options.__mro__)
        table = {}
        for field in map(copy, fields(self.options)):
            field.type = types[field.name]
            text = _annotation(field, "help") or texts.get(field.name, "")
            default = self.defaults.get(field.name, field.default)
            table[field.name] = Option(field.name, _head(field, default), text, default, bool(positional(field)))
        groups = {title: names for title, names in self.groups.items() if names} or {"options": [*table]}
        return {
            title: sorted((table[name] for name in names), key=lambda option: not option.positional)
            for title, names in groups.items()
        }


class Option(NamedTuple):
    """An option, or a positional argument."""

    name: str
    head: str
    """Its name and value, for example --beam-size INT."""

    text: str
    default: Any
    positional: bool

    @property
    def shown_default(self) -> str:
        """The default, "" if the name or the text has it."""
        return "" if isinstance(self.default, bool) or self.default in (MISSING, None, "", ()) else str(self.default)


def show_help(form: Form, *, everything: bool) -> None:
    """Print the help of a program: one screen, or everything."""
    width, height = shutil.get_terminal_size()
    width = max(_NARROWEST, width)
    groups = form.described()

    def explained(title: str, *, briefly: bool = False) -> list[str]:
        return ["", f"{title}:", *(line for option in groups[title] for line in _explained(option, width, briefly))]

    top = [f"usage: {form.usage}", "", *_wrapped(cleandoc(form.description), width)]
    lines = [line for title in groups for line in explained(title)]
    if not everything and len(top) + len(lines) >= height:
        first, *others = groups
        lines = explained(first, briefly=True)
        for title in others:
            flags = " ".join(_flag(option.name) for option in groups[title])
            lines += ["", f"{title}:", *_wrapped(flags, width, "  ")]
        lines += ["", f"{form.program} --help-all explains every option."]
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


def _head(option: Field[Any], default: Any) -> str:
    if default is True:
        return f"--[no-]{option.name.replace('_', '-')}"
    return f"{positional(option) or _flag(option.name)} {_value(option)}".rstrip()


def _explained(option: Option, width: int, briefly: bool) -> list[str]:
    """Lines of an option: name and value, text or its first sentence, default."""
    text, head = option.text, f"  {option.head}"
    if briefly:
        text = re.split(r"[.;] ", text)[0].removesuffix(".") + "."
    if option.shown_default:
        text = f"{text} (default: {option.shown_default})"
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
