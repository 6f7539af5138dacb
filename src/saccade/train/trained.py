"""A trained model out of a run's folder, for all that is not training."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from saccade.errors import ArgumentError
from saccade.train.environment import keep_freed_memory
from saccade.train.options import flag
from saccade.train.run import Run, RunError
from saccade.train.task import Task
from saccade.train.weights import by_columns, load_into

__all__ = ["Trained", "load_trained"]


@dataclass(frozen=True)
class Trained:
    """A run with its model loaded.

    Args:
        run: the folder.
        task: made again from it.
        model: on its device, in evaluation mode; on a CPU its matrices lie by columns
            (`saccade.train.weights.by_columns`).
        options: of the run.
    """

    run: Run
    task: Task
    model: nn.Module
    options: Any


def load_trained(kind: type[Task], run: Run, device: torch.device, changes: Mapping[str, Any] | None = None) -> Trained:
    """Load the model of a run.

    Args:
        kind: the run's task.
        run: the folder.
        device: where the model shall be.
        changes: options that shall have another value than the run's, of those that change no weight.

    Raises:
        ArgumentError: if the task has no such option, or the value means nothing to it.
        RunError: if there is nothing trained, or the folder's files do not belong together.
    """
    keep_freed_memory()
    model_name = run.config["model"]
    if model_name not in kind.models:
        raise RunError(f"{run.folder}: its model is {model_name}, which this Saccade has not: {', '.join(kind.models)}")
    options = run.options(kind.options(model_name))
    if options.model != model_name:
        raise RunError(f"{run.folder / 'config.json'}: it names two models, {model_name} and {options.model}")
    for name in changes or {}:
        if not hasattr(options, name):
            raise ArgumentError(f"{flag(name)}: {kind.name} has no such option")
    options = replace(options, **(changes or {}))
    task = kind.restore(options, run.folder)
    model = task.build()
    try:
        load_into(model, run.weights())
    except RuntimeError as error:
        raise RunError(f"{run.folder}: config.json and the trained weights are of different models") from error
    if device.type == "cpu":
        by_columns(model)
    return Trained(run, task, model.to(device).eval(), options)
