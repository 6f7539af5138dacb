"""Train a task: make or resume a run, and write its results.

Nothing is written before the command is checked against the run. Lightning, slow to import, is imported only if there
are steps to take.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from saccade._system.environment import (
    bound_shape_caches,
    busy_cores,
    check_precision,
    check_processes,
    choose_device,
    keep_freed_memory,
    versions,
)
from saccade._system.files import check_folder, check_writable, write_json
from saccade._system.notes import say
from saccade.errors import ArgumentError
from saccade.train.averaging import candidates, choose, needed
from saccade.train.card import write_card
from saccade.train.checkpoint import Checkpoint, list_steps, load, newest, prune, set_aside
from saccade.train.launch import launch
from saccade.train.options import Options, before, identity, origin, paths
from saccade.train.pace import Mark
from saccade.train.plan import Plan, Speed, closing_seconds, crowd, fitted, measure_speed, opening, plan_for, sentence
from saccade.train.plan import start as start_clock
from saccade.train.progress import waiting
from saccade.train.randomness import seeded
from saccade.train.ranks import Ranks, current, joined
from saccade.train.recipes import resolve
from saccade.train.results import (
    Training,
    TrainState,
    baselines,
    better_baseline,
    complete,
    measure,
    summarize,
)
from saccade.train.run import Run, RunError, beside, folder_of
from saccade.train.task import Evaluation, Kind, Suited, Task, kind_of, options_class, values
from saccade.train.weights import load_into


@dataclass(frozen=True)
class Outcome:
    """The end of a call of `train`.

    Without results, the user stopped the run before its end. If it is not fresh, it was complete already. A process
    that `follows` only trains beside another, which has the results.
    """

    run: Run
    step: int
    results: dict[str, Any] | None
    fresh: bool
    follows: bool = False


@dataclass(frozen=True)
class _Request:
    """The arguments of `train`."""

    kind: Kind
    options: Options
    objects: Any
    suited: Suited | None
    explicit: Collection[str] | None
    began: float


def train(
    kind: Kind,
    options: Options,
    objects: Any = None,
    suited: Suited | None = None,
    given: Collection[str] | None = None,
    accepted: Callable[[], None] | None = None,
    loggers: Sequence[Any] = (),
    began: float | None = None,
) -> Outcome:
    """Train, or go on training, until the budget is spent.

    With a budget in minutes alone, a new run measures its speed and plans how many steps fit: see
    `saccade.train.plan`. The plan replaces options that the user did not give.

    Args:
        kind: the task.
        options: of the task and the model, as `options_class` has them.
        objects: the data, if they are Python objects or open already.
        suited: the recipe behind the defaults among the options, which a new run reports.
        given: names of the options that the user gave; None: all of them, and nothing is planned.
        accepted: called before the first step, once nothing can be rejected any more.
        loggers: Lightning's, which receive the numbers of metrics.jsonl.
        began: moment of time.perf_counter from which the minutes of a new run count. Default: that of the call.

    Raises RunError if the folder belongs to something else, SaccadeError if the data cannot be read or the
    loss is not finite, and OSError if the folder cannot be written. The last checkpoint is kept.
    """
    began, ranks = time.perf_counter() if began is None else began, current(options)
    if loggers:
        from saccade.train.engine import check_loggers

        check_loggers(loggers)
    device = choose_device(options.device, ranks.local, ranks.here)
    check_precision(options.precision, device)
    if not ranks.external:
        check_processes(ranks.world)
    if options.threads or ranks.here > 1:  # several processes share the cores
        torch.set_num_threads(options.threads or max(1, (os.cpu_count() or 1) // ranks.here))
    keep_freed_memory()
    bound_shape_caches()
    with joined(device) if ranks.external and ranks.world > 1 else nullcontext():
        if ranks.leads:
            return _lead(_Request(kind, options, objects, suited, given, began), device, ranks, accepted, loggers)
        return _follow(kind, device, ranks)


def _lead(
    request: _Request, device: torch.device, ranks: Ranks, accepted: Callable[[], None] | None, loggers: Sequence[Any]
) -> Outcome:
    """Train as the first process, or the only one."""
    training = _open(request, device)
    training.ranks, training.loggers, run = ranks, loggers, training.run
    with run.locked():
        results = run.results()
        if results is not None and run.trained and complete(results, training.options):
            if ranks.external:
                ranks.share(None)
            return Outcome(run, results["steps"], results, fresh=False)
        check_writable("--run", run.folder)
        training.model = training.model or _new_model(training.task, training.options)
        return _train(training, accepted)


def _follow(kind: Kind, device: torch.device, ranks: Ranks) -> Outcome:
    """Train beside the first process, with its options and from its checkpoint."""
    from saccade.train.engine import advance

    shared = ranks.share(None)
    if shared is None:  # there was nothing to do
        return Outcome(Run(Path(), {}), 0, None, fresh=False, follows=True)
    folder, step, values = shared
    run, options = Run.open(folder), options_class(kind, values["model"])(**values)
    task = kind.restore(run.located(options, kind.builtin, here=True), folder)
    training = Training(run, task, options, device, ranks, _new_model(task, options))
    if step:
        _restore(training, load(run.checkpoints, step))
    start_clock(training.state, run.config.get("plan", {}), options)
    training.model.to(device)
    advance(training)
    return Outcome(run, training.state.step, None, fresh=True, follows=True)


def _open(request: _Request, device: torch.device) -> Training:
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
    if request.explicit is not None:
        options = fitted(options, run.config.get("plan", {}).get("options", {}), request.explicit)
    task = kind.restore(run.located(options, kind.builtin, here=True), folder, request.objects)
    if task.data.fingerprint != run.config["data"]:
        old, new = run.config["options"]["data"], options.data
        run.refuse("--data", *((old, new) if old != new else (run.config["data"], task.data.fingerprint)))
    run.refuse_difference(
        kind.name, identity(options), before(type(options))
    )  # last: other data change the defaults of other options
    return Training(run, task, options, device)


def _new_model(task: Task, options: Options) -> nn.Module:
    """Return the model of a run before its first step."""
    with seeded(options.seed, "weights"):
        return task.build()


def _make(request: _Request, folder: Path, device: torch.device) -> Training:
    """Make the folder of a run, by its recipe or a smaller one that fits its minutes."""
    Run.check_place(folder)  # before the data, which take their time
    check_folder("--run", folder)
    kind, options = request.kind, request.options
    is_planned = request.explicit is not None and options.max_minutes is not None and options.max_steps is None
    chosen = _Chosen(options, request.suited)
    if is_planned and (line := crowd(busy_cores(), torch.get_num_threads(), os.cpu_count() or 1)):
        say(line)
    if is_planned and request.suited is not None and request.suited.smaller is not None:
        chosen = _choose_recipe(request, device)
    options, suited = chosen.options, chosen.suited
    task = kind.prepare(options, request.objects)
    options = getattr(task, "settings", options)  # with names of columns that were guessed
    model = _new_model(task, options)  # before the folder: a model too large for the memory leaves none behind
    if suited is not None and suited.reason and chosen.speed is None:
        say(suited.reason)
    config: dict[str, Any] = {"task": kind.name, "model": options.model, "data": task.data.fingerprint}
    made = Training(Run(folder, config), task, options, device, model=model)
    if is_planned:
        config["plan"] = asdict(_plan(made, request, chosen))
    if any(value not in kind.builtin and Path(value).exists() for value in paths(options).values()):
        config["folder"] = str(Path.cwd())
    config |= {"options": asdict(made.options), "saccade": versions()["saccade"]}
    made.run = Run.create(folder, config, task.save)
    return made


class _Chosen(NamedTuple):
    """A recipe for a new run, and its speed if it was measured, in so many seconds."""

    options: Options
    suited: Suited | None
    speed: Speed | None = None
    seconds: float = 0.0


def _choose_recipe(request: _Request, device: torch.device) -> _Chosen:
    """Return the first recipe with enough steps in the minutes, or the smallest.

    They are timed with codecs of a few examples: to learn a whole codec for each may take most of the minutes.
    """
    kind, options, suited, began = request.kind, request.options, request.suited, time.perf_counter()
    trial = getattr(kind, "trial", kind.prepare)
    while True:
        task = trial(options, request.objects)
        model = _new_model(task, options)
        if suited is not None and suited.reason:
            say(suited.reason)
        recipe, speed = None if suited is None else suited.options, measure_speed(task, model, options, device)
        plan = plan_for(task, options, request.explicit or (), recipe, speed, time.perf_counter() - request.began)
        if (smaller := _smaller(request, suited, plan)) is None:
            return _Chosen(options, suited, speed, time.perf_counter() - began)
        say(f"{sentence(plan)}; a smaller model learns more in them:")
        options, suited = smaller


def _plan(made: Training, request: _Request, chosen: _Chosen) -> Plan:
    """Plan a new run with a budget in minutes."""
    suited, minutes, ready = chosen.suited, request.options.max_minutes, time.perf_counter()
    assert minutes is not None
    speed = chosen.speed or measure_speed(made.task, made.model, made.options, made.device)
    planned = time.perf_counter()
    made.baselines = {split: made.task.baselines(split) for split in ("test", "validation")}
    baselines, before = time.perf_counter() - planned, time.perf_counter() - request.began
    recipe = None if suited is None else suited.options
    plan = plan_for(made.task, made.options, request.explicit or (), recipe, speed, before)
    plan.seconds["baselines"] = round(baselines, 4)
    start = ready - request.began - chosen.seconds
    parts = {"start and data": start, "planning": chosen.seconds + planned - ready, "baselines": baselines}
    for line in filter(None, (opening(minutes, parts), sentence(plan))):
        say(line)
    made.options, made.began = fitted(made.options, plan.options, request.explicit or ()), request.began
    return plan


def _smaller(request: _Request, suited: Suited | None, plan: Plan) -> tuple[Options, Suited] | None:
    """Return options of a smaller recipe, or None.

    They are for a budget that fits few steps of the present recipe, and must agree with the user's options. If very few
    fit, it is the smallest recipe.
    """
    if not plan.few or suited is None or (smaller := suited.smaller) is None:
        return None
    while plan.very_few and smaller.smaller is not None:
        smaller = smaller.smaller
    kind, options = request.kind, request.options
    explicit = {name: getattr(options, name) for name in request.explicit or ()}
    try:
        return resolve(kind, options.model, options.data, explicit, smaller), smaller
    except ArgumentError as error:
        say(f"{smaller.reason}, but does not go with what is given ({error})")
        return None


def _work(kind: Kind, values: dict[str, Any]) -> None:
    """The work of a process that `launch` starts."""
    train(kind, options_class(kind, values["model"])(**values))


def _train(training: Training, accepted: Callable[[], None] | None) -> Outcome:
    run, options, ranks = training.run, training.options, training.ranks
    checkpoint, plan = _checkpoint(run), run.config.get("plan", {})
    seconds = plan.get("seconds", {})  # a part of a planned budget is over
    if checkpoint:
        _restore(training, checkpoint)
        if (before := checkpoint.scalars["threads"]) != (now := torch.get_num_threads()):
            say(f"{before} threads until now, {now} from here on: the last digits of results may differ")
    else:
        training.state = TrainState(seconds=seconds.get("before", 0.0), reserve=seconds.get("final", 0.0))
    state, training.ticks = training.state, start_clock(training.state, plan, options)
    training.closing = closing_seconds() + (0.0 if training.baselines else seconds.get("baselines", 0.0))
    training.model.to(training.device)
    run.rewind_log(state.step, state.logged)
    if state.ended(options):
        if ranks.external:
            ranks.share(None)
        return Outcome(run, state.step, _conclude(training), fresh=True)
    from saccade.train.engine import advance

    if accepted is not None:
        accepted()
    values = asdict(options)
    with launch(ranks, training.device, _work, kind_of(training.task), values):
        ranks.share((run.folder, state.step, values))
        if not advance(training):
            return Outcome(run, state.step, None, fresh=True)
    steps = options.max_steps or options.schedule_steps
    if steps and state.step < steps and state.spent(options) and "warmup" not in state.clock:
        say(f"the minutes are over at step {state.step} of {steps}; a larger --max-minutes goes on from there")
    return Outcome(run, state.step, _conclude(training), fresh=True)


def _conclude(training: Training) -> dict[str, Any]:
    """Write the trained model, measure it, and write its results."""
    run, task, model = training.run, training.task, training.model
    options, state = training.options, training.state
    models, evaluations = candidates(run, model, state, options), list[Evaluation]()
    model.to(training.device)  # Lightning takes it back to the CPU
    with waiting("measuring on validation and test", state.reserve):
        for candidate in models if len(models) > 1 else ():
            load_into(model, candidate.weights)
            evaluations.append(measure(task, model, "validation", options.seed))
        best, compared = choose(training, models, evaluations)
        chosen = models[best]
        if len(models) == 1 and chosen.steps[-1] != state.step:
            why = "the best on validation" if chosen.steps[-1] else "its fitted start alone: no step was better"
            say(f"the model is that of step {chosen.steps[-1]}, {why}")
        run.save_weights(chosen.weights, chosen.steps[-1], origin(run.config, options))
        load_into(model, chosen.weights)
        test = measure(task, model, "test", options.seed)
        validation = evaluations[best] if evaluations else measure(task, model, "validation", options.seed)
    measured = {
        split: replace(evaluation, baselines=training.baselines.get(split) or baselines(run, task, split))
        for split, evaluation in (("test", test), ("validation", validation))
    }
    results = summarize(run, options, state, model, measured, chosen.steps, compared)
    results["advice"] = better_baseline(results, task.headline)
    numbers = values(validation.metrics)
    run.log(step=state.step, **{f"final_validation_{name}": number for name, number in numbers.items()})
    write_json(run.folder / "results.json", results)
    write_card(run, results, task.headline)
    prune(run.checkpoints, needed(list_steps(run.checkpoints), state, options))
    return results


def _checkpoint(run: Run) -> Checkpoint | None:
    """Return the newest readable checkpoint.

    Damaged ones after it are renamed and reported.
    """
    checkpoint, damaged = newest(run.checkpoints)
    if checkpoint is None and run.trained and run.results() is not None:
        got = f" ({next(iter(damaged.values()))})" if damaged else ""
        lost = f"{run.checkpoints}: none can be read{got}, so training would begin again over the model that is there"
        raise RunError(f"{lost}; put back a copy, or begin beside it with --no-resume")
    for step, error in damaged.items():
        set_aside(run.checkpoints, step)
        if checkpoint is not None:
            say(f"corrupt checkpoint: {error}, set aside; using step {checkpoint.step}")
    if checkpoint is None and damaged:
        last, *others = damaged.values()
        count = f" and {len(others)} more" if others else ""
        way_out = "training begins again at step 0; to go on instead, stop it and put back a copy of them"
        say(f"corrupt checkpoint: {last}{count}, set aside; {way_out}")
    return checkpoint


def _restore(training: Training, checkpoint: Checkpoint) -> None:
    """Load a checkpoint into the model, the state and the optimizer of a training."""
    run, step, scalars = training.run, checkpoint.step, checkpoint.scalars
    if scalars.get("origin") != origin(run.config, training.options):
        what = f"{run.checkpoints}: expected checkpoints of this run, got step {step} of another one"
        raise RunError(f"{what} (other data, seed or options); move it away")
    try:
        load_into(training.model, checkpoint.model)
        names = (field.name for field in fields(TrainState) if field.name != "step")
        training.state, training.checkpoint = TrainState(step, **{name: scalars[name] for name in names}), checkpoint
        training.state.marks = [Mark(*mark) for mark in training.state.marks]
    except (RuntimeError, KeyError) as error:
        what = f"{run.folder}: config.json, tokenizer.json and checkpoint {step} do not belong together"
        raise RunError(f"{what}; put back the one that was changed, or move the checkpoint away") from error
