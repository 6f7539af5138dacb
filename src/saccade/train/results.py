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
from saccade.train.checkpoint import Checkpoint
from saccade.train.options import Options
from saccade.train.pace import Mark, is_due
from saccade.train.randomness import derive, seeded
from saccade.train.ranks import Ranks
from saccade.train.run import Run
from saccade.train.task import Baseline, Evaluation, Task, value

_FEW = 100  # examples of a validation, below which its loss decides instead of its headline
_ROOM = 170  # characters of a sample's texts; its line has at most 200


@dataclass
class TrainState:
    """The state of a run."""

    step: int = 0
    tokens: int = 0  # units (`Task.unit`) trained on
    seconds: float = 0.0  # of all trainings of this run
    training_seconds: float = 0.0  # the part of them in steps, without measuring and saving
    best: float | None = None  # headline of the best validation
    best_loss: float | None = None  # and its loss
    best_step: int = 0
    stale: int = 0  # validations since the best one
    reserve: float = 0.0  # seconds that a budget in minutes keeps: of the final evaluation, and of half a step
    step_seconds: float = 0.0  # of a step, at the last look at the clock of a planned run
    logged: dict[str, float] | None = None  # step, loss and seconds of the last line of metrics.jsonl
    marks: list[Mark] = field(default_factory=list)  # of the clock, in a planned run
    clock: dict[str, float] = field(default_factory=dict)  # options that follow it: see `saccade.train.plan.start`

    def judge(self, headline: float, loss: float | None = None, examples: int = _FEW) -> bool:
        """Record a validation; returns whether it is the best so far: see `is_better`.

        A best one before the first step may stop no training: it takes time to become better than a fitted start.
        """
        if self.best is not None and not is_better((headline, loss), (self.best, self.best_loss), examples):
            self.stale += self.best_step > 0
            return False
        self.best, self.best_loss, self.best_step, self.stale = headline, loss, self.step, 0
        return True

    def is_due(self, name: str, options: Options, step: int | None = None) -> bool:
        """Whether the steps of an option are over after a step, by default the last one.

        The option is "validation_steps" or "checkpoint_steps".
        """
        return is_due(self.step if step is None else step, getattr(options, name), self.marks, self.clock.get(name))

    @property
    def paced(self) -> tuple[Sequence[Mark], float]:
        """The last arguments of `learning_rate`, if the schedule follows the clock."""
        return (self.marks, self.clock["warmup"]) if "warmup" in self.clock else ((), 0.0)

    def ended(self, options: Options) -> bool:
        """Whether the run is at its end: its budget is spent, or it stops early."""
        return self.spent(options) or self.stops_early(options)

    def stops_early(self, options: Options) -> bool:
        """Whether validations have not improved for too long.

        By default this needs an earlier improvement.
        """
        may_stop = options.patience is not None or self.best_step > options.validation_steps
        return may_stop and options.early_stopping is not None and self.stale >= options.early_stopping

    def spent(self, options: Options) -> bool:
        """Whether the budget is spent."""
        clock = math.inf if options.max_minutes is None else 60 * options.max_minutes
        late = self.step > 0 and self.seconds + self.reserve >= clock  # there is a model only after a step
        return late or (options.max_steps is not None and self.step >= options.max_steps)

    def seconds_left(self, options: Options, pace: float) -> float:
        """Return the seconds until the end of the run at `pace` seconds a step.

        The final evaluation is included.
        """
        by_clock = math.inf if options.max_minutes is None else 60 * options.max_minutes - self.seconds
        by_steps = math.inf if options.max_steps is None else (options.max_steps - self.step) * pace + self.reserve
        return max(0.0, min(by_clock, by_steps))


@dataclass
class Training:
    """A run in training.

    The model is None until it is needed, the checkpoint until there is one. Lightning's loggers receive the numbers of
    metrics.jsonl.
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
    began: float | None = None  # moment of time.perf_counter from which the minutes of a planned new run count
    ticks: bool = False  # whether the clock goes on making marks: see `saccade.train.plan.start`
    closing: float = 0.0  # seconds of the end of a planned run beside its final evaluation
    baselines: dict[str, dict[str, Baseline]] = field(default_factory=dict)  # by split, if measured already


class Sizes(NamedTuple):
    """Numbers of examples in evaluations of the validation and the test split."""

    validation: int
    test: int


def sizes(task: Task, options: Options) -> Sizes:
    """Return the numbers of examples of a final evaluation.

    An endless split has as many as in validations.
    """
    return Sizes(*((task.data.size(split) or options.validation_examples) for split in ("validation", "test")))


def final_seconds(example: float, sizes: Sizes, options: Options) -> float:
    """Return the seconds of the final evaluation.

    With an average, validation is measured twice.
    """
    return round(example * (sizes.validation * (2 if options.average > 1 else 1) + sizes.test), 3)


def is_better(new: tuple[float, float | None], old: tuple[float, float | None], examples: int) -> bool:
    """Whether a headline and a loss on validation are better than others.

    The larger headline is better. If the headlines are equal, or of fewer than a hundred examples, which are mostly
    noise, the smaller loss is. Without a loss the headline decides alone.

    >>> is_better((0.3, 1.2), (0.2, 1.1), 500), is_better((0.3, 1.2), (0.2, 1.1), 50)
    (True, False)
    >>> is_better((0.0, 3.0), (0.0, 4.0), 500), is_better((0.3, None), (0.2, None), 50)
    (True, True)
    """
    (headline, loss), (other, other_loss) = new, old
    if loss is not None and other_loss is not None and decides_by_loss(examples, headline, other):
        return loss < other_loss
    return headline > other


def decides_by_loss(examples: int, *headlines: float) -> bool:
    """Whether validation examples are too few, or headlines too equal, to decide."""
    return examples < _FEW or len(set(headlines)) == 1


def measure(
    task: Task, model: nn.Module, split: str, seed: int, limit: int | None = None, request: Any = None
) -> Evaluation:
    """Evaluate a model, with the loads of its experts.

    The model and the random generators stay as they are. Random numbers follow from the run's seed and the split. A
    `limit` is a number of examples, spread over the split. A `request` has differences from the run's options.
    """
    with undisturbed(model, seed, split), balances(model) as collected:
        result = task.evaluate(model, split, limit, request)
    return with_loads(result, collected)


def validation_loss(task: Task, model: nn.Module, seed: int, limit: int | None = None) -> float | None:
    """Return the mean loss of at most `limit` validation examples.

    It is None if the task has none, or if it is not finite.
    """
    if (mean := getattr(task, "mean_loss", None)) is None:
        return None
    with undisturbed(model, seed, "validation loss"):
        loss: float | None = mean(model, "validation", limit)
    return loss if loss is not None and math.isfinite(loss) else None


def sample(task: Task, model: nn.Module, seed: int, step: int) -> str:
    """Return a line with a validation example and the model's answer.

    The example is drawn by seed and step.
    """
    size = task.data.size("validation") or 1
    example = task.example("validation", derive(seed, "sample", step) % size)
    [answer] = task.answer(model, [example.input], None, "json")
    parts = [example.text, answer.lines()[0], example.answer, answer.remark]
    parts = [CONTROL.sub("·", " ".join(part.split())) for part in parts]
    limit = min(_ROOM, max(map(len, parts)))
    while sum(min(len(part), limit) for part in parts) > _ROOM:  # the longest are cut
        limit -= 1
    text, answered, expected, remark = (part if len(part) <= limit else f"{part[: limit - 1]}…" for part in parts)
    return f"{text} → {answered} ({'; '.join(filter(None, [f'expected: {expected}', remark]))})"


@contextmanager
def undisturbed(model: nn.Module, seed: int, label: str) -> Iterator[None]:
    """Evaluation mode, full precision and seeded generators within the block.

    All are restored after it.
    """
    training = model.training
    model.eval()
    try:
        with torch.inference_mode(), seeded(seed, label), matmul_precision("highest"):
            yield
    finally:
        model.train(training)


def baselines(run: Run, task: Task, split: str) -> dict[str, Baseline]:
    """Return the baselines of a split.

    They come from the run's results if the data are those of training, else they are measured.
    """
    results = run.results() if task.data.fingerprint == run.config["data"] else None
    return stored_baselines(results, split) if results else task.baselines(split)


def stored_baselines(results: Mapping[str, Any], split: str) -> dict[str, Baseline]:
    """Return the baselines of a split in results.json."""
    return {name: Baseline(**stored) for name, stored in results["baselines"][split].items()}


def better_baseline(results: Mapping[str, Any], headline: str) -> str:
    """Return a line about a better baseline on validation, "" if there is none.

    It is the best one, and better than the model in four digits.

    >>> plain = {"metrics": {"accuracy": 0.92}, "about": "TF-IDF", "seconds": 2.0, "advice": "try --model sum"}
    >>> results = {"validation": {"accuracy": 0.9}, "baselines": {"validation": {"tfidf": plain}}}
    >>> better_baseline(results, "accuracy")
    'a baseline is better on validation: tfidf 0.92 > 0.9 (accuracy); in a new --run try --model sum'
    """
    model_score = value(results["validation"][headline])
    scores = {
        name: (value(baseline.metrics[headline]), baseline.advice)
        for name, baseline in stored_baselines(results, "validation").items()
        if headline in baseline.metrics
    }
    name = max(scores, key=lambda name: scores[name][0], default=None)
    if name is None or not scores[name][0] > model_score or f"{scores[name][0]:.4g}" == f"{model_score:.4g}":
        return ""
    score, advice = scores[name]
    line = f"a baseline is better on validation: {name} {score:.4g} > {model_score:.4g} ({headline.replace('_', ' ')})"
    return f"{line}; {'in a new --run ' if advice.startswith('try --') else ''}{advice}" if advice else line


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

    Evaluations of "test" and "validation" are `measured`. The model is the mean of the `averaged` steps. If there were
    several candidates, their steps and headlines are `compared`.
    """
    test = measured["test"]
    final = {
        "steps": list(averaged),
        "average": options.average,
        "patience": options.early_stopping,
        **({"compared": list(compared)} if compared else {}),
        "best": state.best,
        "best_step": state.best_step,
        "validations_since_best": state.stale,
        "stopped_early": state.stops_early(options),
        "reserve": state.reserve,
    }
    speed = {"train": _rate(state.tokens, state.training_seconds), "decode": _rate(test.count, test.seconds)}
    baselines = {split: asdict(evaluation)["baselines"] for split, evaluation in measured.items()}
    more = {"validation": measured["validation"].metrics, "steps": state.step, "final": final}
    return split_results(
        run, options, model, test, baselines=baselines, seconds=round(state.seconds, 3), tokens_per_second=speed, **more
    )


def complete(results: Mapping[str, Any], options: Options) -> bool:
    """Whether the options would come to results that exist."""
    final = results["final"]
    best, stale = final["best_step"], final["validations_since_best"]
    state = TrainState(
        results["steps"], seconds=results["seconds"], best_step=best, stale=stale, reserve=final["reserve"]
    )
    return (final["average"], final["patience"]) == (options.average, options.early_stopping) and state.ended(options)


def split_results(run: Run, options: Options, model: nn.Module, result: Evaluation, **more: Any) -> dict[str, Any]:
    """Return the content of results-SPLIT.json, with `more` entries added or replaced."""
    parameter = next(model.parameters())
    return {
        "task": run.config["task"],
        "model": options.model,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "metrics": result.metrics,
        "groups": result.groups,
        **({"confusion": result.confusion} if result.confusion else {}),
        "baselines": asdict(result)["baselines"],
        "seed": options.seed,
        "seconds": round(result.seconds, 3),
        "tokens_per_second": {"decode": _rate(result.count, result.seconds)},
        "examples_per_second": _rate(result.examples, result.seconds),
        **more,
        "hardware": hardware(parameter.device),
        "versions": versions(),
        "config": {**run.config, "options": asdict(options)},
    }


def _rate(count: int, seconds: float) -> float:
    """Units a second, 0 without time."""
    return round(count / seconds, 1) if seconds else 0.0
