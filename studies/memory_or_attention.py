"""Differences of memory and attention: size, writing, neighbours (Solberg 2018)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from saccade import look
from saccade.look import Curve
from saccade.tasks.glimpse import GLIMPSE
from saccade.tasks.memorize import MEMORIZE
from saccade.tasks.memorize.data import open_corpus
from studies.frame.claims import Claim, Estimate, bars, conclude, nothing, rule, tabled
from studies.frame.eyes import Canvas, open_canvas
from studies.frame.options import Direct, Seeded, Trained
from studies.frame.page import costs, picture
from studies.frame.reread import (
    CELLS,
    GATES,
    KEPT,
    LONGEST,
    PIXELS,
    SIZES,
    WAYS,
    WRITTEN,
    looked,
    memorized,
    translated,
)
from studies.frame.scores import by_model
from studies.frame.seeds import Cell, contrast, spread, unpack
from studies.frame.study import Study, Work
from studies.frame.training import QUICK_MINUTES, Part, Trainings, Variant, scheduled

NTM, WIDE, LSTM = "ntm", "ntm, 4 read heads", "lstm"
TRANSLATOR, TILES, BLIND = "rnnsearch", "tiles", "tiles, no thumbnail"
LEARNED = 0.5  # share of right answers below which a model has not learned its problem
NEAR = 0.02  # loss of right answers that counts as none
_FEWER, _HALF = f"at most {100 * NEAR:g} in 100 fewer", "more than half"  # of claims with a margin
_COPY = {"longest": LONGEST, "cells": CELLS, "least_cells": LONGEST + 1, "most_cells": CELLS, "patience": None}
_EYE = {
    "patch": 7,
    "glimpses": 4,
    "hidden_dim": 128,
    "glimpse_dim": 64,
    "key_dim": 32,
    "learning_rate": 5e-3,
    "warmup_steps": 40,
}
_STEPS = {"copy": 1200, "dates": 300, "digits": 400}


@dataclass(frozen=True, kw_only=True)
class Options(Direct):
    """Options of the study."""


def _variants(options: Seeded) -> list[Variant]:
    """The models of one set of data."""
    if options.data == "copy":
        wide = Variant(WIDE, "ntm", {**_COPY, "read_heads": 4})
        variants = [Variant(NTM, "ntm", _COPY), wide, Variant(LSTM, "lstm", {"longest": LONGEST})]
    elif options.data == "dates":
        variants = [Variant(TRANSLATOR, "rnnsearch")]
    else:
        variants = [Variant(TILES, "tiles", _EYE), Variant(BLIND, "tiles", {**_EYE, "thumbnail": 0})]
    names = ("max_steps", "validation_steps", *(("schedule_steps",) if options.data != "dates" else ()))
    planned = dict.fromkeys(names, _STEPS[options.data])  # without validations on the way
    if options.max_steps or options.max_minutes:
        planned = scheduled(options) if "schedule_steps" in planned else {}
    return [replace(variant, values={**variant.values, **planned}) for variant in variants]


def _measure(options: Options) -> Work:
    shared = {name: getattr(options, name) for name in ("device", "threads", "max_steps", "max_minutes")}
    shared["seeds"] = 1 if options.quick else options.seeds
    if options.quick:
        shared["max_minutes"] = QUICK_MINUTES / _MODELS
    copy = Trainings(
        _variants,
        lambda *_: [Part({"measured": "memory"}, memorized)],
        task=MEMORIZE,
        open_data=lambda _: open_corpus("copy", LONGEST),
    )
    dates = Trainings(_variants, lambda *_: [Part({"measured": "attention"}, translated)])
    digits = Trainings(
        _variants,
        lambda data, _: [Part({"measured": "eye"}, partial(looked, data=data))],
        task=GLIMPSE,
        open_data=open_canvas,
    )
    works = [
        copy(Seeded(data="copy", **shared)),
        dates(Trained(data="dates", **shared)),
        digits(Canvas(data="digits", **shared)),
    ]
    steps = sorted((step for work in works for step in work.steps), key=lambda step: step.rows[0]["seed"])
    data = ", ".join(str(work.decided["data"]) for work in works)
    return Work(steps, {"data": data}, about={"data": "copy, dates, digits"})


class Findings:
    """Right answers under changed reads, and a verdict on each claim."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows = content, by_model(content["rows"])
        self.seeds = len(self.rows[NTM])
        self.claims = [
            Claim(text, number.less(_margin(text)), f"{number.short()} points")
            for text, number in self.numbers().items()
        ]
        right = {"ntm": self.right(NTM), "rnnsearch": self.right(TRANSLATOR), "tiles": self.right(TILES, "moved", "0")}
        few = [
            f"{name} {cell.value:.1%}" for name, cells in right.items() if (cell := contrast([cells])).value < LEARNED
        ]
        poor = f"models have learned too little: right are {', '.join(few)}; train them longer"
        self.verdict = nothing(poor) if few else conclude(self.claims)

    def right(self, name: str, part: str = "reads", way: str = "all", weight: float = 1.0) -> Cell:
        """The right answers of a model, a row a seed."""
        answers = [row[part][way] for row in self.rows[name]]
        values = [unpack(answer["right"], "bits", answer["examples"]) for answer in answers]
        sample = {"lengths": f"copy {way}", "moved": "digits"}.get(part, name)
        return Cell(name, values, weight, "copy 10" if sample in (NTM, WIDE, "copy 10") else sample)

    def lost(self, name: str, part: str, way: str, weight: float = 1.0) -> list[Cell]:
        """The share of right answers that a change takes."""
        whole = self.right(name, "moved", "0", weight) if part == "moved" else self.right(name, weight=weight)
        return [whole, self.right(name, part, way, -weight)]

    def _share(self, name: str, when: str, weight: float = 1.0) -> Cell:
        values = [unpack(row["shares"][when], "shares") for row in self.rows[name]]
        return Cell(name, values, weight, name)

    def _gate(self, way: str, weight: float = 1.0) -> Cell:
        return Cell(LSTM, [unpack(row["gates"][way], "shares") for row in self.rows[LSTM]], weight, "copy 10")

    def numbers(self) -> dict[str, Estimate]:
        """Return the difference of each claim by its text."""
        size, margin = str(SIZES[-1]), _FEWER
        cell, position = (self.lost(name, "reads", "next") for name in (NTM, TRANSLATOR))
        more = {name: contrast(self.lost(name, "sizes", size)) for name in (NTM, TRANSLATOR)}
        unwritten = {way: contrast(self.lost(NTM, "written", way)) for way in ("up to the mark", "never")}
        shut, hidden = self._gate("hide shut", -1.0), self._gate("hide shut once", -1.0)
        return {
            "1. before training a translator reads a larger share of its cells than an NTM": contrast(
                [self._share(TRANSLATOR, "before"), self._share(NTM, "before", -1.0)]
            ),
            "1. the heaviest cell alone costs a translator more right answers than an NTM": contrast(
                [*self.lost(TRANSLATOR, "reads", "1"), *self.lost(NTM, "reads", "1", -1.0)]
            ),
            f"1. with one read head an NTM has {margin} right than with four": contrast(
                [self.right(NTM), self.right(WIDE, weight=-1.0)]
            ),
            f"2. with {SIZES[-1]:,} cells an NTM has {margin} right": more[NTM].times(-1.0),
            f"2. with {SIZES[-1]:,} cells a translator has {margin} right": more[TRANSLATOR].times(-1.0),
            f"3. an NTM that never writes loses {_HALF} of the answers": unwritten["never"],
            f"3. one that writes nothing after the mark has {margin} right": unwritten["up to the mark"].times(-1.0),
            "4. the next pixel costs an eye fewer right answers than the next cell an NTM": contrast(
                [*cell, *self.lost(TILES, "moved", "1", -1.0)]
            ),
            "4. the next position costs a translator fewer than the next cell an NTM": contrast(
                [*cell, *(replace(term, weight=-term.weight) for term in position)]
            ),
            "5. tiles are read better with a thumbnail in their keys than by their locations alone": contrast(
                [self.right(TILES, "moved", "0"), self.right(BLIND, "moved", "0", -1.0)]
            ),
            "6. an even read of all cells leaves a translator more right answers than an NTM": contrast(
                [self.right(TRANSLATOR, way="even"), self.right(NTM, way="even", weight=-1.0)]
            ),
            "7. an LSTM has more bits wrong if the most shut third of its gates is open": contrast(
                [self._gate("show shut"), self._gate("as it is", -1.0)]
            ),
            "7. it has more wrong without the most open third than without the most shut third": contrast(
                [self._gate("hide open"), shut]
            ),
            "7. erasing the most shut third once costs more than hiding it once": contrast(
                [self._gate("erase shut once"), hidden]
            ),
        }

    def _spread(self, name: str, part: str, way: str) -> str:
        return spread(_means(self.right(name, part, way)))

    def _table(self, part: str, ways: Sequence[str], names: Sequence[str]) -> list[list[str]]:
        return [[name, *(self._spread(name, part, way) for way in ways)] for name in names]

    def needed(self, name: str) -> str:
        """Return the share of cells that a model needs, the fewest with no loss."""
        shares = []
        for row in self.rows[name]:
            right = {way: answer["right"] for way, answer in row["reads"].items()}
            count = {way: sum(unpack(bits, "bits", row["reads"][way]["examples"])) for way, bits in right.items()}
            examples = row["reads"]["all"]["examples"]
            few = next((k for k in KEPT if count[str(k)] >= count["all"] - NEAR * examples), row["cells"])
            shares.append(few / row["cells"])
        return spread(shares, 1)

    def fields(self) -> dict[str, Any]:
        both, lengths = (NTM, TRANSLATOR), list(self.rows[NTM][0]["lengths"])
        readers = (NTM, WIDE, TRANSLATOR)
        shares = [[spread(_means(self._share(name, when)), 1) for when in ("before", "after")] for name in readers]
        reads = [
            [name, f"{self.rows[name][0]['cells']:g}", *share, self.needed(name), *row[1:]]
            for name, share, row in zip(readers, shares, self._table("reads", list(WAYS), readers), strict=True)
        ]
        ways = ["all cells", *(f"heaviest {count}" if count > 1 else "heaviest" for count in KEPT), "even", "next"]
        header = ["model", "cells", "read before training", "read after", "needed", *ways]
        copied = [NTM, WIDE, LSTM]
        bits = [
            [*row, *(spread([row["lengths"][n]["bit_error"] for row in self.rows[name]]) for n in lengths)]
            for name, row in zip(copied, self._table("lengths", lengths, copied), strict=True)
        ]
        sizes = [[row[0], self._spread(row[0], "reads", "all"), *row[1:]] for row in self._sizes(both)]
        gates = [[way, contrast([self._gate(way)]).times(100).text()] for way in GATES]
        return {
            "claims": [["claim", "difference, points", "verdict"], *_without_points(tabled(self.claims))],
            "bars": f"{bars('examples', self.seeds)} {rule(len(self.claims))}",
            "reads": [header, *reads],
            "sizes": [["model", "as in training", *(f"{count:,} cells" for count in SIZES)], *sizes],
            "lengths": [
                ["model", *(f"right, {n}" for n in lengths), *(f"bits wrong, {n}" for n in lengths)],
                *bits,
            ],
            "written": [["model", *WRITTEN], *self._table("written", list(WRITTEN), [NTM])],
            "moved": [
                ["model", *(f"{n} pixels beside" if n else "where it looks" for n in PIXELS)],
                *self._table("moved", [str(n) for n in PIXELS], (TILES, BLIND)),
            ],
            "gates": [["change", "bits wrong"], *gates],
            "costs": costs(self.content, list(self.rows)),
        }

    def _sizes(self, names: Sequence[str]) -> list[list[str]]:
        return self._table("sizes", [str(count) for count in SIZES], names)


def _margin(claim: str) -> float:
    return -NEAR if _FEWER in claim else LEARNED if _HALF in claim else 0.0


def _means(cell: Cell) -> list[float]:
    means: list[float] = np.asarray(cell.values).mean(1).tolist()
    return means


def _without_points(table: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[text, number.removesuffix(" points"), verdict] for text, number, verdict in table[1:]]


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    title, ways = "Right answers by the number of cells that a read keeps", [*map(str, KEPT), "all", "next", "even"]
    lines = []
    for name in (NTM, WIDE, TRANSLATOR):
        numbers = [contrast([result.right(name, way=way)]) for way in ways]
        values, halves = [100 * x.value for x in numbers], [100 * x.measured.half() for x in numbers]
        lines.append(Curve(name, range(len(ways)), values, halves))
    drawn = look.curves(
        lines,
        folder / "memory-or-attention",
        ticks=list(enumerate(ways)),
        labels=("cells; bars: 95% intervals", "right, %"),
        title=title,
        note="next: the value of the next cell; even: the mean of all cells",
        beside=True,
    )
    return {"picture": picture(drawn, title)}


_MODELS = 6  # trainings of one seed

STUDY = Study(
    sentence="a memory needs few and exact cells, attention starts with all (Solberg 2018, section 4)",
    title="Memory or attention",
    claim="An external memory is read through a narrow bandwidth, has any size, is written, and an answer needs the "
    "very cell. Attention starts with everything, hides most of it, and a neighbour does nearly as well.",
    source="Solberg 2018, 'Attention', section 4, and section 3 for the gates of an LSTM; in words of ours",
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## What is claimed

{claims}

{bars} Nothing is concluded if the NTM, the translator or the eye has fewer than half of its answers right. The number
of read heads is not varied.

## Bandwidth, neighbours, and what is ignored

{reads}

In percent. A read is a weighted sum over cells. Its weights are changed in the trained models, and everything else
stays: each head's heaviest cells alone, scaled to a sum of 1; the mean of all cells; each cell's weight on the next
cell. The share of cells that is read is e^H / n of the weights' entropy H. The share needed is that of the fewest of
1, 2, 4 and 8 cells of each head that lose at most 2 in 100 right answers.

## Size

{sizes}

Right answers in percent. The NTM is trained with 11 to 24 cells and gets more of them. The translator's memory has a
cell for each character of the source; it gets cells of zeros, with weights as the score has them.

## Written, and then only read

{written}

Right answers in percent. What a step writes is taken back: at all steps, at those after the mark, or at those up to it.

{lengths}

In percent, by the number of vectors, with 128 cells. `saccade report memory` compares memories that are written with
attention to past states.

## Eyes

{moved}

Right answers in percent. No eye can lose more of them than it has. An eye reads four tiles of 7 × 7 pixels. It sees the
patch so many pixels to the right of the tile that it chose. Keys of tiles have a thumbnail of 3 × 3 and the location,
or the location alone.

## Gates of an LSTM

{gates}

Bits wrong in percent, at 10 vectors. A guess has half of them wrong. Of 256 units, the third is taken whose output
gates are the most shut (or open) at that step. Hidden units have a gate of 0, shown ones a gate of 1, and erased ones
lose their cell. Once is the step of the mark, after the last vector.

## How it was measured

{costs}

An answer is right as a whole: all bits of a sequence, all characters of a date, the digit. The problems are the
built-in copy of vectors of 8 bits, up to 10 in training; dates; and digits. A model is measured on 100 sequences of
each length, 500 dates, or all test digits, each by the weights of the last step. The recipe of the
eyes was chosen from two by validation, with their test scores in view.

{runs}
""",
)
