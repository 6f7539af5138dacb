"""What eyes are measured by: how often their paths end in a wrong answer, how surely they choose, and how far."""

import statistics
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from saccade.models.policies import Anywhere, Gaussian
from saccade.models.ram import Path
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.eyes import most_glimpses, numbers_of
from saccade.tasks.image.batches import encode, stacked
from saccade.tasks.image.dataset import Dataset
from saccade.train.results import undisturbed

__all__ = ["PATHS", "measured", "packed_counts", "unpacked_counts", "wrong_shares"]

PATHS = 10
"""That are drawn over each image: the error of one path is the mean over all; beside it stands that of their mean."""
_AT_ONCE = 256  # images


def packed_counts(counts: Sequence[int]) -> str:
    """Return numbers from 0 to 15 as hexadecimal digits, one each.

    >>> packed_counts([0, 10, 3])
    '0a3'
    """
    return "".join(f"{count:x}" for count in counts)


def unpacked_counts(digits: str) -> list[int]:
    """Return what `packed_counts` was given.

    >>> unpacked_counts("0a3")
    [0, 10, 3]
    """
    return [int(digit, 16) for digit in digits]


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
    policy = getattr(model, "policy", None)
    chooses = policy is not None and not isinstance(policy, Anywhere) and entropies
    return {
        "images": size,
        "labels": len(task.known.labels),
        "paths": PATHS,
        "error": sum(wrong) / (PATHS * size),
        "error_of_mean": statistics.fmean(of_mean),
        "error_likeliest": statistics.fmean(likeliest),
        "entropy": round(statistics.fmean(entropies), 4) if chooses else None,
        "deviation": _deviation(policy),
        "wrong": packed_counts(wrong),
    }


def _deviation(policy: Any) -> float | None:
    if not isinstance(policy, Gaussian):
        return None
    found: Tensor = policy.deviation(1.0)
    return round(float(found.detach()), 4)
