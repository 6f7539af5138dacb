"""How noisy the gradient of each estimator is, at the same weights and on the same sentences."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from saccade.models.hard import OF_REINFORCE, TextOptions
from saccade.models.padded import Padded
from saccade.models.reinforce import gradient_noise
from saccade.tasks.translate import Translate
from saccade.train.randomness import seeded

__all__ = ["BATCHES", "DRAWS", "LEARNED", "PAPER", "SENTENCES", "UNSAID", "estimators", "noise"]

BATCHES, SENTENCES, DRAWS = 6, 8, 6
LEARNED, PAPER = "learned baseline", "as in the paper"
UNSAID = 1.0  # reward weight of reports that do not tell theirs
_PLAIN: dict[str, Any] = {name: TextOptions.__dataclass_fields__[name].default for name in OF_REINFORCE}


def estimators(samples: int, entropy_bonus: float, reward_weight: float = 1.0) -> dict[str, dict[str, Any]]:
    """Return the options of each estimator by its name; those of REINFORCE read a sentence as often as each other.

    Args:
        samples: how often.
        entropy_bonus: of the estimators that have one.
        reward_weight: of the paper's estimator; with the others a gradient is that of the expected cost.

    >>> estimators(2, 0.1)["leave-one-out"]
    {'read': 'reinforce', 'samples': 2, 'baseline': 'leave-one-out'}
    """
    drawn = {"read": "reinforce", "samples": samples}
    return {
        LEARNED: drawn,
        "leave-one-out": {**drawn, "baseline": "leave-one-out"},
        "entropy bonus": {**drawn, "entropy_bonus": entropy_bonus},
        PAPER: {
            **drawn,
            "baseline": "moving-average",
            "charge": "whole",
            "soft_share": 0.5,
            "entropy_bonus": entropy_bonus,
            "reward_weight": reward_weight,
        },
        "straight-through": {"read": "straight-through"},
    }


def noise(
    wanted: Mapping[str, Mapping[str, Any]], task: Translate, model: nn.Module, seed: int
) -> dict[str, dict[str, Any]]:
    """Return how noisy each estimator's gradient by the attention's weights is, where a model is.

    Args:
        wanted: options of the estimators, by their names; those whose baseline is of training, a linear map or a moving
            average, are left out where the model has not been trained with it.
        task: of the model.
        model: its weights are looked at.
        seed: of the draws.

    Returns:
        By the estimator's name "variance", the sum over all weights of the variance over draws, "signal", the squared
        length of the mean gradient, both the means over `BATCHES` batches of training, and "batches", their variances.
    """
    weights = model.state_dict()
    device = next(model.parameters()).device
    batches = [task.batch(step).to(device) for step in range(BATCHES)]
    found: dict[str, dict[str, Any]] = {}
    for name, options in wanted.items():
        other = replace(task, settings=replace(task.settings, **{**_PLAIN, **options})).build().to(device)
        needed = other.state_dict().keys()
        if not needed <= weights.keys():
            continue
        other.load_state_dict({name: weights[name] for name in needed})
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
