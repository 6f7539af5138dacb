"""`saccade train TASK`: train a model, or go on training it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from saccade.cli.arguments import INTERRUPTED, UsageError, choose, named_options, parse, peek
from saccade.cli.metrics import print_baselines, print_metrics
from saccade.cli.threads import set_threads
from saccade.errors import ArgumentError
from saccade.tasks import TASKS, load_task
from saccade.train.baselines import kept
from saccade.train.fit import train
from saccade.train.notes import output, say
from saccade.train.options import Options
from saccade.train.recipes import data_of, defaults, suit, usual_model
from saccade.train.schedules import FALLING
from saccade.train.task import Kind, Suited, options_class


def run(arguments: list[str]) -> int:
    """Train as the arguments say, and print what the model came to."""
    if not arguments or arguments[0] in ("-h", "--help"):
        output("usage: saccade train TASK [OPTIONS]\n\nsaccade train TASK --help says which options there are.\n")
        output("TASK:\n" + "\n".join(f"  {name}" for name in TASKS))
        return 0
    kind = load_task(choose("TASK", arguments[0], TASKS))
    command = read_command(kind, arguments[1:])
    suited = suit(kind, command.model, command.data, command.named)
    chosen = options(kind, command, suited)
    advise = partial(set_threads, command.named.get("threads"), advise=True)
    outcome = train(kind, chosen, suited.data, suited, command.named, advise)
    if outcome.follows:
        return 0
    if outcome.results is None:
        say(f"interrupted at step {outcome.step}; its checkpoint is kept, and the same command goes on from there")
        return INTERRUPTED
    if not outcome.fresh:
        way_on = _way_on(outcome.results["final"], outcome.run.config["options"])
        say(f"{outcome.run.folder} is at its end, step {outcome.step}, already; {way_on}")
    for split, name in (("test", "metrics"), ("validation", "validation")):
        print_metrics(split, outcome.results[name], {})
        print_baselines(split, kept(outcome.results, split) or {})
    output(f"run: {outcome.run.folder}")
    return 0


def _way_on(final: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Hint for a finished run."""
    if final["stopped_early"]:
        return f"no validation was better than that of step {final['best_step']}; a larger --patience goes on"
    way_on = "a larger --max-steps or --max-minutes goes on"
    if options["schedule"] in FALLING:
        way_on += f" (from step {options['schedule_steps']} on at the last learning rate of its schedule)"
    return way_on


@dataclass(frozen=True)
class Command:
    """Parsed words of a command line."""

    model: str
    data: str  # as `--data` names them
    named: dict[str, Any]  # options in it, by their names


def read_command(kind: Kind, arguments: list[str]) -> Command:
    """Parse the arguments, without reading data or checking values together."""
    named = peek(arguments, "--model")
    model = choose("--model", usual_model(kind, peek(arguments, "--run")) if named is None else named, kind.models)
    if (data := peek(arguments, "--data")) == "":
        raise UsageError("--data: expected a built-in data set, a folder or a file, got an empty name")
    data = data_of(kind, data)
    flat = options_class(kind, model, checked=False)
    description = f"Train {kind.name}. Models: {', '.join(kind.models)}. Built-in data: {', '.join(kind.builtin)}."
    if data not in kind.builtin:
        description += " Defaults are those for much data; training may choose others by what it reads, and says which."
    default = flat(**defaults(kind, model, data, {}))
    parsed = parse(
        flat,
        arguments,
        _program(kind),
        description,
        default,
        others=lambda: {name: options_class(kind, name) for name in kind.models},
        owner="--model",
    )
    typed = {name: getattr(parsed, name) for name in named_options(flat, arguments)}
    return Command(model, data, {**typed, "data": data} if "data" in typed else typed)


def options(kind: Kind, command: Command, suited: Suited | None = None) -> Options:
    """Return all options of the run: the named ones, and suitable defaults."""
    values = {**defaults(kind, command.model, command.data, command.named, suited), **command.named}
    try:
        return options_class(kind, command.model)(**values)
    except ArgumentError as error:
        raise UsageError(f"{error}; see {_program(kind)} --help") from error


def _program(kind: Kind) -> str:
    return f"saccade train {kind.name}"
