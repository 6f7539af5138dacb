"""Plan of a budget in minutes: steps, schedule, validations and checkpoints.

A run is planned once, before its first step. The plan and the options that it chose are part of config.json. From there
the clock decides: see `saccade.train.pace`.
"""

import os
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from saccade._system.environment import busy_cores
from saccade.train.options import Options
from saccade.train.pace import BETWEEN, MARKS, Mark
from saccade.train.progress import clock
from saccade.train.results import Sizes, TrainState, final_seconds, measure, sizes, validation_loss
from saccade.train.schedules import FALLING
from saccade.train.task import Task, kind_of, recipe

T = TypeVar("T", bound=Options)
_VALIDATIONS = int(1 / BETWEEN)
_FOR_VALIDATIONS = 0.12  # share of the budget that they may take
_FEW = 0.4  # share of a recipe's steps, below which a smaller model is the better choice (docs/results.md, `pairs`)
_FEWEST = 20  # smallest number of examples of a useful validation
_SHARE, _TIMING_SECONDS = 0.01, 15.0  # of the budget, and seconds at most, for each of the two timings
_CLOSING, _AGAIN = 2.0, 0.5  # seconds after the final evaluation of a process, and of its later runs, undisturbed
_QUIET = 0.9  # share of the processor: a smaller one is reported
_OPENING = 0.05  # share of the budget: a slower opening is reported
_FACTOR, _BATCH = 8, 64  # how many times as many examples are measured each time; and a certain batch
_SLOW = 4  # times the seconds of a timing, up to which a first example is followed by others
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
    clock: dict[str, float] = field(default_factory=dict)  # shares of training: of "warmup", and between two events

    @property
    def few(self) -> bool:
        """Whether too few of the recipe's steps fit, so that a smaller model is better."""
        return not self.whole and self.steps < _FEW * self.recipe_steps

    @property
    def very_few(self) -> bool:
        """Whether twice as many steps would be too few as well.

        Then the smallest model is better.
        """
        return not self.whole and 2 * self.steps < _FEW * self.recipe_steps


def make_plan(
    options: Options, explicit: Collection[str], recipe_steps: int, speed: Speed, sizes: Sizes, before: float
) -> Plan:
    """Return the plan of `options.max_minutes`, `before` seconds after the start.

    If the recipe's steps fit, its schedule stays: a falling one ends the run, any other goes on until the minutes are
    over. Else warmup and horizon are scaled to the steps that fit. There are six validations, and as many checkpoints
    or more. They and the schedule follow the clock, except for options with names in `explicit`, which stay.

    >>> options = Options(max_steps=None, max_minutes=2, schedule="linear", schedule_steps=4000, warmup_steps=400)
    >>> plan = make_plan(options, (), 4000, Speed(0.1, 0.01), Sizes(100, 100), 3.0)
    >>> plan.steps, plan.options["warmup_steps"], plan.options["schedule_steps"], plan.options["validation_steps"]
    (1090, 109, 1090, 174)
    >>> plan.clock
    {'warmup': 0.1, 'validation_steps': 0.16, 'checkpoint_steps': 0.125}
    """
    assert options.max_minutes is not None
    budget = 60 * options.max_minutes
    examples = _examples(budget, speed, options, explicit)
    validation = speed.example * min(examples, sizes.validation)
    final = min(final_seconds(speed.example, sizes, options), budget / 2)
    rest = budget - before - final
    falls, has_horizon = options.schedule in FALLING, "schedule_steps" in explicit
    often = speed.step + validation / options.validation_steps  # a step, with its share of a validation
    whole = not has_horizon and recipe_steps * often <= rest
    if whole:
        steps = recipe_steps if falls else int(rest / often)
        chosen: dict[str, Any] = {"max_steps": recipe_steps} if falls else {}
    else:
        six = (rest - _VALIDATIONS * validation) / speed.step
        steps = max(2, int(rest / often if "validation_steps" in explicit else six))
        chosen = {} if has_horizon else _scaled(options, explicit, max(steps, MARKS), recipe_steps)
    between = {
        "validation_steps": min(BETWEEN, options.validation_steps / recipe_steps) if whole and falls else BETWEEN,
        "checkpoint_steps": min(BETWEEN, options.checkpoint_steps / recipe_steps, 1 / (5 * options.average)),
    }  # the checkpoints of a mean span the last fifth
    chosen |= {"validation_examples": examples, **{name: max(1, round(part * steps)) for name, part in between.items()}}
    every = options.validation_steps if "validation_steps" in explicit else chosen["validation_steps"]
    taken = before + steps * speed.step + steps // every * validation + final
    seconds = {"before": before, "step": speed.step, "validation": validation, "final": final, "all": taken}
    kept = {name: value for name, value in chosen.items() if name not in explicit}
    rounded = {name: float(f"{value:.5g}") for name, value in seconds.items()}
    parts = dict[str, float]()
    if not has_horizon:
        scale = steps if whole else recipe_steps
        parts["warmup"] = 0.0 if "warmup_steps" in explicit else options.warmup_steps / scale
    parts |= {name: part for name, part in between.items() if name not in explicit}
    return Plan(options.max_minutes, steps, recipe_steps, whole, rounded, kept, parts)


def _examples(budget: float, speed: Speed, options: Options, explicit: Collection[str]) -> int:
    """The number of examples of a validation that leaves time to train."""
    if "validation_examples" in explicit or not speed.example:
        return options.validation_examples
    affordable = int(_FOR_VALIDATIONS * budget / _VALIDATIONS / speed.example)
    return min(options.validation_examples, max(_FEWEST, affordable))


def _scaled(options: Options, explicit: Collection[str], steps: int, recipe_steps: int) -> dict[str, Any]:
    """The schedule of a recipe, over fewer steps."""
    warmup = max(1, min(steps - 1, round(options.warmup_steps * steps / recipe_steps)))
    if options.schedule not in FALLING:
        return {"warmup_steps": warmup}
    end = max(steps, options.warmup_steps + 1) if "warmup_steps" in explicit else steps
    return {"warmup_steps": warmup, "schedule_steps": end}


def sentence(plan: Plan) -> str:
    """Return a plan as a line.

    >>> seconds = {"before": 9.0, "step": 0.5, "validation": 4.0, "final": 20.0, "all": 2261.0}
    >>> sentence(Plan(12, 1234, 4400, False, seconds, {}))
    "about 1,200 of the recipe's 4,400 steps fit into 12 minutes, validations (0:04) and last evaluation (0:20) counted"
    """
    within = f"fit into {_of_minutes(plan.minutes)}"
    seconds, recipe_steps = plan.seconds, f"the recipe's {plan.recipe_steps:,}"
    if plan.whole and "max_steps" in plan.options:
        return f"all of {recipe_steps} steps {within}: the run ends with them, after about {clock(seconds['all'])}"
    measured = f"validations ({clock(seconds['validation'])}) and last evaluation ({clock(seconds['final'])})"
    count = f"{int(float(f'{plan.steps:.2g}')):,}"  # an estimate
    steps = f"{count} steps (the recipe has {plan.recipe_steps:,})"
    part = f"{count} of {recipe_steps} steps"
    return f"about {steps if plan.whole else part} {within}, {measured} counted"


def _of_minutes(minutes: float) -> str:
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def fitted(options: T, plan: Mapping[str, Any], explicit: Collection[str]) -> T:
    """Return options with those of a plan, except options that the user set."""
    names = (name for name in plan if name not in explicit and (name != "max_steps" or options.max_steps is None))
    return replace(options, **{name: plan[name] for name in names})


def start(state: TrainState, plan: Mapping[str, Any], options: Options) -> bool:
    """Let a run follow the clock by its plan, and return whether the clock goes on.

    Options that were changed since do not follow it. Without minutes, or with other steps, the clock stands still, and
    the schedule follows the last mark.

    >>> plan = {"steps": 50, "options": {"validation_steps": 8}, "clock": {"warmup": 0.1, "validation_steps": 0.16}}
    >>> state, options = TrainState(), Options(max_steps=None, max_minutes=2, validation_steps=8)
    >>> start(state, plan, options), state.marks, state.clock
    (True, [Mark(step=0, share=0.0, pace=0.02)], {'warmup': 0.1, 'validation_steps': 0.16})
    >>> start(state, plan, replace(options, max_steps=90)), state.clock
    (False, {'warmup': 0.1})
    """
    state.clock, chosen = {}, plan.get("options", {})
    if "clock" not in plan:
        return False
    steps = plan["steps"] if plan.get("whole") else max(plan["steps"], MARKS)  # the timings may have been too slow
    state.marks = state.marks or [Mark(0, 0.0, 1 / steps)]
    goes_on = options.max_minutes is not None and options.max_steps in (None, chosen.get("max_steps"))
    for name, part in plan["clock"].items():
        if name == "warmup" or (goes_on and getattr(options, name) == chosen.get(name)):
            state.clock[name] = part
    return goes_on


def measure_speed(task: Task, model: nn.Module, options: Options, device: torch.device) -> Speed:
    """Measure the speed of a new run, and move its model to the device.

    Each of the two timings takes 1% of the minutes, or 15 seconds if that is less, or else one step or example.
    """
    assert options.max_minutes is not None
    from saccade.train.engine import step_seconds

    room = min(_TIMING_SECONDS, _SHARE * 60 * options.max_minutes)
    step = step_seconds(task, model, options, device, room)
    return Speed(step, example_seconds(task, model.to(device), options, room))


def plan_for(
    task: Task,
    options: Options,
    explicit: Collection[str],
    suited: Mapping[str, Any] | None,
    speed: Speed,
    before: float,
) -> Plan:
    """Plan a run with a measured speed, `before` seconds after its start.

    Without `suited` options, the recipe is that of the data's name.
    """
    values = recipe(kind_of(task), options.model, options.data) if suited is None else suited
    steps: Any = options.schedule_steps if options.schedule in FALLING else values.get("max_steps")
    return make_plan(options, explicit, steps or _STEPS, speed, sizes(task, options), before)


def opening(minutes: float, seconds: Mapping[str, float]) -> str:
    """Return a line about the time before the first step, "" for a small share.

    >>> opening(4, {"opening the data": 80.2, "baselines": 0.3, "planning": 11.0})
    'before the first step 1:32 of 4 minutes are over: opening the data 1:20, planning 0:11'
    """
    total = sum(seconds.values())
    if total <= max(1.0, _OPENING * 60 * minutes):
        return ""
    parts = ", ".join(f"{name} {clock(part)}" for name, part in seconds.items() if part >= 1)
    return f"before the first step {clock(total)} of {_of_minutes(minutes)} are over: {parts}"


def expected_share(busy: float, threads: int, cores: int) -> float:
    """Return the speed of a process beside others, as a share of a quiet machine.

    >>> expected_share(3.0, threads=1, cores=2)
    0.5
    """
    return min(1.0, cores / (min(threads, cores) + busy))


def closing_seconds() -> float:
    """Return seconds of pictures, files and the exit of the process under this load.

    Most of them are the first import of matplotlib.
    """
    seconds = _AGAIN if "matplotlib.figure" in sys.modules else _CLOSING
    return seconds / expected_share(busy_cores(), torch.get_num_threads(), os.cpu_count() or 1)


def crowd(busy: float, threads: int, cores: int) -> str:
    """Return a line about other processes, "" if they take little time.

    >>> crowd(2.0, threads=1, cores=2)
    '2 other processes run on these 2 cores: expect about 67% of the steps of a quiet machine'
    >>> crowd(0.9, threads=1, cores=2)
    ''
    """
    share, count = expected_share(busy, threads, cores), max(1, round(busy))
    if share > _QUIET:
        return ""
    processes = f"{count} other process{'es run' if count > 1 else ' runs'}"
    on = f"these {cores} cores" if cores > 1 else "this core"
    return f"{processes} on {on}: expect about {share:.0%} of the steps of a quiet machine"


def example_seconds(task: Task, model: nn.Module, options: Options, seconds: float) -> float:
    """Return the time of a validation example under a trained model.

    An untrained model may write on and on: its time is scaled to the length of the right answers. The time of answers
    that are too short stays: most of it may be reading. The timing takes about `seconds`, or a few examples.
    """
    limit = min(options.validation_examples, sizes(task, options).validation)
    began = time.perf_counter()
    taken = _timed(task, model, options, 1)  # much is slow the first time
    cold = time.perf_counter() - began
    if cold <= seconds:
        taken = _timed(task, model, options, 1)
    count, example = 1, taken
    while count < limit and (
        taken + example * (_FACTOR - 1) * count <= seconds or (count == 1 and cold <= _SLOW * seconds)
    ):
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
    answered = time.perf_counter()
    validation_loss(task, model, options.seed, count)
    of_loss = time.perf_counter() - answered
    return of_loss + (answered - began) / min(_LONGEST, max(1.0, evaluation.length_ratio))
