"""A trained model from a run's folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from saccade._system.environment import bound_shape_caches, keep_freed_memory
from saccade.train.options import origin
from saccade.train.randomness import undisturbed
from saccade.train.run import Run, RunError
from saccade.train.task import Kind, models_of, options_class
from saccade.train.weights import by_columns, load_into, savable


@dataclass(frozen=True)
class Trained:
    """A run with its task and its model in evaluation mode.

    On a CPU the model's matrices lie by columns (`saccade.train.weights.by_columns`), in its `state_dict` by rows.
    """

    run: Run
    task: Any
    model: nn.Module
    options: Any


def load_trained(
    kind: Kind, run: Run, device: torch.device, objects: Any = None, overrides: Mapping[str, Any] | None = None
) -> Trained:
    """Load the model of a run on a device.

    Evaluations of a run with Python objects as its data need these `objects`. `overrides` has other options of data,
    for example the new path of moved files.

    Raises RunError if nothing is trained, or the folder's files do not belong together.
    """
    keep_freed_memory()
    bound_shape_caches()
    model_name = run.config["model"]
    if ":" not in model_name and model_name not in (models := models_of(kind)):
        raise RunError(f"{run.folder}: its model is {model_name}, which this Saccade has not: {', '.join(models)}")
    options = run.options(options_class(kind, model_name))
    if options.model != model_name:
        raise RunError(f"{run.folder / 'config.json'}: it names two models, {model_name} and {options.model}")
    run.check_files()
    located = run.located(options, kind.builtin)
    task = kind.restore(replace(located, **(overrides or {})), run.folder, objects)
    with undisturbed():  # weights that are replaced
        model = task.build()
    try:
        load_into(model, run.weights(origin(run.config, options)))
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:150]
        parts = f"{run.folder}: config.json and the trained weights are of different models"
        raise RunError(f"{parts} ({reason})") from error
    if device.type == "cpu":
        by_columns(model)
    savable(model)
    return Trained(run, task, model.to(device).eval(), options)
