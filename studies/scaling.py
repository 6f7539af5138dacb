"""Cost of an answer by the size of the image (Mnih et al. 2014)."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from saccade.bench.row import Run
from saccade.errors import ArgumentError
from saccade.models import cnn, ram, tiles, whole
from saccade.tasks.glimpse import Glimpse
from saccade.tasks.glimpse.data import BUILTIN, open_data
from saccade.tasks.image.dataset import Dataset
from studies.frame.claims import Claim, Estimate, Source, Verdict, bars, conclude, rule
from studies.frame.eyes import EYE, SMALL, Canvas, canvas_options, measured, open_canvas, wrong_shares
from studies.frame.folder import Folder
from studies.frame.growth import MEASURING, Power, draw_powers, exponent, in_turns, long_end, milliseconds, timed
from studies.frame.options import check_positive
from studies.frame.page import curve
from studies.frame.scores import by_model
from studies.frame.seeds import between
from studies.frame.study import Step, Study, Work
from studies.frame.training import Part, Trainings, Variant, scheduled

GLIMPSES, PATCH, SCALES, CLASSES = 6, 12, 3, 10
HARD, SOFT = "tiles, hard", "tiles, soft"
NEAR = 0.1  # a power of the pixels: sixteen times as many take 1.3 times as long
_SIDES = (28, 60, 100, 200, 283, 400, 566, 800)
_CANVASES = (60, 100, 200)  # the eyes are trained on the first
_SECONDS, _QUICK_SECONDS, _QUICK_MINUTES = 20.0, 3.0, 0.75  # of turns at a size, and of training a model
_EYES = ("ram", "tiles")


@dataclass(frozen=True)
class Model:
    """A model, and the claim that its cost grows with the image; None: no claim."""

    make: Callable[[], nn.Module]
    grows: bool | None


def _tiled(kind: type[nn.Module], options: type) -> Callable[[], nn.Module]:
    return lambda: kind(1, CLASSES, options(glimpses=GLIMPSES, patch=PATCH))


MODELS = {
    "RAM": Model(lambda: ram.Ram(1, CLASSES, ram.Options(glimpses=GLIMPSES, patch=PATCH, scales=SCALES)), False),
    HARD: Model(_tiled(tiles.Tiles, tiles.Options), None),
    SOFT: Model(_tiled(tiles.SoftTiles, tiles.Tiling), True),
    "CNN of the paper": Model(lambda: whole.Whole(1, CLASSES), True),
    "residual CNN": Model(lambda: cnn.CNN(1, CLASSES), True),
}


@dataclass(frozen=True, kw_only=True)
class Options(Canvas):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = {name: BUILTIN[name] for name in ("translated", "cluttered")}

    data: str = ""
    """Images that the eyes are trained on: translated, or cluttered."""

    seconds: float | None = None
    """Processor seconds at each size. Default: 20, with --quick 3."""

    def __post_init__(self) -> None:
        """Reject options without meaning."""
        super().__post_init__()
        check_positive(self, "seconds")
        if self.canvas != _CANVASES[0]:
            raise ArgumentError(f"--canvas: expected {_CANVASES[0]}, which others are compared with, got {self.canvas}")
        if self.data and self.data not in self.builtin:
            raise ArgumentError(f"--data: expected {' or '.join(self.builtin)}, got {self.data}")


def prepared(name: str, side: int) -> Run:
    """Return a call of a model with new weights on one image in memory.

    >>> prepared("RAM", 40)().shape
    torch.Size([1, 10])
    """
    torch.manual_seed(0)
    model, image = MODELS[name].make().eval(), torch.rand(1, 1, side, side)

    def answer() -> Tensor:
        with torch.inference_mode():
            logits: Tensor = model(image)
        return logits

    return answer


def operations(name: str, side: int) -> int:
    """Return the operations of matrix products and convolutions in one answer.

    >>> operations("RAM", 40) == operations("RAM", 80)
    True
    """
    run = prepared(name, side)
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def measure(options: Options) -> Work:
    """Return the timings, then a training an eye and seed."""
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
    rows = {side: [{"measured": "time", "side": side}] for side in _SIDES}
    steps = [Step(f"{side} pixels a side", rows[side], partial(_take_turns, side, seconds)) for side in _SIDES]
    return Trainings(_variants, _parts, "translated", steps, Glimpse, open_canvas)(options)


def _take_turns(side: int, seconds: float, _: Folder) -> list[dict[str, Any]]:
    """Time one answer of every model in turns, by the clock of a single thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        calls = {name: prepared(name, side) for name in MODELS}
        rounds, models = in_turns(calls, seconds=seconds, clock=time.thread_time)
        models = {name: {**columns, "flops": operations(name, side)} for name, columns in models.items()}
    finally:
        torch.set_num_threads(before)
    return [{"measured": "time", "side": side, "rounds": rounds, "models": models}]


def _variants(options: Options) -> list[Variant]:
    quick = {**SMALL, "max_minutes": _QUICK_MINUTES} if options.quick else {}
    return [Variant(name, name, {**EYE, **canvas_options(options), **scheduled(options), **quick}) for name in _EYES]


def _parts(data: Dataset, options: Options) -> list[Part]:
    def at(side: int, task: Glimpse, model: Any, seed: int) -> dict[str, Any]:
        return measured(task, model, open_data(replace(task.settings, canvas=side)), seed)

    return [Part({"measured": "size", "side": side}, partial(at, side)) for side in _CANVASES]


class Findings:
    """Times, operations, their powers, errors at larger sizes, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.timed = {row["side"]: row for row in content["rows"] if row["measured"] == "time"}
        self.tried = [row for row in content["rows"] if row["measured"] == "size"]
        self.sides = sorted(self.timed)
        self.long = long_end(self.sides)
        self.powers = {name: self._power(name, "seconds") for name in MODELS}
        self.claims = self._claims()
        verdict = conclude(self.claims)
        hard, soft = (self.timed[self.sides[-1]]["models"][name] for name in (HARD, SOFT))
        slower, more = (f"{soft[key] / hard[key]:.1f}" for key in ("seconds", "flops"))
        saved = f"soft attention over tiles takes {slower} times as long as hard, and {more} times the operations"
        self.verdict = Verdict(verdict.result, f"{verdict.reason}; at {self.sides[-1]} pixels a side, {saved}")

    def _power(self, name: str, key: str) -> Power:
        """The power of the pixels of seconds or operations, at the long end."""
        rows = [self.timed[side] for side in self.long]
        amounts, errors = ([row["models"][name][of] for row in rows] for of in (key, "error"))
        pixels, freedoms = [side**2 for side in self.long], [row["rounds"] - 1.0 for row in rows]
        power = exponent(pixels, amounts, errors if key == "seconds" else None, of="sizes", freedoms=freedoms)
        assert power is not None
        return power

    def median(self, side: int, name: str) -> Estimate:
        """Return a model's time at one size in milliseconds."""
        return timed(self.timed[side]["models"][name], self.timed[side]["rounds"])

    def _claims(self) -> list[Claim]:
        claims, side = [], self.sides[-1]
        for name, model in MODELS.items():
            if model.grows is not None:
                power, sign = self.powers[name], 1.0 if model.grows else -1.0
                text = f"the time of {name} {'grows' if model.grows else 'does not grow'}"
                claims.append(Claim(text, power.exponent.less(NEAR).times(sign), f"pixels^({power.text()})"))
        (hard, soft), rounds = (self.median(side, name) for name in (HARD, SOFT)), self.timed[side]["rounds"]
        error = Source(MEASURING, math.hypot(hard.error, soft.error), rounds - 1, rounds)
        lead = Estimate(soft.value - hard.value, (error,))
        text = f"by {lead.text(1)} ms at {side} pixels a side"
        return [*claims, Claim(f"{HARD} takes less time than {SOFT}", lead, text)]

    def _by_side(self, columns: Mapping[str, list[str]]) -> list[list[str]]:
        rows = zip([*map(str, self.sides), "power of the pixels"], *columns.values(), strict=True)
        return [["pixels a side", *columns], *map(list, rows)]

    def errors(self) -> list[list[str]]:
        """Return errors in percent by size, and differences from the first size."""
        table = [["trained at the first size", "pixels a side", "error, %", "beside that"]]
        for name, rows in by_model(self.tried).items():
            sides = sorted({row["side"] for row in rows})
            shares = [[wrong_shares(row) for row in rows if row["side"] == side] for side in sides]
            for side, at_side in zip(sides, shares, strict=True):
                more = "" if at_side is shares[0] else between(at_side, shares[0], paired=True).long()
                table.append([name, str(side), f"{100 * np.mean(at_side):.2f}", more])
        return table

    def fields(self) -> dict[str, Any]:
        """Return the fields of the page."""
        times, counts = dict[str, list[str]](), dict[str, list[str]]()
        for name in MODELS:
            flops = [self.timed[side]["models"][name]["flops"] / 1e6 for side in self.sides]
            times[name] = [*(milliseconds(self.median(side, name)) for side in self.sides), self.powers[name].text()]
            counts[name] = [*(f"{count:,.2f}" for count in flops), f"{self._power(name, 'flops').value:z.2f}"]
        return {
            "times": self._by_side(times),
            "operations": self._by_side(counts),
            "errors": self.errors(),
            "bars": bars("images", len({row["seed"] for row in self.tried})),
            "rule": rule(len(self.claims), seeded=False),
        }


def plot(result: Findings, folder: Path) -> dict[str, str]:
    """Draw the times."""
    curves = []
    for name, power in result.powers.items():
        ends = 1e3 * power.at(result.sides[0] ** 2), 1e3 * power.at(result.sides[-1] ** 2)
        times = [result.median(side, name) for side in result.sides]
        curves.append(curve(f"{name}: pixels^({power.text()})", result.sides, times, trend=ends))
    drawn = draw_powers(
        curves,
        folder / "scaling",
        result.sides,
        labels=("pixels a side", "milliseconds"),
        title="Time of one answer by the size of the image",
        note="One image, one thread. The claim: what an eye costs does not grow with the image",
    )
    return {"picture": drawn}


STUDY = Study(
    sentence="cost of a prediction by image size, from glimpses and from the whole image (Mnih et al. 2014)",
    title="What an answer costs by the size of the image",
    claim="The cost of an eye depends on its number of glimpses, not on the size of the image. A model that attends to "
    "all parts of the image, or convolves it, costs more the larger the image is. The same weights answer images of "
    "any size.",
    source="Mnih, Heess, Graves, Kavukcuoglu 2014, abstract and section 1, https://arxiv.org/abs/1406.6247; the paper "
    "does not test the same weights on other sizes",
    options=Options,
    measure=measure,
    compare=Findings,
    plot=plot,
    body="""
{picture}

## Milliseconds of one answer

{times}

## Millions of operations of one answer

{operations}

Operations are those of matrix products and convolutions, two for a multiplication and its addition. Not counted:

| model | what is not counted |
|---|---:|
| RAM | 6 × 2,304 pixels that are read and added up |
| tiles, hard | means of all pixels for the thumbnails, the softmax over tiles |
| tiles, soft | means of all pixels for the thumbnails, the softmax over tiles, a copy of all tiles |
| CNN of the paper | rectifying and pooling its features |
| residual CNN | rectifying, normalizing and pooling its features |

## Larger canvases without new weights

{errors}

{bars} Only the canvas is larger, not the digit, so a step of the policy, in shares of the image, goes farther.

## How it was measured

Models with new weights answer one image in memory on one thread. All are called in turns in one process, in the
opposite order every other round. The time is the median over rounds by the thread's own clock, ± half of its 95%
interval (Student's t, one degree of freedom less than rounds). Powers are slopes of straight lines through logarithms,
at the long end alone: sides of a fourth of the longest or more. Their interval is the wider of two: by the errors of
the times, and by their distances from the line, with two degrees of freedom less than sizes. A cost grows if the
interval of its power is above 0.1, and does not if it is below. {rule}

Tiles have 12 pixels a side. Hard attention encodes 6 of them, and takes thumbnails and keys of the others, so it is
claimed to cost less than soft attention, not to cost the same at every size.

{runs}
""",
)
