"""The report `scaling`: what an answer costs by the size of the image, and what eyes make of sizes they never saw."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import torch

from saccade.bench.measure import medians, turns
from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.eyes import EYE, SMALL, Canvas, canvas_options, measured, open_canvas
from saccade.reports.folder import Folder
from saccade.reports.growth import median_error
from saccade.reports.making import Design, Step
from saccade.reports.scaling.answering import MODELS, operations, prepared
from saccade.reports.scaling.findings import summary
from saccade.reports.scaling.page import write_page
from saccade.reports.training import Part, Plan, Variant, make, scheduled
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.data import BUILTIN, open_data
from saccade.tasks.image.dataset import Dataset
from saccade.train.options import not_positive

__all__ = ["Options", "Scaling"]

_SIDES = (28, 60, 100, 200, 283, 400, 566, 800)
_CANVASES = (60, 100, 200)  # the first is trained on
_SECONDS, _QUICK_SECONDS = 20.0, 3.0
_QUICK_MINUTES = 0.75  # of training a model
_FEWEST = 3  # rounds, for a median and its error
_EYES = ("ram", "tiles")


@dataclass(frozen=True, kw_only=True)
class Options(Canvas):
    """What can be said about the report.

    >>> Options(data="translated").canvas
    60
    """

    builtin: ClassVar[dict[str, str]] = {name: BUILTIN[name] for name in ("translated", "cluttered")}

    data: str = ""
    """What the eyes are trained on: translated, or cluttered."""

    seconds: float | None = None
    """Processor time of the turns that models take at each size: 20 if not given, 3 with --quick; slow ones take three
    rounds."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if wrong := not_positive(self.seconds):
            raise ArgumentError(f"--seconds: {wrong}")
        if self.canvas != _CANVASES[0]:
            raise ArgumentError(f"--canvas: expected {_CANVASES[0]}, which others are compared with, got {self.canvas}")
        if self.data and self.data not in self.builtin:
            raise ArgumentError(f"--data: expected {' or '.join(self.builtin)}, got {self.data}")


class Scaling:
    """Whether what an eye costs follows from its glimpses and not from the image's size, which no weight knows of.

    Answers to one image are timed on one thread, models in turns, from 28 to 800 pixels a side; and eyes that were
    trained on small canvases answer larger ones.

    Source:
        Mnih, Heess, Graves, Kavukcuoglu 2014, abstract and section 1 (https://arxiv.org/abs/1406.6247).
    """

    sentence: ClassVar[str] = "what an answer costs by the image's size, seen in parts or whole (Mnih et al. 2014)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Time answers, train eyes, try them at larger sizes, and write the page."""
        seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
        timed = [_step(side, seconds) for side in _SIDES]
        plan = Plan(_variants, _parts, "translated", timed, Glimpse, open_canvas)
        return make(Design("scaling", write_page, summary), plan, options)


def _step(side: int, seconds: float) -> Step:
    return Step(f"{side} pixels a side", [{"measured": "time", "side": side}], partial(_time, side, seconds))


def _time(side: int, seconds: float, folder: Folder) -> bool:
    """Time one answer of every model on one thread, in turns; a row of the report.

    By the thread's own clock, which stands still while others have the processor.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        runs = [prepared(name, side) for name in MODELS]
        for run in runs:
            run()  # the first call makes what later ones have
        rounds = turns(runs, seconds=seconds, least=_FEWEST, clock=time.thread_time)
        found = {
            name: {"seconds": middle, "error": median_error(taken), "flops": operations(name, side)}
            for name, middle, taken in zip(MODELS, medians(rounds), zip(*rounds, strict=True), strict=True)
        }
    finally:
        torch.set_num_threads(before)
    folder.content["rows"].append({"measured": "time", "side": side, "rounds": len(rounds), "models": found})
    folder.commit()
    return True


def _variants(options: Options) -> Sequence[Variant]:
    """Eyes that know of no size."""
    shared = {**EYE, **canvas_options(options), **scheduled(options)}
    if options.quick:
        shared |= {**SMALL, "max_minutes": _QUICK_MINUTES}
    return [Variant(name, name, shared) for name in _EYES]


def _parts(data: Dataset, options: Options) -> Sequence[Part]:
    """The error at each size."""

    def at(side: int, task: Glimpse, model: Any, seed: int) -> dict[str, Any]:
        return measured(task, model, open_data(replace(task.settings, canvas=side)), seed)

    return [Part({"measured": "size", "side": side}, partial(at, side)) for side in _CANVASES]
