"""Schedules of the learning rate after its warmup, as fractions of its peak."""

import math
from collections.abc import Callable

#: Share of the peak after the warmup, from r = n/w (the step in warmups, above 1) and t (0 at its end, 1 at the floor).
SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "inverse-sqrt": lambda r, t: r**-0.5,
    "constant": lambda r, t: 1.0,
    "linear": lambda r, t: 1 - t,
    "cosine": lambda r, t: (1 + math.cos(math.pi * t)) / 2,
}
#: Schedules that reach a floor at a step. The run has to set that step.
FALLING = ("linear", "cosine")
