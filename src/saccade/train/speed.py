"""How fast a run will be, measured before its first step, and the plan of its budget that follows."""

import time
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import nn

from saccade.train.options import Options
from saccade.train.plan import Plan, Speed, make_plan, sizes
from saccade.train.results import measure
from saccade.train.schedules import FALLING
from saccade.train.task import Task, kind_of, recipe

__all__ = ["example_seconds", "plan_for"]

_SHARE, _MOST = 0.015, 15.0  # of the budget, and seconds at most, for each of the two things that are timed
_FACTOR, _BATCH = 8, 64  # how many times as many examples are measured each time; and what is a batch for certain
_STEPS = 10_000  # of a recipe that names none, as the option has it
_LONGEST = 8.0  # times the right length, up to which an answer that is not learned yet says something of one that is


def plan_for(
    task: Task,
    model: nn.Module,
    options: Options,
    given: Collection[str],
    usual: Mapping[str, Any] | None,
    device: torch.device,
    began: float,
) -> Plan | None:
    """Return the plan of a new run, None where it has steps of its own or no minutes.

    Args:
        task: what will be trained on.
        model: freshly made; moved to the device, and otherwise left as it is.
        options: of the run, as the recipe and the user have them.
        given: names of the options that the user gave.
        usual: the recipe; None: the one of the data's name.
        device: where it will be computed.
        began: when the command began, by time.perf_counter: its minutes count from then.
    """
    if options.max_minutes is None or options.max_steps is not None:
        return None
    from saccade.train.engine import step_seconds

    room = min(_MOST, _SHARE * 60 * options.max_minutes)
    step = step_seconds(task, model, options, device, room)
    speed = Speed(step, example_seconds(task, model.to(device), options, room))
    found = recipe(kind_of(task), options.model, options.data) if usual is None else usual
    steps: Any = options.schedule_steps if options.schedule in FALLING else found.get("max_steps")
    return make_plan(options, given, steps or _STEPS, speed, sizes(task, options), time.perf_counter() - began)


def example_seconds(task: Task, model: nn.Module, options: Options, seconds: float) -> float:
    """Return how long measuring an example of the validation split takes, when the model is trained.

    One that is not trained writes on and on; what it takes for that is scaled to what the right answers are long. What
    one takes that writes too little stays as it is: most of it may be reading, which is not shorter.

    Args:
        task: what is measured.
        model: on its device.
        options: of the run.
        seconds: that the timing may take, unless a few examples take longer.
    """
    most = min(options.validation_examples, task.data.size("validation") or options.validation_examples)
    _timed(task, model, options, 1)  # much is slow the first time
    count, taken = 1, _timed(task, model, options, 1)
    each = taken
    while count < most and (count == 1 or taken + each * (_FACTOR - 1) * count <= seconds):
        earlier, before, count = count, taken, min(most, _FACTOR * count)
        taken = _timed(task, model, options, count)
        each = max(0.0, taken - before) / (count - earlier)
    full = min(_BATCH, most)  # what a batch takes whatever is in it, few examples share and many do
    return taken / count if count >= full else each + max(0.0, taken - each * count) / full


def _timed(task: Task, model: nn.Module, options: Options, count: int) -> float:
    """How long some examples of the validation split take, if their answers are no longer than they should be."""
    began = time.perf_counter()
    found = measure(task, model, "validation", options.seed, count)
    return (time.perf_counter() - began) / min(_LONGEST, max(1.0, found.length_ratio))
