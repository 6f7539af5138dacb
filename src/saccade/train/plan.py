"""Plan of a budget in minutes: steps, schedule, validations and checkpoints.

A run is planned once, before its first step. The plan and the options that it chose are part of config.json, so a
resumed run equals the uninterrupted one.
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from saccade.train.options import Options
from saccade.train.progress import clock
from saccade.train.results import Sizes, final_seconds, measure, sizes
from saccade.train.schedules import FALLING
from saccade.train.task import Task, kind_of, recipe

T = TypeVar("T", bound=Options)
_VALIDATIONS = 5.75  # intervals in a planned run: five validations, the last at 87%, so that a slower run has them too
_FOR_VALIDATIONS = 0.15  # share of the budget that they may take
_FEW = 0.2  # share of a recipe's steps, below which a smaller model is the better choice (docs/results.md, `pairs`)
_FEWEST = 20  # smallest number of examples of a useful validation
_SHARE, _MOST = 0.015, 15.0  # of the budget, and seconds at most, for each of the two timings
_FACTOR, _BATCH = 8, 64  # how many times as many examples are measured each time; and a certain batch
_STEPS = 10_000  # of a recipe that names none, as the option has it
_LONGEST = 8.0  # times the right length, up to which an untrained answer still predicts the time of a trained one


class Speed(NamedTuple):
    """Seconds of a training step, and of the measurement of an example."""

    step: float
    example: float


@dataclass(frozen=True)
class Plan:
    """The part of a recipe that fits into a budget."""

    minutes: float
    steps: int  # that are expected to fit, or those of the recipe if they all fit and end the run
    recipe_steps: int
    whole: bool  # the recipe fits without a change
    seconds: dict[str, float]  # "before" the first step, of a "step", a "validation", the "final" evaluation and "all"
    options: dict[str, Any]  # replacements of the recipe's options

    @property
    def few(self) -> bool:
        """Whether too few of the recipe's steps fit, so that a smaller model is better."""
        return not self.whole and self.steps < _FEW * self.recipe_steps


def make_plan(
    options: Options, given: Collection[str], recipe_steps: int, speed: Speed, sizes: Sizes, before: float
) -> Plan:
    """Return the plan of `options.max_minutes`, `before` seconds after the start.

    If the recipe's steps fit, its schedule stays: a falling one ends the run, any other goes on until the minutes are
    over. Else warmup and horizon are scaled to the steps that fit. There are at least five validations and checkpoints.
    Options with names in `given` stay.

    >>> options = Options(max_steps=None, max_minutes=2, schedule="linear", schedule_steps=4000, warmup_steps=400)
    >>> plan = make_plan(options, (), 4000, Speed(0.1, 0.01), Sizes(100, 100), 3.0)
    >>> plan.steps, plan.options["warmup_steps"], plan.options["schedule_steps"], plan.options["validation_steps"]
    (1100, 110, 1100, 191)
    """
    assert options.max_minutes is not None
    budget = 60 * options.max_minutes
    examples = _examples(budget, speed, options, given)
    validation = speed.example * min(examples, sizes.validation)
    final = final_seconds(speed.example, sizes, options)
    rest = budget - before - final
    falls, has_horizon = options.schedule in FALLING, "schedule_steps" in given
    often = speed.step + validation / options.validation_steps  # a step, with its share of a validation
    whole = not has_horizon and recipe_steps * often <= rest
    if whole:
        steps = recipe_steps if falls else int(rest / often)
        chosen: dict[str, Any] = {"max_steps": recipe_steps} if falls else {}
    else:
        five = (rest - int(_VALIDATIONS) * validation) / speed.step
        steps = max(2, int(rest / often if "validation_steps" in given else five))
        chosen = {} if has_horizon else _scaled(options, given, steps, recipe_steps)
    fifth = max(1, int(steps / _VALIDATIONS))
    mean = max(1, steps // (5 * options.average))  # the checkpoints of a mean span the last fifth
    chosen |= {
        "validation_steps": min(options.validation_steps, fifth) if whole else fifth,
        "validation_examples": examples,
        "checkpoint_steps": min(options.checkpoint_steps, fifth, mean),
    }
    every = options.validation_steps if "validation_steps" in given else chosen["validation_steps"]
    taken = before + steps * speed.step + steps // every * validation + final
    seconds = {"before": before, "step": speed.step, "validation": validation, "final": final, "all": taken}
    kept = {name: value for name, value in chosen.items() if name not in given}
    rounded = {name: round(value, 4) for name, value in seconds.items()}
    return Plan(options.max_minutes, steps, recipe_steps, whole, rounded, kept)


def _examples(budget: float, speed: Speed, options: Options, given: Collection[str]) -> int:
    """The number of examples of a validation that leaves time to train."""
    if "validation_examples" in given or not speed.example:
        return options.validation_examples
    affordable = int(_FOR_VALIDATIONS * budget / int(_VALIDATIONS) / speed.example)
    return min(options.validation_examples, max(_FEWEST, affordable))


def _scaled(options: Options, given: Collection[str], steps: int, recipe_steps: int) -> dict[str, Any]:
    """The schedule of a recipe, over fewer steps."""
    warmup = max(1, min(steps - 1, round(options.warmup_steps * steps / recipe_steps)))
    if options.schedule not in FALLING:
        return {"warmup_steps": warmup}
    end = max(steps, options.warmup_steps + 1) if "warmup_steps" in given else steps
    chosen = {"warmup_steps": warmup, "schedule_steps": end}
    return chosen if options.final_rate else {**chosen, "max_steps": end}  # at a rate of 0 nothing is learned


def sentence(plan: Plan) -> str:
    """Return a plan as a line.

    >>> seconds = {"before": 9.0, "step": 0.5, "validation": 4.0, "final": 20.0, "all": 2261.0}
    >>> sentence(Plan(12, 1200, 4400, False, seconds, {}))
    "about 1,200 of the recipe's 4,400 steps fit into 12 minutes, validations (0:04) and last evaluation (0:20) counted"
    """
    within = f"fit into {plan.minutes:g} minute{'' if plan.minutes == 1 else 's'}"
    seconds, recipe_steps = plan.seconds, f"the recipe's {plan.recipe_steps:,}"
    if plan.whole and "max_steps" in plan.options:
        return f"all of {recipe_steps} steps {within}: the run ends with them, after about {clock(seconds['all'])}"
    measured = f"validations ({clock(seconds['validation'])}) and last evaluation ({clock(seconds['final'])})"
    few = "; a smaller model would learn more in them" if plan.few else ""
    steps = f"{plan.steps:,} steps (the recipe has {plan.recipe_steps:,})"
    part = f"{plan.steps:,} of {recipe_steps} steps"
    return f"about {steps if plan.whole else part} {within}, {measured} counted{few}"


def fitted(options: T, plan: Mapping[str, Any], given: Collection[str]) -> T:
    """Return options with those of a plan, except options that the user set."""
    names = (name for name in plan if name not in given and (name != "max_steps" or options.max_steps is None))
    return replace(options, **{name: plan[name] for name in names})


def plan_for(
    task: Task,
    model: nn.Module,
    options: Options,
    given: Collection[str],
    suited: Mapping[str, Any] | None,
    device: torch.device,
    began: float,
) -> Plan | None:
    """Measure the speed of a new run and plan it.

    Returns None for a run without minutes, or with both minutes and steps. The new model moves to the device. Without
    `suited` options, the recipe is that of the data's name. The minutes count from the moment `began` of
    time.perf_counter.
    """
    if options.max_minutes is None or options.max_steps is not None:
        return None
    from saccade.train.engine import step_seconds

    room = min(_MOST, _SHARE * 60 * options.max_minutes)
    step = step_seconds(task, model, options, device, room)
    speed = Speed(step, example_seconds(task, model.to(device), options, room))
    values = recipe(kind_of(task), options.model, options.data) if suited is None else suited
    steps: Any = options.schedule_steps if options.schedule in FALLING else values.get("max_steps")
    return make_plan(options, given, steps or _STEPS, speed, sizes(task, options), time.perf_counter() - began)


def example_seconds(task: Task, model: nn.Module, options: Options, seconds: float) -> float:
    """Return the time of a validation example under a trained model.

    An untrained model may write on and on: its time is scaled to the length of the right answers. The time of answers
    that are too short stays: most of it may be reading. The timing takes about `seconds`, or a few examples.
    """
    limit = min(options.validation_examples, sizes(task, options).validation)
    _timed(task, model, options, 1)  # much is slow the first time
    count, taken = 1, _timed(task, model, options, 1)
    example = taken
    while count < limit and (count == 1 or taken + example * (_FACTOR - 1) * count <= seconds):
        earlier, before, count = count, taken, min(limit, _FACTOR * count)
        taken = _timed(task, model, options, count)
        example = max(0.0, taken - before) / (count - earlier)
    full = min(_BATCH, limit)  # the constant cost of a batch is shared by so many examples
    return taken / count if count >= full else example + max(0.0, taken - example * count) / full


def _timed(task: Task, model: nn.Module, options: Options, count: int) -> float:
    """Return the seconds of some validation examples.

    The time is scaled to answers of the right length.
    """
    began = time.perf_counter()
    evaluation = measure(task, model, "validation", options.seed, count)
    return (time.perf_counter() - began) / min(_LONGEST, max(1.0, evaluation.length_ratio))
