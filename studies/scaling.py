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
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from saccade.bench.row import Run
from saccade.errors import ArgumentError
from saccade.models import cnn, ram, tiles, whole
from saccade.tasks.glimpse import GLIMPSE
from saccade.tasks.glimpse.data import BUILTIN, open_data
from saccade.tasks.image.dataset import Dataset
from saccade.tasks.task import Job
from studies.frame.claims import Claim, Estimate, Exact, Verdict, bars, conclude, rule, tabled
from studies.frame.eyes import EYE, SMALL, Canvas, canvas_options, measured, open_canvas, wrong_shares
from studies.frame.folder import Folder
from studies.frame.growth import (
    Power,
    draw_powers,
    exponent,
    in_turns,
    long_end,
    milliseconds,
    ratio,
    threads,
    timed,
    times,
)
from studies.frame.options import check_positive
from studies.frame.page import curve
from studies.frame.scores import by_model
from studies.frame.seeds import Cell, between, contrast
from studies.frame.study import Step, Study, Work
from studies.frame.training import Part, Trainings, Variant, scheduled

GLIMPSES, PATCH, SCALES, CLASSES = 6, 12, 3, 10
HARD, SOFT = "tiles, hard", "tiles, soft"
NEAR = 0.1  # a power of the pixels: sixteen times as many take 1.3 times as long
_SIDES = (28, 60, 100, 200, 283, 400, 566, 800)
_CANVASES = (60, 100, 200)  # the eyes are trained on the first
_SECONDS, _QUICK_SECONDS, _QUICK_MINUTES = 20.0, 6.0, 0.75  # of turns at a size, and of training a model
_EYES = ("ram", "tiles")
_GUESS = 1 - 1 / CLASSES  # error of a guess
_EYE: dict[str, Any] = {"glimpses": GLIMPSES, "patch": PATCH}
MODELS: dict[str, Callable[[], nn.Module]] = {
    "RAM": lambda: ram.Ram(1, CLASSES, ram.Options(scales=SCALES, **_EYE)),
    HARD: lambda: tiles.Tiles(1, CLASSES, tiles.Options(**_EYE)),
    SOFT: lambda: tiles.SoftTiles(1, CLASSES, tiles.Tiling(**_EYE)),
    "CNN of the paper": lambda: whole.Whole(1, CLASSES),
    "residual CNN": lambda: cnn.CNN(1, CLASSES),
}
GROWS = {"RAM": False, SOFT: True, "CNN of the paper": True, "residual CNN": True}
"""Claims that the cost of a model grows with the image, or does not."""


@dataclass(frozen=True, kw_only=True)
class Options(Canvas):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = {name: BUILTIN[name] for name in ("translated", "cluttered")}

    data: str = ""
    """Images that the eyes are trained on: translated, or cluttered."""

    seconds: float | None = None
    """Processor seconds at each size. Default: 20, with --quick 6."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "seconds")
        if self.canvas != _CANVASES[0]:
            raise ArgumentError(f"--canvas: expected {_CANVASES[0]}, which others are compared with, got {self.canvas}")
        if self.data and self.data not in self.builtin:
            raise ArgumentError(f"--data: expected {' or '.join(self.builtin)}, got {self.data}")


def prepared(name: str, side: int) -> Run:
    """Return a call of a model with new weights on one image in memory."""
    torch.manual_seed(0)
    model, image = MODELS[name]().eval(), torch.rand(1, 1, side, side)
    return torch.inference_mode()(partial(model, image))


def operations(name: str, side: int) -> int:
    """Return the operations of matrix products and convolutions in one answer."""
    with FlopCounterMode(display=False) as counter:
        prepared(name, side)()
    return int(counter.get_total_flops())


def _measure(options: Options) -> Work:
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
    steps = [
        Step(f"{side} pixels a side", [{"measured": "time", "side": side}], partial(_taken, side, seconds))
        for side in _SIDES
    ]
    return Trainings(_variants, _parts, "translated", steps, GLIMPSE, open_canvas)(options)


def _taken(side: int, seconds: float, _: Folder) -> list[dict[str, Any]]:
    """Times of one answer of every model in turns, by the clock of a single thread."""
    with threads(1):
        calls = {name: prepared(name, side) for name in MODELS}
        rounds, models = in_turns(calls, seconds=seconds, clock=time.thread_time)
        models = {name: {**columns, "flops": operations(name, side)} for name, columns in models.items()}
    return [{"measured": "time", "side": side, "rounds": rounds, "models": models}]


def _variants(options: Options) -> list[Variant]:
    quick = {**SMALL, "max_minutes": _QUICK_MINUTES} if options.quick else {}
    return [Variant(name, name, {**EYE, **canvas_options(options), **scheduled(options), **quick}) for name in _EYES]


def _parts(data: Dataset, options: Options) -> list[Part]:
    def at(side: int, task: Job, model: Any, seed: int) -> dict[str, Any]:
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
        self.claims = [*self._counted(), *self._timed(), *self._answered()]
        verdict, models = conclude(self.claims), self.timed[self.sides[-1]]["models"]
        slower, more = (f"{models[SOFT][key] / models[HARD][key]:.1f}" for key in ("seconds", "flops"))
        saved = f"soft attention over tiles takes {slower} times as long as hard, and {more} times the operations"
        self.verdict = Verdict(verdict.result, f"{verdict.reason}; at {self.sides[-1]} pixels a side, {saved}")

    def _counted(self) -> list[Claim]:
        claims = []
        for name, grows in GROWS.items():
            power = self._power(name, "flops").value
            text = f"the operations of {name} {'grow' if grows else 'do not grow'}"
            claims.append(Claim(text, Exact((power > NEAR) is grows), f"counted, pixels^{power:z.2f}"))
        return claims

    def _timed(self) -> list[Claim]:
        """Claims about medians at both ends of the long end, and about hard tiles."""
        (first, last), claims = (self.long[0], self.long[-1]), list[Claim]()
        for name, grows in GROWS.items():
            growth = ratio([self.median(last, name)], [self.median(first, name)]).times(0.5 / math.log2(last / first))
            text = f"the time of {name} {'grows' if grows else 'does not grow'}"
            measured = f"pixels^({growth.text()}) from {first} to {last} pixels a side"
            claims.append(Claim(text, growth.less(NEAR).times(1.0 if grows else -1.0), measured))
        lead = ratio([self.median(last, SOFT)], [self.median(last, HARD)])
        text = f"soft takes {times(lead, 1)} times as long at {last} pixels a side"
        return [*claims, Claim(f"{HARD} takes less time than {SOFT}", lead, text)]

    def _answered(self) -> list[Claim]:
        ends = f"from {self.sides[0]} to {self.sides[-1]} pixels a side"
        claims = [Claim("no size is in the weights: each model answers images of every size", Exact(True), ends)]
        for name, rows in by_model(self.tried).items():
            largest = max(row["side"] for row in rows)
            shares = [wrong_shares(row) for row in rows if row["side"] == largest]
            error = contrast([Cell(name, shares)], "images")
            text = f"{name}, trained at {_CANVASES[0]} pixels a side, is better than a guess at {largest}"
            claims.append(Claim(text, error.less(_GUESS).times(-1.0), f"{error.times(100).text()}% wrong"))
        return claims

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

    def _by_side(self, columns: Mapping[str, list[str]]) -> list[list[str]]:
        rows = zip([*map(str, self.sides), "power of the pixels"], *columns.values(), strict=True)
        return [["pixels a side", *columns], *map(list, rows)]

    def fields(self) -> dict[str, Any]:
        taken, counts = dict[str, list[str]](), dict[str, list[str]]()
        for name in MODELS:
            flops = [self.timed[side]["models"][name]["flops"] / 1e6 for side in self.sides]
            taken[name] = [*(milliseconds(self.median(side, name)) for side in self.sides), self.powers[name].text()]
            counts[name] = [*(f"{count:,.2f}" for count in flops), f"{self._power(name, 'flops').value:z.2f}"]
        errors = [["trained at the first size", "pixels a side", "error, %", "beside that"]]
        for name, rows in by_model(self.tried).items():
            sides = sorted({row["side"] for row in rows})
            shares = {side: [wrong_shares(row) for row in rows if row["side"] == side] for side in sides}
            for side, at_side in shares.items():
                more = "" if side == sides[0] else between(at_side, shares[sides[0]], paired=True).long()
                errors.append([name, str(side), f"{100 * np.mean(at_side):.2f}", more])
        return {
            "claims": tabled(self.claims),
            "times": self._by_side(taken),
            "operations": self._by_side(counts),
            "errors": errors,
            "bars": bars("images", len({row["seed"] for row in self.tried})),
            "rule": rule(len(self.claims), seeded=False),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    curves, sides = [], result.sides
    for name, power in result.powers.items():
        ends = 1e3 * power.at(sides[0] ** 2), 1e3 * power.at(sides[-1] ** 2)
        times = [result.median(side, name) for side in sides]
        curves.append(curve(f"{name}: pixels^({power.text()})", sides, times, trend=ends))
    drawn = draw_powers(
        curves,
        folder / "scaling",
        sides,
        labels=("pixels a side", "milliseconds"),
        title="Time of one answer by the size of the image",
        note="One image, one thread. The claim: what an eye costs does not grow with the image",
    )
    return {"picture": drawn}


STUDY = Study(
    sentence="the cost of an agent with glimpses does not grow with the image (Mnih et al. 2014, abstract)",
    title="What an answer costs by the size of the image",
    claim="The cost of an eye depends on its number of glimpses, not on the size of the image. A model that attends to "
    "all parts of the image, or convolves it, costs more the larger the image is. The same weights answer images of "
    "any size.",
    source="Mnih, Heess, Graves, Kavukcuoglu 2014, abstract and section 1, https://arxiv.org/abs/1406.6247; the paper "
    "does not test the same weights on other sizes",
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## What is claimed

{claims}

{rule}

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

A guess errs in 90% of the images. {bars} Only the canvas is larger, not the digit, so a step of the policy, in shares
of the image, goes farther.

## How it was measured

Models with new weights answer one image in memory on one thread. All are called in turns in one process, in the
opposite order every other round. The time is the median over rounds by the thread's own clock in processor seconds, ±
half of its 95% interval (Student's t, one degree of freedom less than rounds). A cost grows if its power of the pixels
is above 0.1. Claims about operations are counted. Claims about times compare the medians at both ends of the long end,
sides of a fourth of the longest or more. The powers in the tables are slopes of straight lines through logarithms
there. Their interval is the wider of two: by the errors of the times, and by their distances from the line.

Tiles have 12 pixels a side. Hard attention encodes 6 of them, and takes thumbnails and keys of the others, so it is
claimed to cost less than soft attention, not to cost the same at every size.

{runs}
""",
)
