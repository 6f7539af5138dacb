"""The state of a run, evaluations of its model, and results.json."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from saccade._system.environment import hardware, matmul_precision, versions
from saccade._system.notes import CONTROL
from saccade.train.balance import balances, with_loads
from saccade.train.baselines import described
from saccade.train.checkpoint import Checkpoint
from saccade.train.options import Options
from saccade.train.randomness import derive, seeded
from saccade.train.ranks import Ranks
from saccade.train.run import Run
from saccade.train.task import Evaluation, Task

__all__ = [
    "Sizes",
    "TrainState",
    "Training",
    "complete",
    "final_seconds",
    "measure",
    "sample",
    "sizes",
    "split_results",
    "summarize",
    "undisturbed",
]

_FOR_FINAL = 0.5  # share of a budget in minutes: the final evaluation cuts training short by no more
_ROOM = 170  # characters of a sample's texts; its line has at most 200


@dataclass
class TrainState:
    """The state of a run.

    Args:
        step: steps taken.
        tokens: units (`Task.unit`) trained on.
        seconds: of all trainings of this run.
        training_seconds: the part of them in steps, without measuring and saving.
        best: the headline of the best validation, None before the first.
        best_step: its step, 0 before the first.
        stale: validations since then.
        reserve: expected seconds of the final evaluation, which a budget in minutes keeps for it.
        logged: step, loss and seconds of the last line of metrics.jsonl, None before the first.
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    training_seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    reserve: float = 0.0
    logged: dict[str, float] | None = None

    def judge(self, headline: float) -> bool:
        """Record a validation; returns whether it is the best so far."""
        if self.best is not None and not headline > self.best:
            self.stale += 1
            return False
        self.best, self.best_step, self.stale = headline, self.step, 0
        return True

    def ended(self, options: Options) -> bool:
        """Whether the run is at its end: its budget is spent, or it stops early."""
        return self.spent(options) or self.stops_early(options)

    def stops_early(self, options: Options) -> bool:
        """Whether validations have not improved for too long; by default only if they have improved before."""
        may_stop = options.patience is not None or self.best_step > options.validation_steps
        return may_stop and options.early_stopping is not None and self.stale >= options.early_stopping

    def spent(self, options: Options) -> bool:
        """Whether the budget is spent."""
        clock = math.inf if options.max_minutes is None else 60 * options.max_minutes
        late = self.step > 0 and self.seconds + self.reserve >= clock  # there is a model only after a step
        return late or (options.max_steps is not None and self.step >= options.max_steps)

    def seconds_left(self, options: Options, pace: float) -> float:
        """Return the seconds until the end of the run, its final evaluation included, at `pace` seconds a step.

        >>> TrainState(step=40, seconds=50.0, reserve=9.0).seconds_left(Options(max_steps=60, max_minutes=2), 0.5)
        19.0
        """
        by_clock = math.inf if options.max_minutes is None else 60 * options.max_minutes - self.seconds
        by_steps = math.inf if options.max_steps is None else (options.max_steps - self.step) * pace + self.reserve
        return max(0.0, min(by_clock, by_steps))


@dataclass
class Training:
    """A run in training.

    Args:
        run: its folder.
        task: of the run.
        options: all of them.
        device: of the model.
        ranks: the processes that train together.
        model: None until it is needed.
        state: updated in place.
        checkpoint: of that state; None at the beginning.
        loggers: Lightning's, for the same numbers as metrics.jsonl.
    """

    run: Run
    task: Task
    options: Options
    device: torch.device
    ranks: Ranks = Ranks()  # noqa: RUF009 (frozen)
    model: Any = None
    state: TrainState = field(default_factory=TrainState)
    checkpoint: Checkpoint | None = None
    loggers: Sequence[Any] = ()


class Sizes(NamedTuple):
    """Numbers of examples that are measured of the validation and the test split."""

    validation: int
    test: int


def sizes(task: Task, options: Options) -> Sizes:
    """Return the numbers of examples of a final evaluation; of an endless split, as many as in validations."""
    return Sizes(*((task.data.size(split) or options.validation_examples) for split in ("validation", "test")))


def final_seconds(example: float, sizes: Sizes, options: Options) -> float:
    """Return the seconds of the final evaluation; with an average, validation is measured twice.

    >>> final_seconds(0.1, Sizes(100, 200), Options()), final_seconds(0.1, Sizes(100, 200), Options(average=3))
    (30.0, 40.0)
    """
    seconds = example * (sizes.validation * (2 if options.average > 1 else 1) + sizes.test)
    limit = 60 * _FOR_FINAL * options.max_minutes if options.max_minutes else seconds
    return round(min(seconds, limit), 3)


def measure(
    task: Task, model: nn.Module, split: str, seed: int, limit: int | None = None, request: Any = None
) -> Evaluation:
    """Evaluate a model, with the loads of its experts, without an effect on it or on the generators.

    Args:
        task: of the model.
        model: in any mode.
        split: "validation" or "test".
        seed: of the run; random numbers of an evaluation follow from it and the split.
        limit: number of examples, spread over the split; None: all.
        request: differences from the run's options (`Task.requests`, "eval").
    """
    with undisturbed(model, seed, split), balances(model) as collected:
        result = task.evaluate(model, split, limit, request)
    return with_loads(result, collected)


def sample(task: Task, model: nn.Module, seed: int, step: int) -> str:
    """Return a line with an example of the validation split, drawn by seed and step, and the model's answer."""
    size = task.data.size("validation") or 1
    example = task.example("validation", derive(seed, "sample", step) % size)
    [answer] = task.answer(model, [example.input], None, "json")
    parts = [example.text, answer.lines()[0], example.answer, answer.remark]
    lines = (CONTROL.sub("·", " ".join(part.split())) for part in parts)
    text, answered, expected, remark = _shortened([*lines], _ROOM)
    return f"{text} → {answered} ({'; '.join(filter(None, [f'expected: {expected}', remark]))})"


def _shortened(parts: Sequence[str], room: int) -> list[str]:
    """Return texts of at most so many characters in all: the longest are cut.

    >>> _shortened(["short", "a longer one", "the longest of all"], 25)
    ['short', 'a longer …', 'the longe…']
    """
    limit = min(room, max(map(len, parts)))
    while sum(min(len(part), limit) for part in parts) > room:
        limit -= 1
    return [part if len(part) <= limit else f"{part[: limit - 1]}…" for part in parts]


@contextmanager
def undisturbed(model: nn.Module, seed: int, label: str) -> Iterator[None]:
    """Evaluation mode, full precision and seeded generators within the block, all restored after it."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode(), seeded(seed, label), matmul_precision("highest"):
            yield
    finally:
        model.train(training)


def summarize(
    run: Run,
    options: Options,
    state: TrainState,
    model: nn.Module,
    measured: Mapping[str, Evaluation],
    averaged: Sequence[int],
    compared: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the content of results.json.

    Args:
        run: after its training.
        options: of the run.
        state: of the run.
        model: the trained one.
        measured: evaluations of "test" and "validation".
        averaged: the steps whose mean the model is.
        compared: steps and headline on validation of each candidate, if there were several.
    """
    test, validation = measured["test"], measured["validation"]
    speed = {"train": _rate(state.tokens, state.training_seconds), "decode": _rate(test.count, test.seconds)}
    return {
        **_subject(run, options, model),
        "metrics": test.metrics,
        "groups": test.groups,
        **({"confusion": test.confusion} if test.confusion else {}),
        "validation": validation.metrics,
        "baselines": {split: described(part.baselines) for split, part in measured.items()},
        "seed": options.seed,
        "steps": state.step,
        "final": _final(options, state, averaged, compared),
        "seconds": round(state.seconds, 3),
        "tokens_per_second": speed,
        "examples_per_second": _rate(test.examples, test.seconds),
        **_circumstances(run, options, model),
    }


def _final(
    options: Options, state: TrainState, averaged: Sequence[int], compared: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The choice of the model: its steps, and the best validation."""
    how = {"steps": list(averaged), "average": options.average, "patience": options.early_stopping}
    how |= {"compared": list(compared)} if compared else {}
    best = {"best": state.best, "best_step": state.best_step, "validations_since_best": state.stale}
    best["stopped_early"] = state.stops_early(options)
    return {**how, **best, "reserve": state.reserve}


def complete(results: Mapping[str, Any], options: Options) -> bool:
    """Whether the options would come to results that exist."""
    final = results.get("final")
    if not isinstance(final, dict):
        return False
    numbers = [final.get(name) for name in ("best_step", "validations_since_best", "reserve")]
    if (final.get("average"), final.get("patience")) != (options.average, options.early_stopping):
        return False
    best_step, stale, reserve = (number if isinstance(number, int | float) else 0 for number in numbers)
    state = TrainState(results["steps"], seconds=results["seconds"], best_step=int(best_step), stale=int(stale))
    state.reserve = reserve
    return state.ended(options)


def split_results(run: Run, options: Options, model: nn.Module, split: str, result: Evaluation) -> dict[str, Any]:
    """Return the content of results-SPLIT.json."""
    return {
        **_subject(run, options, model),
        "split": split,
        "metrics": result.metrics,
        "groups": result.groups,
        **({"confusion": result.confusion} if result.confusion else {}),
        "baselines": described(result.baselines),
        "examples": result.examples,
        "seed": options.seed,
        "seconds": round(result.seconds, 3),
        "tokens_per_second": {"decode": _rate(result.count, result.seconds)},
        "examples_per_second": _rate(result.examples, result.seconds),
        **_circumstances(run, options, model),
    }


def _subject(run: Run, options: Options, model: nn.Module) -> dict[str, Any]:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {"task": run.config["task"], "model": options.model, "parameters": parameters}


def _circumstances(run: Run, options: Options, model: nn.Module) -> dict[str, Any]:
    device = next(model.parameters()).device
    return {"hardware": hardware(device), "versions": versions(), "config": {**run.config, "options": asdict(options)}}


def _rate(tokens: int, seconds: float) -> float:
    """Units a second, 0 without time."""
    return round(tokens / seconds, 1) if seconds else 0.0
