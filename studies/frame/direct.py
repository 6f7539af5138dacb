"""Studies of small models without a task, with a row for each training."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from studies.frame.folder import Folder
from studies.frame.options import Direct
from studies.frame.study import Step


@dataclass(frozen=True)
class Budget:
    """The largest number of steps and minutes of a training."""

    steps: int
    minutes: float

    def within(self, options: Direct) -> "Budget":
        return Budget(options.max_steps or self.steps, options.max_minutes or self.minutes)


def job(about: Mapping[str, Any], measure: Callable[[], dict[str, Any]], budget: Budget | None = None) -> Step:
    """Return the step of one row, and of the costs of its training in "runs".

    Args:
        about: the first columns: "model", "seed" and others that identify the row.
        measure: returns the other columns; after a training "steps", "seconds" and "parameters" are among them.
        budget: of the training, if there is one.
    """

    def do(folder: Folder) -> list[dict[str, Any]]:
        row = {**about, **measure()}
        if budget is not None:
            costs = {key: row[key] for key in ("model", "seed", "steps", "seconds", "parameters")}
            limit = {"max_steps": budget.steps, "max_minutes": budget.minutes}
            folder.content["runs"]["-".join(map(str, about.values()))] = {**costs, "budget": limit}
        return [row]

    return Step(f"{about['model']}, seed {about['seed']}", [about], do)


def fit(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    budget: Budget,
    rate: float,
    optimizer: type[torch.optim.Adam] | type[torch.optim.SGD] = torch.optim.Adam,
) -> dict[str, Any]:
    """Train with a new optimizer, clipped gradients, and a rate of half a cosine.

    The loss is a function of the number of a step. The model is left in evaluation mode. If minutes end the training,
    the rate has not come down.

    Returns:
        "steps" and "seconds".
    """
    trained = list(model.parameters())
    stepping = optimizer(trained, lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(stepping, budget.steps)
    begun, step = time.perf_counter(), 0
    model.train()
    while step < budget.steps and time.perf_counter() - begun < 60 * budget.minutes:
        stepping.zero_grad()
        loss(step).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        stepping.step()
        schedule.step()
        step += 1
    model.eval()
    return {"steps": step, "seconds": round(time.perf_counter() - begun, 3)}


def size(model: nn.Module) -> int:
    """Return the number of parameters that a model learns."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
