"""Opening the run that a command names: the one that is there, or a new one, planned where its budget is in minutes."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from saccade.errors import ArgumentError
from saccade.train.environment import versions
from saccade.train.files import write_json
from saccade.train.notes import no_line_twice, say
from saccade.train.options import Options, identity
from saccade.train.plan import PLAN, Plan, fitted, open_plan, sentence
from saccade.train.randomness import seeded
from saccade.train.recipes import defaults
from saccade.train.run import Run, beside, folder_of
from saccade.train.speed import plan_for
from saccade.train.task import Kind, Suited, Task, options_class

__all__ = ["Opened", "Wanted", "new_model", "open_run"]


@dataclass(frozen=True)
class Wanted:
    """What a command asks for.

    Args:
        kind: the task.
        options: of the run.
        objects: the data, where they are Python objects or open already.
        suited: what the defaults among the options were chosen by.
        given: names of the options that somebody gave; None: all of them.
        began: when the command began, by time.perf_counter.
    """

    kind: Kind
    options: Options
    objects: Any
    suited: Suited | None
    given: Collection[str] | None
    began: float


@dataclass(frozen=True)
class Opened:
    """A run that may begin or go on.

    Args:
        run: its folder.
        task: what it is trained on.
        options: all of them, with what its plan has chosen.
        model: the new one, if it was made to see whether it can be.
    """

    run: Run
    task: Task
    options: Options
    model: nn.Module | None = None


def open_run(wanted: Wanted, device: torch.device) -> Opened:
    """Return the run that the options name, made and planned if it is not there.

    Raises:
        RunError: if the folder is of something else.
    """
    kind, options = wanted.kind, wanted.options
    folder = folder_of(kind.name, options.model, options.data, options.run)
    if not options.resume and folder.exists():
        folder = beside(folder)
        say(f"starting a new run in {folder}")
    if not (folder / "config.json").exists():
        return _make(wanted, folder, device)
    run = Run.open(folder)
    run.refuse_difference(kind.name, {"model": options.model})
    run.check_files()
    if wanted.given is not None:
        options = fitted(options, open_plan(folder), wanted.given)
    task = kind.restore(options, folder, wanted.objects)
    if task.data.fingerprint != run.config["data"]:
        old, new = run.config["options"]["data"], options.data
        run.refuse("--data", *((old, new) if old != new else (run.config["data"], task.data.fingerprint)))
    usual = {option.name: option.default for option in fields(options)}
    run.refuse_difference(kind.name, identity(options), usual)  # last: what data there are changes others' defaults
    return Opened(run, task, options)


def new_model(task: Task, options: Options) -> nn.Module:
    """Return the model of a run before its first step."""
    with seeded(options.seed, "weights"):
        return task.build()


def _make(wanted: Wanted, folder: Path, device: torch.device) -> Opened:
    """Make the folder of a run, with the plan of its budget in it if there is one to be planned."""
    Run.check_place(folder)  # before the data, which take their time
    with no_line_twice():
        wanted, task, model, plan = _planned(wanted, device)
    kind, options, suited = wanted.kind, wanted.options, wanted.suited
    if plan:
        say(sentence(plan))
        options = fitted(options, plan, wanted.given or ())

    def save(place: Path) -> None:
        task.save(place)
        if plan:
            write_json(place / PLAN, asdict(plan))

    config = {"task": kind.name, "model": options.model, "data": task.data.fingerprint, "options": asdict(options)}
    if suited is not None and suited.reason:
        config["recipe"] = dict(suited.options)
    run = Run.create(folder, {**config, "saccade": versions()["saccade"]}, save)
    return Opened(run, task, options, model)


def _planned(wanted: Wanted, device: torch.device) -> tuple[Wanted, Task, nn.Module, Plan | None]:
    """What a new run begins with: by the recipe that suits its data, or a smaller one that fits its minutes better."""
    kind, options, suited = wanted.kind, wanted.options, wanted.suited
    task = kind.prepare(options, wanted.objects)
    model = new_model(task, options)  # before the folder: a model too large for the memory leaves none behind
    if suited is not None and suited.reason:
        say(suited.reason)
    if wanted.given is None:
        return wanted, task, model, None
    usual = None if suited is None else suited.options
    plan = plan_for(task, model, options, wanted.given, usual, device, wanted.began)
    if plan is None or not plan.few or suited is None or suited.smaller is None:
        return wanted, task, model, plan
    smaller = _smaller(wanted, suited.smaller)
    if smaller is None:
        return wanted, task, model, plan
    say(f"{sentence(plan)}:")
    found, task, model, plan = _planned(replace(wanted, options=smaller, suited=suited.smaller), device)
    changed = {name: value for name, value in asdict(smaller).items() if value != getattr(options, name)}
    return found, task, model, plan and replace(plan, options={**changed, **plan.options})


def _smaller(wanted: Wanted, suited: Suited) -> Options | None:
    """The options of a smaller recipe with what is given in their place, None where these mean nothing together."""
    kind, options = wanted.kind, wanted.options
    given = {name: getattr(options, name) for name in wanted.given or ()}
    values = defaults(kind, options.model, options.data, given, suited)
    try:
        return options_class(kind, options.model)(**{**values, **given})
    except ArgumentError as error:
        say(f"{suited.reason}, but does not go with what is given ({error})")
        return None
