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
from saccade.train.task import Task, recipe

__all__ = ["example_seconds", "plan_for"]

_SHARE, _MOST = 0.015, 15.0  # of the budget, and seconds at most, for each of the two things that are timed
_FIRST, _FACTOR = 16, 4  # examples that are measured at first, and how many times as many each time after
_RATIOS = (0.25, 8.0)  # of lengths, between which an answer that is not learned yet says something of one that is


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
    found = recipe(type(task), options.model, options.data) if usual is None else usual
    steps = found.get("max_steps") or Options().max_steps
    if options.schedule in FALLING:
        steps = options.schedule_steps
    return make_plan(options, given, int(steps), speed, sizes(task, options), time.perf_counter() - began)


def example_seconds(task: Task, model: nn.Module, options: Options, seconds: float) -> float:
    """Return how long measuring an example of the validation split takes, when the model is trained.

    One that is not trained writes on and on; what it takes for that is scaled to what the right answers are long.

    Args:
        task: what is measured.
        model: on its device.
        options: of the run.
        seconds: that the timing may take, unless a few examples take longer.
    """
    measure(task, model, "validation", options.seed, 1)  # what is slow the first time
    count, spent = _FIRST, 0.0
    while True:
        began = time.perf_counter()
        found = measure(task, model, "validation", options.seed, count)
        taken = time.perf_counter() - began
        spent += taken
        if found.examples < count or count >= options.validation_examples or spent + _FACTOR * taken > seconds:
            least, most = _RATIOS
            return taken / max(1, found.examples) / min(most, max(least, found.length_ratio))
        count *= _FACTOR
