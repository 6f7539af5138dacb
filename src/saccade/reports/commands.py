"""The command line that does what was done: every option that is not at its default."""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from saccade.train.options import Options, flag
from saccade.train.task import Task, options_class
from saccade.train.task import recipe as recipe_of

__all__ = ["command", "train_command"]


def command(program: str, options: Any, *defaults: Any, always: Collection[str] = ()) -> str:
    """Return a command line.

    Args:
        program: the words before the options.
        options: a dataclass.
        defaults: the same as it is when no option is given; several where that depends: what differs from one is said.
        always: names of options that are said in any case.

    Example:
        >>> command("saccade train translate", Options(seed=2, run="my run", resume=False), Options())
        "saccade train translate --run 'my run' --no-resume --seed 2"
    """
    words = [program]
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in always and all(value == getattr(usual, field.name) for usual in defaults):
            continue
        if isinstance(value, bool):
            words.append(flag(field.name) if value else flag("no_" + field.name))
        else:
            several = value if isinstance(value, tuple) else (value,)
            words.append(f"{flag(field.name)} {shlex.join(map(str, several))}")
    return " ".join(words)


def train_command(
    kind: type[Task], options: Options, suited: Mapping[str, Any] | None = None, planned: Collection[str] = ()
) -> str:
    """Return the command that trains a run with these options, for those who want it without the report.

    Args:
        kind: the task.
        options: all of them, with what the plan of a budget in minutes has chosen.
        suited: the recipe that `saccade train` takes for the data by what it reads of them (`Task.suited`); None: it
            goes by the data's name.
        planned: names of the options that the plan has chosen: another machine would choose others.
    """
    flat = options_class(kind, options.model, checked=False)
    names, usual = {field.name for field in fields(flat)}, []
    for found in (recipe_of(kind, options.model, options.data), *(() if suited is None else (suited,))):
        recipe = {name: value for name, value in found.items() if name in names}
        if options.max_minutes is not None:  # minutes alone lift the recipe's steps, and are never the default
            recipe |= {"max_steps": None, "max_minutes": 2 * options.max_minutes}
        usual.append(flat(**recipe))
    return command(f"saccade train {kind.name}", options, *usual, always=planned)
