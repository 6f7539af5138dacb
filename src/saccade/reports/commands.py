"""The command line that does what was done: every option that is not at its default."""

import shlex
from dataclasses import fields
from typing import Any

from saccade.train.options import Options, flag
from saccade.train.task import Task, options_class
from saccade.train.task import recipe as recipe_of

__all__ = ["command", "train_command"]


def command(program: str, options: Any, defaults: Any) -> str:
    """Return a command line.

    Args:
        program: the words before the options.
        options: a dataclass.
        defaults: the same as it is when no option is given.

    Example:
        >>> command("saccade train translate", Options(seed=2, run="my run", resume=False), Options())
        "saccade train translate --run 'my run' --no-resume --seed 2"
    """
    words = [program]
    for field in fields(options):
        value = getattr(options, field.name)
        if value is None or value == getattr(defaults, field.name):
            continue
        if isinstance(value, bool):
            words.append(flag(field.name) if value else flag("no_" + field.name))
        else:
            several = value if isinstance(value, tuple) else (value,)
            words.append(f"{flag(field.name)} {shlex.join(map(str, several))}")
    return " ".join(words)


def train_command(kind: type[Task], options: Options) -> str:
    """Return the command that trains a run with these options, for those who want it without the report."""
    flat = options_class(kind, options.model)
    names = {field.name for field in fields(flat)}
    recipe = {name: value for name, value in recipe_of(kind, options.model, options.data).items() if name in names}
    if options.max_minutes is not None:  # minutes alone lift the recipe's steps, and are never the default
        recipe |= {"max_steps": None, "max_minutes": 2 * options.max_minutes}
    return command(f"saccade train {kind.name}", options, flat(**recipe))
