"""What reports on eyes share: the images, how they learn, how often their paths err, and how surely they choose."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from saccade.errors import ArgumentError
from saccade.models.policies import Gaussian
from saccade.models.ram import Path
from saccade.reports.difference import packed_counts, unpacked_counts
from saccade.reports.options import Seeded
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.data import longest_label, open_data
from saccade.tasks.glimpse.eyes import most_glimpses, numbers_of
from saccade.tasks.image.batches import encode, stacked
from saccade.tasks.image.dataset import Dataset
from saccade.train.results import undisturbed
from saccade.train.task import options_class

__all__ = [
    "EYE",
    "PATHS",
    "SMALL",
    "Canvas",
    "canvas_options",
    "measured",
    "open_canvas",
    "wrong_shares",
]

EYE: dict[str, Any] = {
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
"""How every eye learns, where it has such an option."""
SMALL: Mapping[str, Any] = {"glimpses": 4, "patch": 12, "scales": 2, "hidden_dim": 128, "glimpse_dim": 64}
"""Sizes of an eye that learns in a minute on the built-in digits."""
PATHS = 10
"""That are drawn over each image: the error of one path is the mean over all; beside it stands that of their mean."""
_AT_ONCE = 256  # images


@dataclass(frozen=True, kw_only=True)
class Canvas(Seeded):
    """The options of a report that trains eyes.

    >>> Canvas(data="translated").canvas
    60
    """

    digits: str | None = None
    """Folder of MNIST's files, whose digits built-in data are made of; those of scikit-learn if not given."""

    canvas: int = 60
    """Pixels of height and width of translated and cluttered images."""


def canvas_options(options: Canvas) -> dict[str, Any]:
    """Return the options of a run that say what its images are, where they are not as they always are.

    >>> canvas_options(Canvas(data="translated", canvas=100)), canvas_options(Canvas(data="images"))
    ({'canvas': 100}, {})
    """
    given = {"digits": options.digits, "canvas": options.canvas}
    usual = options_class(Glimpse, "ram", checked=False).__dataclass_fields__
    return {name: value for name, value in given.items() if value != usual[name].default}


def open_canvas(options: Canvas) -> Dataset:
    """Open the images that the options name.

    Raises:
        SaccadeError: if they cannot be read, or there are none to test on.
    """
    run = options_class(Glimpse, "ram", checked=False)
    data = open_data(run(model="ram", data=options.data, **canvas_options(options), **_distractors(options.data)))
    if not data.size("test"):
        raise ArgumentError(f"--data: expected images in the test split of {options.data}, got none")
    if longest_label(data) > 1:
        raise ArgumentError(f"--data: expected images of one label each, got strings of symbols ({options.data})")
    return data


def _distractors(data: str) -> dict[str, Any]:
    recipe = Glimpse.recipes.get(data, {})
    return {"distractors": recipe["distractors"]} if "distractors" in recipe else {}


def wrong_shares(row: dict[str, Any]) -> list[float]:
    """Return the share of an eye's paths that end in a wrong answer, image by image, of a row that `measured` made.

    >>> wrong_shares({"wrong": "0a5", "paths": 10})
    [0.0, 1.0, 0.5]
    """
    return [count / row["paths"] for count in unpacked_counts(row["wrong"])]


def measured(task: Glimpse, model: Any, data: Dataset, seed: int) -> dict[str, Any]:
    """Let eyes go over the test split of a data set, by the numbers that a run's own evaluation draws.

    Args:
        task: of the model: its labels and its seed.
        model: with a `look`.
        data: whose images may be of another size than those of the task.
        seed: of the run.

    Returns:
        What a row of a report says of them: "error", the mean over `PATHS` single paths of each image; "wrong", in how
        many of them each image was; "error_of_mean" and "error_likeliest"; "entropy" in nats of what a place is chosen
        from, and "deviation", where there is one.
    """
    size, device = data.size("test") or 0, next(model.parameters()).device
    wrong, of_mean, likeliest, entropies = list[int](), list[bool](), list[bool](), list[float]()
    with undisturbed(model, seed, "test"):
        for first in range(0, size, _AT_ONCE):
            indices = range(first, min(first + _AT_ONCE, size))
            images, labels = stacked(encode(data, "test", task.known.labels, indices))
            numbers = numbers_of([*images], task.settings.seed, PATHS, most_glimpses(model)).to(device)
            images, labels = images.to(device), labels.to(device)
            path: Path = model.look(images, PATHS, numbers=numbers)
            shares = path.logits[:, :, -1].float().softmax(-1)
            wrong += (shares.argmax(-1) != labels[:, None]).sum(1).tolist()
            of_mean += (shares.mean(1).argmax(-1) != labels).tolist()
            likeliest += (model.look(images, draw=False).logits[:, 0, -1].argmax(-1) != labels).tolist()
            entropies += path.entropy.flatten().tolist()
    return {
        "images": size,
        "labels": len(task.known.labels),
        "paths": PATHS,
        "error": sum(wrong) / (PATHS * size),
        "error_of_mean": statistics.fmean(of_mean),
        "error_likeliest": statistics.fmean(likeliest),
        "entropy": round(statistics.fmean(entropies), 4) if entropies else None,
        "deviation": _deviation(getattr(model, "policy", None)),
        "wrong": packed_counts(wrong),
    }


def _deviation(policy: Any) -> float | None:
    if not isinstance(policy, Gaussian):
        return None
    found: Tensor = policy.deviation(1.0)
    return round(float(found.detach()), 4)
