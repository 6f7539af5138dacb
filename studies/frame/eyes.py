"""Studies of eyes: their images, their recipe, and the errors of their paths."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saccade.errors import ArgumentError
from saccade.models.policies import Gaussian
from saccade.tasks.glimpse import GLIMPSE
from saccade.tasks.glimpse.data import longest_label, open_data
from saccade.tasks.glimpse.eyes import most_glimpses, numbers_of
from saccade.tasks.image.dataset import Dataset
from saccade.tasks.task import Job
from saccade.train.results import undisturbed
from saccade.train.task import options_class
from studies.frame.options import Seeded
from studies.frame.seeds import pack, unpack

EYE: Mapping[str, Any] = {
    "batch_size": 128,
    "samples": 1,
    "baseline": "learned",
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "final_rate": 0.02,
    "clip": 5.0,
    "deviation": 0.15,
    "last_deviation": 0.05,
}
"""Options of the training of every eye, if it has them."""
SMALL: Mapping[str, Any] = {"glimpses": 4, "patch": 12, "scales": 2, "hidden_dim": 128, "glimpse_dim": 64}
"""Sizes of an eye that learns the built-in digits in a minute."""
PATHS = 10
"""Paths over each test image: the error of one path is the mean over all."""
_AT_ONCE = 256  # images


@dataclass(frozen=True, kw_only=True)
class Canvas(Seeded):
    """Options of a study that trains eyes.

    >>> Canvas(data="translated").canvas
    60
    """

    digits: str | None = None
    """Folder of MNIST's files for built-in data. Default: scikit-learn's digits."""

    canvas: int = 60
    """Pixels of height and width of translated and cluttered images."""


def canvas_options(options: Canvas) -> dict[str, Any]:
    """Return the options of a run's images that differ from the defaults.

    >>> canvas_options(Canvas(data="translated", canvas=100)), canvas_options(Canvas(data="images"))
    ({'canvas': 100}, {})
    """
    defaults = options_class(GLIMPSE, "ram", checked=False).__dataclass_fields__
    values = {name: getattr(options, name) for name in ("digits", "canvas")}
    return {name: value for name, value in values.items() if value != defaults[name].default}


def open_canvas(options: Canvas) -> Dataset:
    """Open the images that the options name, of one label each."""
    recipe = {name: value for name, value in GLIMPSE.recipes.get(options.data, {}).items() if name == "distractors"}
    run = options_class(GLIMPSE, "ram", checked=False)
    data = open_data(run(model="ram", data=options.data, **canvas_options(options), **recipe))
    if longest_label(data) > 1:
        raise ArgumentError(f"--data: expected images of one label each, got strings of symbols ({options.data})")
    return data


def wrong_shares(row: Mapping[str, Any]) -> list[float]:
    """Return the share of wrong paths of each image, from a row of `measured`.

    >>> wrong_shares({"wrong": "0a5", "paths": 10})
    [0.0, 1.0, 0.5]
    """
    return [count / row["paths"] for count in unpack(row["wrong"], "counts")]


def measured(task: Job, model: Any, data: Dataset, seed: int) -> dict[str, Any]:
    """Return the columns of a row: errors of an eye's paths over the test split.

    "error" is the mean over `PATHS` single paths of each image, and "wrong" the number of wrong ones. "entropy" is that
    of the choice of a place in nats. The random numbers are those of the run's evaluation.
    """
    size, device = data.size("test") or 0, next(model.parameters()).device
    wrong, of_mean, likeliest, entropies = list[int](), list[bool](), list[bool](), list[float]()
    with undisturbed(model, seed, "test"):
        for first in range(0, size, _AT_ONCE):
            indices = range(first, min(first + _AT_ONCE, size))
            samples = task.codec.encode([data.example("test", index) for index in indices], "test")
            images, labels, _ = task.codec.collate(samples)
            numbers = numbers_of([*images], task.settings.seed, PATHS, most_glimpses(model)).to(device)
            images, labels = images.to(device), labels.to(device)
            path = model.look(images, PATHS, numbers=numbers)
            shares = path.logits[:, :, -1].float().softmax(-1)
            wrong += (shares.argmax(-1) != labels[:, None]).sum(1).tolist()
            of_mean += (shares.mean(1).argmax(-1) != labels).tolist()
            likeliest += (model.look(images, draw=False).logits[:, 0, -1].argmax(-1) != labels).tolist()
            entropies += path.entropy.flatten().tolist()
    policy = getattr(model, "policy", None)
    deviation = round(float(policy.deviation(1.0).detach()), 4) if isinstance(policy, Gaussian) else None
    return {
        "images": size,
        "labels": len(task.codec.labels),
        "paths": PATHS,
        "error": sum(wrong) / (PATHS * size),
        "error_of_mean": statistics.fmean(of_mean),
        "error_likeliest": statistics.fmean(likeliest),
        "entropy": round(statistics.fmean(entropies), 4) if entropies else None,
        "deviation": deviation,
        "wrong": pack(wrong, "counts"),
    }
