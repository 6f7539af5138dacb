"""What can be said about a translation run, and the defaults that suit each data set."""

import math
from dataclasses import dataclass
from typing import Any

from saccade.errors import ArgumentError

__all__ = ["RECIPES", "Options"]

#: Found by training: see the comments. Options that are not here keep the defaults of their dataclass.
RECIPES: dict[str, dict[str, Any]] = {
    # About 64 dates a batch: many small steps beat few large ones, and a rate below 3e-3 takes twice as many. With one
    # thread a step takes 1.5 times as long as with two that are free, but not five times where another program runs.
    "dates": {
        "hidden_dim": 128,
        "embedding_dim": 64,
        "batch_tokens": 1200,
        "learning_rate": 8e-3,
        "warmup_steps": 100,
        "max_steps": 600,
        "threads": 1,
        "checkpoint_steps": 100,
        "validation_steps": 100,
    },
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of every translation run, whatever its model.

    >>> Options(beam_size=5).beam_size
    5
    """

    batch_tokens: int = 4000
    """Tokens a batch, about, padding included; of each pair the longer side counts."""

    label_smoothing: float = 0.0
    """Share of the target's probability that is spread evenly over all tokens."""

    beam_size: int = 1
    """Outputs pursued at once in beam search when the run is evaluated; 1 is greedy decoding."""

    length_penalty: float = 0.6
    """How much beam search favours long outputs; 0 ranks by probability alone."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        for name, most in (("batch_tokens", 10_000_000), ("beam_size", 10_000)):
            if not 0 < (value := getattr(self, name)) <= most:
                raise ArgumentError(f"--{name.replace('_', '-')}: expected a number from 1 to {most}, got {value}")
        if not math.isfinite(self.length_penalty):
            raise ArgumentError(f"--length-penalty: expected a finite number, got {self.length_penalty}")
        if not 0 <= self.label_smoothing < 1:
            raise ArgumentError(f"--label-smoothing: expected 0 <= label smoothing < 1, got {self.label_smoothing}")
