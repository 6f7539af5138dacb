"""`saccade train TASK`: train a model, or go on training it."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from saccade._definitions.argument_hints import choose
from saccade._system.environment import process_seconds
from saccade._system.notes import output, say
from saccade.cli.arguments import INTERRUPTED, UsageError, named_options, names_of, parse, peek
from saccade.cli.catalogue import summaries
from saccade.cli.config import Config, read_config
from saccade.cli.help import Form, show_choices
from saccade.cli.metrics import print_baselines, print_folds, print_metrics
from saccade.cli.threads import set_threads
from saccade.tasks import TASKS, load_task
from saccade.train.fit import Outcome, train
from saccade.train.folds import cross_validate
from saccade.train.options import Options, flat
from saccade.train.recipes import data_of, defaults, resolve, suit, usual
from saccade.train.results import stored_baselines
from saccade.train.schedules import FALLING
from saccade.train.task import Kind, choose_model, model_class, models_of, options_class

_USUAL = ("data", "model", "run", "config", "max_steps", "max_minutes", "seed", "device")  # first in the help


def run(arguments: list[str]) -> int:
    """Train as the arguments say, and print what the model came to."""
    if not arguments or arguments[0] in ("-h", "--help"):
        show_choices("saccade train", "TASK", summaries())
        return 0
    kind = load_task(choose("TASK", arguments[0], TASKS))
    words = arguments[1:]
    began = time.perf_counter() - (process_seconds() if arguments == sys.argv[2:] else 0.0)  # of this command
    path = peek(words, "--config")
    config = Config() if path is None else read_config(path, kind)
    typed = {word.partition("=")[0].removeprefix("--").removeprefix("no-").replace("-", "_") for word in words}
    with config.named_in_errors(typed):
        return _train(kind, read_command(kind, words, config), began)


def _train(kind: Kind, command: "Command", began: float) -> int:
    if command.named.get("folds"):
        return _train_folds(kind, command, began)
    suited = suit(kind, command.model, command.data, command.named)
    chosen = resolve(kind, command.model, command.data, command.named, suited)
    advise = partial(set_threads, command.named.get("threads"), advise=True)
    outcome = train(kind, chosen, suited.data, suited, command.named, advise, began=began)
    if outcome.follows:
        return 0
    if outcome.results is None:
        return _interrupted(outcome)
    if not outcome.fresh:
        way_on = _way_on(outcome.results["final"], outcome.run.config)
        say(f"{outcome.run.folder} is at its end, step {outcome.step}, already; {way_on}")
    for split, name in (("test", "metrics"), ("validation", "validation")):
        print_metrics(split, outcome.results[name], {}, explain=split == "test")
        print_baselines(split, stored_baselines(outcome.results, split))
    output(f"run: {outcome.run.folder}")
    if advice := outcome.results.get("advice"):
        say(advice)
    return 0


def _train_folds(kind: Kind, command: "Command", began: float) -> int:
    """Train a run for each fold, and print the means of their results."""
    advise = partial(set_threads, command.named.get("threads"), advise=True)
    folds = cross_validate(kind, command.model, command.data, command.named, began=began, accepted=advise)
    if folds.last.follows:
        return 0
    if folds.results is None:
        return _interrupted(folds.last)
    for split in ("test", "validation"):
        print_folds(split, folds.results)
    output(f"runs: {folds.folder}")
    if advice := folds.results["advice"]:
        say(advice)
    return 0


def _interrupted(outcome: Outcome) -> int:
    say(f"interrupted at step {outcome.step}; its checkpoint is kept, and the same command goes on from there")
    return INTERRUPTED


def _way_on(final: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Hint for a finished run."""
    if final["stopped_early"]:
        return f"no validation was better than that of step {final['best_step']}; a larger --patience goes on"
    if final["steps"] == [0]:
        return "no step was better than the fitted start; a smaller --learning-rate in a new run may be"
    way_on = "a larger --max-steps or --max-minutes goes on"
    if config["options"]["schedule"] in FALLING:
        by_clock = "warmup" in config.get("plan", {}).get("clock", {})
        start = "" if by_clock else f"from step {config['options']['schedule_steps']} on "
        way_on += f" ({start}at the last learning rate of its schedule)"
    return way_on


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of options."""

    config: str | None = None
    """YAML file of options, or config.json of a run. The command line overrides it."""


@dataclass(frozen=True)
class Command:
    """Parsed words of a command line."""

    model: str
    data: str  # as `--data` names them
    named: dict[str, Any]  # options in it, by their names


def read_command(kind: Kind, arguments: list[str], config: Config | None = None) -> Command:
    """Parse the arguments and a file of options. Reads no data."""
    config = config or Config()
    words = {name: peek(arguments, f"--{name}") for name in ("model", "run", "data")}
    named, run, data = (config.value(n, path=n == "data") if word is None else word for n, word in words.items())
    usual_model, usual_data = usual(kind, run)
    model = usual_model if named is None else choose_model(kind, named, "--model")
    if data == "":
        raise UsageError("--data: expected a built-in data set, a folder or a file, got an empty name")
    data = usual_data if data is None else data_of(kind, data)
    options: Any = options_class(kind, model, checked=False)
    arguments = [*config.words(options, model), *arguments]  # of two equal options the last one counts
    form = form_of(kind, model, data)
    parsed = parse(
        form.options,
        arguments,
        form.program,
        form.description,
        form.options(**form.defaults),
        others=lambda: {name: options_class(kind, name) for name in models_of(kind)},
        owner="--model",
        groups=form.groups,
    )
    named_values = {**config.nulls, **{name: getattr(parsed, name) for name in named_options(options, arguments)}}
    return Command(model, data, {**named_values, "data": data} if "data" in named_values else named_values)


def form_of(kind: Kind, model: str, data: str) -> Form:
    """Return the options of a model, with its defaults on some data."""
    description = f"Train {kind.name}. Models: {', '.join(models_of(kind))}. Built-in data: {', '.join(kind.builtin)}."
    if data not in kind.builtin:
        description += " Defaults are those for much data; training may choose others by what it reads, and says which."
    of_model: Any = options_class(kind, model, checked=False)
    options: Any = flat(of_model, File, checked=False)
    usual_values = vars(options(**defaults(kind, model, data, {})))
    return Form(options, f"saccade train {kind.name}", description, usual_values, _groups(kind, model))


def _groups(kind: Kind, model: str) -> dict[str, list[str]]:
    """Names of options by title, the usual ones first."""
    parts = {kind.name: kind.Options, model: model_class(kind, model).Options, "training": Options}
    groups = {"options": list(_USUAL)}
    for title, part in parts.items():
        listed = {name for names in groups.values() for name in names}
        groups[title] = [name for name in names_of(part) if name not in listed]
    return {title: names for title, names in groups.items() if names}
