"""How noisy the gradient of each estimator is, at the same weights and on the same sentences."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from saccade.models.padded import Padded
from saccade.models.reinforce import gradient_noise
from saccade.tasks.translate import Translate
from saccade.train.randomness import seeded

__all__ = ["BATCHES", "DRAWS", "LEARNED", "SENTENCES", "estimators", "noise"]

BATCHES, SENTENCES, DRAWS = 6, 8, 6
LEARNED = "learned baseline"
_OWN = "reinforce."  # how the names of weights begin that only the learned baseline has


def estimators(samples: int, entropy_bonus: float) -> dict[str, dict[str, Any]]:
    """Return the options of each estimator by its name; those of REINFORCE read a sentence as often as each other.

    >>> estimators(2, 0.1)["leave-one-out"]
    {'read': 'reinforce', 'samples': 2, 'baseline': 'leave-one-out'}
    """
    drawn = {"read": "reinforce", "samples": samples}
    return {
        LEARNED: drawn,
        "leave-one-out": {**drawn, "baseline": "leave-one-out"},
        "entropy bonus": {**drawn, "entropy_bonus": entropy_bonus},
        "straight-through": {"read": "straight-through"},
    }


def noise(
    wanted: Mapping[str, Mapping[str, Any]], task: Translate, model: nn.Module, seed: int
) -> dict[str, dict[str, Any]]:
    """Return how noisy each estimator's gradient by the attention's weights is, where a model is.

    Args:
        wanted: options of the estimators, by their names; those that need a baseline that the model has not learned are
            left out.
        task: of the model.
        model: its weights are looked at.
        seed: of the draws.

    Returns:
        By the estimator's name "variance", the sum over all weights of the variance over draws, "signal", the squared
        length of the mean gradient, both the means over `BATCHES` batches of training, and "batches", their variances.
    """
    weights = model.state_dict()
    learned = any(name.startswith(_OWN) for name in weights)
    device = next(model.parameters()).device
    batches = [task.batch(step).to(device) for step in range(BATCHES)]
    found: dict[str, dict[str, Any]] = {}
    for name, options in wanted.items():
        needs = options["read"] == "reinforce" and options.get("baseline", "learned") == "learned"
        if needs and not learned:
            continue
        settings = replace(task.settings, **{"baseline": "learned", "samples": 1, "entropy_bonus": 0.0, **options})
        other = replace(task, settings=settings).build().to(device)
        other.load_state_dict({key: value for key, value in weights.items() if needs or not key.startswith(_OWN)})
        with seeded(seed, "noise", name):
            noises = [
                gradient_noise(
                    other,
                    Padded(batch.source.values[:SENTENCES], batch.source.lengths[:SENTENCES]),
                    batch.target[:SENTENCES, :-1],
                    batch.target[:SENTENCES, 1:],
                    DRAWS,
                )
                for batch in batches
            ]
        variances = [one.variance for one in noises]
        signal = sum(one.signal for one in noises) / BATCHES
        found[name] = {"variance": sum(variances) / BATCHES, "signal": signal, "batches": variances}
    return found
