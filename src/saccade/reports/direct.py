"""Reports of small models that no task has: each is trained and measured in one go, and makes a row."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.commands import command
from saccade.reports.folder import Folder
from saccade.reports.making import Design, Step, finish
from saccade.reports.options import Shared, arguments, check_trainings
from saccade.train.environment import choose_device, hardware, versions

__all__ = ["Budget", "Direct", "Job", "Spent", "data_name", "fit", "make", "size"]

_CLIP = 1.0  # the norm of a gradient, at most


@dataclass(frozen=True, kw_only=True)
class Direct(Shared):
    """The options of a report that trains small models of its own.

    >>> Direct(seeds=5).seeds
    5
    """

    seeds: int = 3
    """Train each model so often, with the seeds 1, 2, 3, ...; a larger number goes on with a report."""

    max_steps: int | None = None
    """Train each model for so many steps (`isolation`: on each of its two tasks). Without it: as the report has it."""

    max_minutes: float | None = None
    """Train each model for so many minutes at most (`isolation`: on each task). Without it: as the report has it."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        check_trainings(self.seeds, self.max_steps, self.max_minutes)
        if self.quick and (self.max_steps or self.max_minutes):
            raise ArgumentError("--quick: expected no budget beside it, got some; leave one out")


@dataclass(frozen=True)
class Budget:
    """How long a model is trained: for so many steps, unless the clock ends it before.

    Args:
        steps: at most.
        minutes: at most.
    """

    steps: int
    minutes: float

    def within(self, options: Direct) -> "Budget":
        """Return what the options say, and the rest as it is.

        >>> Budget(600, 2.0).within(Direct(max_steps=9))
        Budget(steps=9, minutes=2.0)
        """
        return Budget(options.max_steps or self.steps, options.max_minutes or self.minutes)


@dataclass(frozen=True)
class Spent:
    """What a training took.

    Args:
        steps: that were made.
        seconds: of the clock.
    """

    steps: int
    seconds: float


@dataclass(frozen=True)
class Job:
    """One row of a report, and how it comes about.

    Args:
        about: what the row begins with: "model" and "seed", and what else tells it from others.
        measure: the rest of the row. Where something is trained for it, "steps", "seconds" and "parameters" are in it.
        budget: of the training; None where nothing is trained.
    """

    about: Mapping[str, Any]
    measure: Callable[[], dict[str, Any]]
    budget: Budget | None = None

    @property
    def name(self) -> str:
        """What it is called as it begins.

        >>> Job({"model": "a", "seed": 1}, dict).name
        'a, seed 1'
        """
        return f"{self.about['model']}, seed {self.about['seed']}"


def make(design: Design, options: Direct, data: str, decided: Mapping[str, Any], jobs: Sequence[Job]) -> Made:
    """Measure what is not measured, a row at a time, and write the page.

    Args:
        design: of the report.
        options: as they were typed.
        data: what the folder is called by beside the report's name; "" for nothing.
        decided: what the rows hang on beside the options: a fingerprint of the data, sizes.
        jobs: in the order in which they are done.

    Raises:
        ReportError: if the folder belongs to something else.
        SaccadeError: if there is no such device.
    """
    typed = command(f"saccade report {design.name}", options, type(options)())
    device = choose_device(options.device)
    torch.set_num_threads(options.threads or torch.get_num_threads())
    name = "-".join(["reports/" + design.name, *filter(None, [data]), *(["quick"] if options.quick else [])])
    folder = Folder.open(
        Path(options.output or name), design.name, {**arguments(options), **decided}, typed, resume=options.resume
    )
    with folder.locked():
        for key, found in (("hardware", hardware(device)), ("versions", versions())):
            folder.content.setdefault(key, found)
        return finish(folder, design, [Step(job.name, [job.about], partial(_measure, job)) for job in jobs])


def _measure(job: Job, folder: Folder) -> bool:
    """Make the row, and say of what was trained what it took, as the pages of all reports have it."""
    row = {**job.about, **job.measure()}
    folder.content["rows"].append(row)
    if job.budget is not None:
        about = {key: row[key] for key in ("model", "seed", "steps", "seconds", "parameters")}
        budget = {"max_steps": job.budget.steps, "max_minutes": job.budget.minutes}
        folder.content["runs"]["-".join(map(str, job.about.values()))] = {**about, "budget": budget}
    folder.commit()
    return True


def fit(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    budget: Budget,
    rate: float,
    optimizing: type[torch.optim.Adam] | type[torch.optim.SGD] = torch.optim.Adam,
) -> Spent:
    """Train by an optimizer of its own, its rate falling to zero along half a cosine, gradients cut to a norm of 1.

    Args:
        model: left in evaluation mode.
        loss: of a step, from its number; batches are functions of it.
        budget: how long; where the clock ends it, the rate has not come down.
        rate: at the first step.
        optimizing: makes the optimizer, which has no weight decay and, being new, no memory.
    """
    trained = list(model.parameters())
    optimizer = optimizing(trained, lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, budget.steps)
    begun, step = time.perf_counter(), 0
    model.train()
    while step < budget.steps and time.perf_counter() - begun < 60 * budget.minutes:
        optimizer.zero_grad()
        loss(step).backward()
        nn.utils.clip_grad_norm_(trained, _CLIP)
        optimizer.step()
        schedule.step()
        step += 1
    model.eval()
    return Spent(step, round(time.perf_counter() - begun, 3))


def data_name(data: str, builtin: Mapping[str, str]) -> str:
    """Return what the folder of a report is called by beside its name, "" where the data are built in.

    >>> data_name("../data/mnist", {"digits": ""}), data_name("digits", {"digits": ""})
    ('mnist', '')
    """
    return "" if data in builtin else Path(data).name


def size(model: nn.Module) -> int:
    """Return how many numbers a model learns.

    >>> size(nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
