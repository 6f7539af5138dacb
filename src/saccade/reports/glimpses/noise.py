"""How noisy the gradient of an eye's policy is with each baseline, at the same weights and at equal cost."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from saccade.models.reinforce import Noise, noise_of
from saccade.models.strings import rewards
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.task import Batch
from saccade.train.randomness import seeded

__all__ = ["DRAWS", "ESTIMATORS", "GROUPS", "LEARNED", "MOVING", "ROLLOUTS", "noise"]

GROUPS, DRAWS = 6, 6  # variances, and gradients of each, every one of images of its own
ROLLOUTS = 128  # of one gradient, whatever the baseline: what an estimator costs
LEARNED, MOVING = "learned", "moving-average"
ESTIMATORS: dict[str, dict[str, Any]] = {
    LEARNED: {"baseline": "learned", "samples": 1},
    MOVING: {"baseline": MOVING, "samples": 1},
    "leave-one-out": {"baseline": "leave-one-out", "samples": 4},
    "learned, 4 rollouts an image": {"baseline": "learned", "samples": 4},
}
"""Options of each estimator: as many images as `ROLLOUTS` are enough for."""
_OWN = "reinforce."  # how the names of what a baseline has begin


def noise(task: Glimpse, model: Any, seed: int) -> dict[str, dict[str, Any]]:
    """Return how noisy each estimator's gradient by the policy's weights is, over images and draws, where a model is.

    A moving average is what rewards at these weights come to. A learned baseline is tried where one was learned.

    Args:
        task: of the model; its images of training are looked at.
        model: its weights; one that learns no draws gets nothing.
        seed: of the draws.

    Returns:
        By the estimator's name "variance", the sum over all weights of the variance over gradients, "signal", the
        squared length of the mean gradient, both the means over `GROUPS` groups, and "batches", their variances; of a
        moving average "average", what it stood at.
    """
    weights, device = model.state_dict(), next(model.parameters()).device
    images = [task.batch(step).to(device) for step in range(GROUPS * DRAWS)]
    if not model.look(images[0].images[:1]).log_prob.requires_grad:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name, options in ESTIMATORS.items():
        if options["baseline"] == LEARNED and not any(key.startswith(f"{_OWN}baseline.") for key in weights):
            continue
        other = _with(task, weights, options).to(device).eval()
        stood: dict[str, float] = {}
        with seeded(seed, "noise", name):
            if options["baseline"] == MOVING:
                stood = {"average": _reward(other, images)}
                other.reinforce.average.fill_(-stood["average"])
            noises = [_noise_of(other, images[group * DRAWS : (group + 1) * DRAWS]) for group in range(GROUPS)]
        variances = [one.variance for one in noises]
        signal = sum(one.signal for one in noises) / GROUPS
        found[name] = {"variance": sum(variances) / GROUPS, "signal": signal, "batches": variances, **stood}
    return found


def _with(task: Glimpse, weights: dict[str, Any], options: dict[str, Any]) -> Any:
    """The same model with another estimator."""
    other = replace(task, settings=replace(task.settings, entropy_bonus=0.0, **options)).build()
    kept = {name: value for name, value in other.state_dict().items() if name.startswith(_OWN)}
    own = {name: weights[name] for name in kept if name in weights}
    seen = {name: value for name, value in weights.items() if not name.startswith(_OWN)}
    other.load_state_dict({**kept, **own, **seen})
    return other


def _noise_of(model: Any, images: Sequence[Batch]) -> Noise:
    """The noise of a gradient a batch, of which an eye looks at as many images as its rollouts are enough for."""
    left, count = iter(images), max(1, ROLLOUTS // model.options.samples)

    def cost() -> Tensor:
        batch = next(left)
        found: Tensor = model.cost(batch.images[:count], batch.labels[:count], 1.0)
        return found

    return noise_of(cost, [*model.policy.parameters()], len(images))


def _reward(model: Any, images: Sequence[Batch]) -> float:
    """What the model's paths are worth in the mean."""
    with torch.no_grad():
        logits = torch.cat([model.look(one.images).logits[:, 0, -1:] for one in images])
    wanted = torch.cat([one.labels for one in images])[:, None]
    return float(rewards(logits, wanted, model.options.reward).to_come.mean())
