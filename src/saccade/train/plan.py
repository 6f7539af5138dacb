"""A budget in minutes, planned: how many steps fit, and what schedule, validations and checkpoints follow from that.

A run is planned once, before its first step. The plan is written into its folder (plan.json), and what it chose are
options of the run like any other (config.json), so that a run that goes on is the one that was not interrupted.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from saccade.train.files import read_json
from saccade.train.options import Options, check_types, fits
from saccade.train.progress import clock
from saccade.train.run import RunError
from saccade.train.schedules import FALLING
from saccade.train.task import Task

__all__ = [
    "PLAN",
    "Plan",
    "Sizes",
    "Speed",
    "final_seconds",
    "fitted",
    "make_plan",
    "open_plan",
    "sentence",
    "sizes",
]

T = TypeVar("T", bound=Options)
PLAN = "plan.json"
_SECONDS = ("before", "step", "validation", "final")
_VALIDATIONS = 5.75  # intervals in a planned run: five validations, the last at 87%, so that a slower run has them too
_FOR_VALIDATIONS = 0.15  # share of the budget that they may take
_FOR_FINAL = 0.5  # and the final evaluation: beyond it, training is not cut short any more
_FEW = 0.2  # share of a recipe's steps, below which a smaller model is the better choice (docs/results.md, `pairs`)
_FEWEST = 20  # examples that a validation is still worth something with


@dataclass(frozen=True)
class Speed:
    """How fast a run is.

    Args:
        step: seconds that a step takes.
        example: seconds that measuring an example takes.
    """

    step: float
    example: float


@dataclass(frozen=True)
class Sizes:
    """How many examples are measured.

    Args:
        validation: of the validation split.
        test: of the test split.
    """

    validation: int
    test: int


@dataclass(frozen=True)
class Plan:
    """What fits into a budget.

    Args:
        minutes: of the budget.
        steps: that are expected to fit, or those of the recipe where they all do and end the run.
        recipe_steps: of the recipe.
        whole: whether the recipe fits as it is.
        seconds: that things take: "before" (until the first step), a "step", a "validation", the "final" evaluation,
            and "all" of the run.
        options: what the run has in the place of the recipe's options.
    """

    minutes: float
    steps: int
    recipe_steps: int
    whole: bool
    seconds: dict[str, float]
    options: dict[str, Any]

    @property
    def few(self) -> bool:
        """Whether so few of the recipe's steps fit that a smaller model is the better choice."""
        return not self.whole and self.steps < _FEW * self.recipe_steps


def sizes(task: Task, options: Options) -> Sizes:
    """Return how many examples a final evaluation is of; of a split without an end, as many as validations have."""
    return Sizes(*((task.data.size(split) or options.validation_examples) for split in ("validation", "test")))


def final_seconds(example: float, sizes: Sizes, options: Options) -> float:
    """Return how long the final evaluation takes; with an average validation is measured twice.

    >>> final_seconds(0.1, Sizes(100, 200), Options()), final_seconds(0.1, Sizes(100, 200), Options(average=3))
    (30.0, 40.0)
    """
    found = example * (sizes.validation * (2 if options.average > 1 else 1) + sizes.test)
    limit = 60 * _FOR_FINAL * options.max_minutes if options.max_minutes else found
    return round(min(found, limit), 3)


def make_plan(
    options: Options, given: Collection[str], recipe_steps: int, speed: Speed, sizes: Sizes, before: float
) -> Plan:
    """Return what fits into `options.max_minutes`.

    Where the recipe's steps fit, its schedule stays: one that falls ends the run where it ends, any other goes on until
    the minutes are over. Else warmup and horizon are scaled to the steps that fit. At least five validations and
    checkpoints are made in either case, and what is given by name stays as it is given.

    Args:
        options: of the run, as the recipe and the user have them.
        given: names of the options that the user gave.
        recipe_steps: of the recipe.
        speed: as it was measured.
        sizes: of the splits that are measured.
        before: seconds of the budget that are over.

    Example:
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
    falls, own = options.schedule in FALLING, "schedule_steps" in given
    often = speed.step + validation / options.validation_steps  # a step, with its share of a validation
    whole = not own and recipe_steps * often <= rest
    if whole:
        steps = recipe_steps if falls else int(rest / often)
        chosen: dict[str, Any] = {"max_steps": recipe_steps} if falls else {}
    else:
        five = (rest - int(_VALIDATIONS) * validation) / speed.step
        steps = max(2, int(rest / often if "validation_steps" in given else five))
        chosen = {} if own else _scaled(options, given, steps, recipe_steps)
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
    """How many examples a validation has, so that five of them leave time to train."""
    if "validation_examples" in given or not speed.example:
        return options.validation_examples
    most = int(_FOR_VALIDATIONS * budget / int(_VALIDATIONS) / speed.example)
    return min(options.validation_examples, max(_FEWEST, most))


def _scaled(options: Options, given: Collection[str], steps: int, recipe_steps: int) -> dict[str, Any]:
    """The schedule of a recipe, over fewer steps."""
    warmup = max(1, min(steps - 1, round(options.warmup_steps * steps / recipe_steps)))
    if options.schedule not in FALLING:
        return {"warmup_steps": warmup}
    end = max(steps, options.warmup_steps + 1) if "warmup_steps" in given else steps
    chosen = {"warmup_steps": warmup, "schedule_steps": end}
    return chosen if options.final_rate else {**chosen, "max_steps": end}  # at a rate of 0 nothing is learned


def sentence(plan: Plan) -> str:
    """Return what a plan comes to, in a line.

    >>> seconds = {"before": 9.0, "step": 0.5, "validation": 4.0, "final": 20.0, "all": 2261.0}
    >>> sentence(Plan(12, 1200, 4400, False, seconds, {}))
    "about 1,200 of the recipe's 4,400 steps fit into 12 minutes, validations (0:04) and last evaluation (0:20) counted"
    >>> sentence(Plan(12, 500, 4400, False, seconds, {})).rpartition("; ")[2]
    'a smaller model would learn more in them'
    >>> sentence(Plan(90, 4400, 4400, True, seconds, {"max_steps": 4400}))
    "all of the recipe's 4,400 steps fit into 90 minutes: the run ends with them, after about 37:41"
    """
    within = f"fit into {plan.minutes:g} minute{'' if plan.minutes == 1 else 's'}"
    seconds, own = plan.seconds, f"the recipe's {plan.recipe_steps:,}"
    if plan.whole and "max_steps" in plan.options:
        return f"all of {own} steps {within}: the run ends with them, after about {clock(seconds['all'])}"
    measured = f"validations ({clock(seconds['validation'])}) and last evaluation ({clock(seconds['final'])})"
    more = f"{plan.steps:,} steps (the recipe has {plan.recipe_steps:,})"
    few = "; a smaller model would learn more in them" if plan.few else ""
    return f"about {more if plan.whole else f'{plan.steps:,} of {own} steps'} {within}, {measured} counted{few}"


def fitted(options: T, plan: Plan | None, given: Collection[str]) -> T:
    """Return a run's options with what its plan has chosen in the place of those that are not given.

    Raises:
        SaccadeError: if these are no options, or values that they do not take.

    >>> plan = Plan(1, 9, 99, False, {}, {"warmup_steps": 2, "max_steps": 9})
    >>> fitted(Options(max_steps=50, seed=3), plan, ("seed", "max_steps")).warmup_steps
    2
    """
    if plan is None:
        return options
    if unknown := sorted(plan.options.keys() - {option.name for option in fields(options)}):
        raise RunError(f"{PLAN} of {options.run or 'the run'}: this Saccade has no option {unknown[0]}")
    check_types(type(options), plan.options)
    names = [name for name in plan.options if name not in given and (name != "max_steps" or options.max_steps is None)]
    return replace(options, **{name: plan.options[name] for name in names})


def open_plan(folder: Path) -> Plan | None:
    """Return the plan of a run, None where it has none.

    Raises:
        RunError: if the file is no plan.
    """
    try:
        content = read_json(folder / PLAN)
        plan = Plan(**content)
        _check(plan)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise RunError(f"{folder / PLAN}: not the plan of a run ({error})") from error
    return plan


def _check(plan: Plan) -> None:
    """Refuse values out of a file that are not of a plan's types."""
    for option in fields(Plan):
        kind = dict if option.name in ("seconds", "options") else option.type
        if not fits(found := getattr(plan, option.name), kind):
            raise TypeError(f"{option.name}: got {found!r:.60}")
    for name in _SECONDS:
        if not fits(found := plan.seconds.get(name), float) or not math.isfinite(found):  # type: ignore[arg-type]
            raise TypeError(f"seconds: {name}: expected a number, got {found!r:.60}")
