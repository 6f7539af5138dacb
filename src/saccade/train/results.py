"""How far a run is, how well its model does, and the results.json that says so."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from saccade.train.environment import hardware, versions
from saccade.train.options import Options
from saccade.train.randomness import seeded
from saccade.train.run import Run
from saccade.train.task import Evaluation, Task

__all__ = ["Books", "measure", "split_results", "summarize"]


@dataclass
class Books:
    """How far a run is.

    Args:
        step: steps taken.
        tokens: tokens trained on.
        seconds: all time since training began, over all processes that trained this run.
        training_seconds: the part of it that was spent in steps, not in measuring and saving.
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    training_seconds: float = 0.0

    def spent(self, options: Options) -> bool:
        """Whether the budget is used up."""
        late = options.max_minutes is not None and self.seconds >= 60 * options.max_minutes
        return late or (options.max_steps is not None and self.step >= options.max_steps)


def measure(task: Task, model: nn.Module, split: str, seed: int, limit: int | None = None) -> Evaluation:
    """Evaluate a model without leaving a trace in it or in the generators.

    Args:
        task: what the model is for.
        model: put into evaluation mode, and back.
        split: "validation" or "test".
        seed: of the run; what is random in an evaluation follows from it and the split.
        limit: measure on the first so many examples only.

    Returns:
        The task's evaluation.
    """
    training = model.training
    model.eval()
    try:
        with torch.inference_mode(), seeded(seed, split):
            return task.evaluate(model, split, limit)
    finally:
        model.train(training)


def summarize(
    run: Run, options: Options, books: Books, model: nn.Module, test: Evaluation, validation: Evaluation
) -> dict[str, Any]:
    """Return what results.json says of a trained run: `metrics` are those of the test split."""
    speed = {"train": _rate(books.tokens, books.training_seconds), "decode": _rate(test.tokens, test.seconds)}
    return {
        **_subject(run, options, model),
        "metrics": test.metrics,
        "groups": test.groups,
        "validation": validation.metrics,
        "seed": options.seed,
        "steps": books.step,
        "seconds": round(books.seconds, 3),
        "tokens_per_second": speed,
        **_circumstances(run, options, model),
    }


def split_results(run: Run, options: Options, model: nn.Module, split: str, result: Evaluation) -> dict[str, Any]:
    """Return what results-SPLIT.json says of one evaluation."""
    return {
        **_subject(run, options, model),
        "split": split,
        "metrics": result.metrics,
        "groups": result.groups,
        "examples": result.examples,
        "seed": options.seed,
        "seconds": round(result.seconds, 3),
        "tokens_per_second": {"decode": _rate(result.tokens, result.seconds)},
        **_circumstances(run, options, model),
    }


def _subject(run: Run, options: Options, model: nn.Module) -> dict[str, Any]:
    """What was trained."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {"task": run.config["task"], "model": options.model, "parameters": parameters}


def _circumstances(run: Run, options: Options, model: nn.Module) -> dict[str, Any]:
    """Where, with what, and under which options."""
    device = next(model.parameters()).device
    return {"hardware": hardware(device), "versions": versions(), "config": {**run.config, "options": asdict(options)}}


def _rate(tokens: int, seconds: float) -> float:
    """Tokens a second, 0 where there was no time."""
    return round(tokens / seconds, 1) if seconds else 0.0
