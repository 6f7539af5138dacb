"""Open the run that a command names: an existing one, or a new one with its budget in minutes planned."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from saccade._system.environment import versions
from saccade._system.notes import say
from saccade.errors import ArgumentError
from saccade.train.options import Options, identity, paths
from saccade.train.plan import Plan, fitted, plan_for, sentence
from saccade.train.randomness import seeded
from saccade.train.recipes import resolve
from saccade.train.results import Training
from saccade.train.run import Run, beside, folder_of
from saccade.train.task import Kind, Suited, Task

__all__ = ["Request", "new_model", "open_run"]


@dataclass(frozen=True)
class Request:
    """The arguments of `saccade.train.fit.train`, and when it began by time.perf_counter."""

    kind: Kind
    options: Options
    objects: Any
    suited: Suited | None
    given: Collection[str] | None
    began: float


def open_run(request: Request, device: torch.device) -> Training:
    """Return the run that the options name, made and planned if it does not exist.

    Raises RunError if the folder holds another run, or anything else.
    """
    kind, options = request.kind, request.options
    folder = folder_of(kind.name, options.model, options.data, options.run)
    if not options.resume and folder.exists():
        folder = beside(folder)
        say(f"starting a new run in {folder}")
    if not (folder / "config.json").exists():
        return _make(request, folder, device)
    run = Run.open(folder)
    run.refuse_difference(kind.name, {"model": options.model})
    run.check_files()
    if request.given is not None:
        options = fitted(options, run.config.get("plan", {}).get("options", {}), request.given)
    task = kind.restore(run.located(options, kind.builtin, here=True), folder, request.objects)
    if task.data.fingerprint != run.config["data"]:
        old, new = run.config["options"]["data"], options.data
        run.refuse("--data", *((old, new) if old != new else (run.config["data"], task.data.fingerprint)))
    run.refuse_difference(kind.name, identity(options))  # last: other data change the defaults of other options
    return Training(run, task, options, device)


def new_model(task: Task, options: Options) -> nn.Module:
    """Return the model of a run before its first step."""
    with seeded(options.seed, "weights"):
        return task.build()


def _make(request: Request, folder: Path, device: torch.device) -> Training:
    """Make the folder of a run: by its recipe, or by a smaller one that fits its minutes better."""
    Run.check_place(folder)  # before the data, which take their time
    kind, options, suited, plan = request.kind, request.options, request.suited, None
    while True:
        task = kind.prepare(options, request.objects)
        model = new_model(task, options)  # before the folder: a model too large for the memory leaves none behind
        if suited is not None and suited.reason:
            say(suited.reason)
        if request.given is not None:
            recipe = None if suited is None else suited.options
            plan = plan_for(task, model, options, request.given, recipe, device, request.began)
        smaller = _smaller(request, suited, plan)
        if smaller is None or plan is None:
            break
        say(f"{sentence(plan)}:")
        options, suited = smaller
    config: dict[str, Any] = {"task": kind.name, "model": options.model, "data": task.data.fingerprint}
    if plan is not None:
        say(sentence(plan))
        options = fitted(options, plan.options, request.given or ())
        config["plan"] = asdict(plan)
    if any(value not in kind.builtin and Path(value).exists() for value in paths(options).values()):
        config["folder"] = str(Path.cwd())
    config |= {"options": asdict(options), "saccade": versions()["saccade"]}
    return Training(Run.create(folder, config, task.save), task, options, device, model=model)


def _smaller(request: Request, suited: Suited | None, plan: Plan | None) -> tuple[Options, Suited] | None:
    """Options of a smaller recipe, if few steps of the present one fit and the user's options go with it."""
    if plan is None or not plan.few or suited is None or suited.smaller is None:
        return None
    kind, options = request.kind, request.options
    given = {name: getattr(options, name) for name in request.given or ()}
    try:
        return resolve(kind, options.model, options.data, given, suited.smaller), suited.smaller
    except ArgumentError as error:
        say(f"{suited.smaller.reason}, but does not go with what is given ({error})")
        return None
