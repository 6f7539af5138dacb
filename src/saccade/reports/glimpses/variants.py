"""The eyes that are compared: one that all others differ from in one thing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.eyes import EYE, SMALL
from saccade.reports.training import Variant

__all__ = ["FULL", "POLICIES", "QUICK", "Sweep", "cluttered", "variants"]

POLICIES: dict[str, Mapping[str, Any]] = {
    "ram": EYE,
    "ram-grid": EYE,
    "tiles": EYE,
    "soft-tiles": EYE,
    "random": EYE,
    "whole": {"batch_size": 128},
}
"""What chooses places, or a network that sees everything, by the model's name, with its options."""

_CANVAS = {"translated": 0, "cluttered": 4}  # pieces on a canvas where nothing is said


@dataclass(frozen=True)
class Sweep:
    """What is varied, and around what.

    Args:
        eye: sizes of the eye that all others differ from in one thing.
        policies: models that are tried beside it.
        glimpses, scales: that are tried beside its own.
        pieces: of other digits, that are tried beside those of the data, where there is a canvas.
        among: models that are tried among so many pieces.
    """

    eye: Mapping[str, Any]
    policies: Sequence[str]
    glimpses: Sequence[int]
    scales: Sequence[int]
    pieces: Sequence[int]
    among: Sequence[str]


FULL = Sweep(
    {"glimpses": 6, "patch": 12, "scales": 3},
    [*POLICIES],
    glimpses=(2, 4, 8),
    scales=(1, 2),
    pieces=(0, 4, 8),
    among=("ram", "random", "whole"),
)
"""The sizes of Mnih et al. 2014 for a canvas of 60 × 60 pixels."""

QUICK = Sweep(
    SMALL,
    ["ram", "random"],
    glimpses=(),
    scales=(1,),
    pieces=(),
    among=(),
)
"""What there is time for in five minutes."""


def cluttered(data: str, pieces: int) -> dict[str, Any]:
    """Return the options of a canvas with so many pieces of other digits.

    >>> cluttered("translated", 4), cluttered("cluttered", 0)
    ({'data': 'cluttered', 'distractors': 4}, {'data': 'translated', 'distractors': 0})
    """
    return {"data": "cluttered" if pieces else "translated", "distractors": pieces}


def variants(sweep: Sweep, data: str, shared: Mapping[str, Any]) -> list[Variant]:
    """Return the models that are trained.

    Args:
        sweep: what is varied.
        data: as it is typed; pieces are varied where it is a canvas.
        shared: options of all.

    Example:
        >>> [one.name for one in variants(QUICK, "translated", {})]
        ['ram', 'random', 'ram, 1 scale']
    """

    def one(model: str, name: str = "", **values: Any) -> Variant:
        own = {**POLICIES[model], **sweep.eye, **shared, **values}
        return Variant(f"{model}, {name}" if name else model, model, own)

    def counted(count: int, what: str) -> str:
        return f"{count} {what}{'' if count == 1 else 's'}"

    return [
        *(one(model) for model in sweep.policies),
        *(one("ram", counted(count, "glimpse"), glimpses=count) for count in sweep.glimpses),
        *(one("ram", counted(count, "scale"), scales=count) for count in sweep.scales),
        *(
            one(model, counted(count, "piece"), **cluttered(data, count))
            for count in (sweep.pieces if data in _CANVAS else ())
            if count != _CANVAS[data]
            for model in sweep.among
        ),
    ]
