"""Memories beyond the lengths of training (Graves et al. 2014, figures 4, 5, 11)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, cast

from saccade import look
from saccade.data.dataset import Dataset
from saccade.errors import ArgumentError
from saccade.look import Curve
from saccade.models.memorizer import Memorizer
from saccade.tasks.memorize import MEMORIZE
from saccade.tasks.memorize.answer import logits_of
from saccade.tasks.memorize.data import open_corpus
from saccade.tasks.memorize.episode import Item
from saccade.tasks.memorize.metrics import Score, judged
from saccade.tasks.memorize.problems import PROBLEMS
from saccade.tasks.task import Job
from saccade.train.results import undisturbed
from studies.frame.claims import Claim, Estimate, both_bars, conclude, nothing, rule, tabled
from studies.frame.options import Seeded
from studies.frame.page import costs, picture
from studies.frame.scores import by_model
from studies.frame.seeds import Cell, contrast, spread
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, scheduled

NTM, CONTENT, LOCATION, LSTM = "ntm", "ntm, content alone", "ntm, location alone", "lstm"
VARIANTS = (
    Variant(NTM, "ntm"),
    Variant(CONTENT, "ntm", {"by": "content"}),
    Variant(LOCATION, "ntm", {"by": "location"}),
    *(Variant(name, name) for name in ("dnc", LSTM, "past-attention", "transformer")),
)
NEAR = 0.01  # additional share of wrong bits at the longest length that counts as none
LEARNED = 0.1  # share of wrong bits at the trained length up to which a model has learned it
_UNITS = {"copy": "vectors", "recall": "items"}  # of the problems that are tested at several lengths
_QUICK, _STEPS = 10, 1200  # of --quick: vectors in training, and steps
_COPY = (
    "Only the NTM's recipe ends training if validation on up to 100 vectors does not improve, and takes its best "
    "weights. NTM and DNC are trained with 21 to 40 cells and tested with 128."
)
_FLOOR = 1e-4  # the lowest share in a picture, since a logarithm has no place for 0


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = {
        "copy": "vectors of 8 bits, to be repeated, up to six times as many in the test as in training"
    }

    data: str = ""
    """The problem: copy or recall, with longer sequences in the test."""

    longest: int | None = None
    """Most vectors (copy) or items (recall) in training. Default: 20, 6; --quick: 10."""


def _longest(options: Options) -> int | None:
    return _QUICK if options.quick and options.longest is None else options.longest


def _opened(options: Options) -> Dataset[Item]:
    if options.data not in _UNITS:
        raise ArgumentError(f"--data: expected copy or recall, whose sequences differ in length, got {options.data}")
    usual, longest = PROBLEMS[options.data].usual, _longest(options)
    if (longest or 0) > usual:
        raise ArgumentError(f"--longest: expected at most {usual}, since memories have room for these, got {longest}")
    return open_corpus(options.data, longest)


def _variants(options: Options) -> list[Variant]:
    steps = dict.fromkeys(("max_steps", "schedule_steps", "checkpoint_steps", "validation_steps"), _STEPS)
    shared = {"longest": longest} if (longest := _longest(options)) else {}
    shared |= steps if options.quick else scheduled(options)
    models = [variant for variant in VARIANTS if not options.quick or variant.model in (NTM, LSTM)]
    return [replace(variant, values={**variant.values, **shared}) for variant in models]


def _measured(task: Job, model: Any, seed: int) -> dict[str, Any]:
    """Return the bits and the wrong bits of each test sequence, by length."""
    items = [task.data.example("test", index) for index in range(task.data.size("test") or 0)]
    episodes = [task.codec.language.episode(item) for item in items]
    with undisturbed(model, seed, "test"):
        logits = logits_of(cast("Memorizer", model), episodes)
    groups: dict[str, list[Score]] = {}
    for item, output, episode in zip(items, logits, episodes, strict=True):
        groups.setdefault(item.group, []).append(judged(output, episode.wanted))
    lengths = {
        group: {
            "sequences": len(outputs),
            "asked": (bits := sum(output.size for output in outputs)),
            "bit_error": sum(output.wrong for output in outputs) / bits,
            "bits": round(fmean(output.bits for output in outputs), 6),
            "wrong": " ".join(str(output.wrong) for output in outputs),
        }
        for group, outputs in groups.items()
    }
    return {"lengths": lengths}


class Findings:
    """Wrong bits by length, addressing, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.unit = content, _UNITS[content["data"]]
        self.rows = {name: [row["lengths"] for row in rows] for name, rows in by_model(content["rows"]).items()}
        self.groups: list[str] = list(self.rows[NTM][0])
        self.lengths = sorted(int(group) for group in self.groups if group.isdecimal())
        self.trained, self.longest = self.lengths[0], self.lengths[-1]
        long, short = f"at {self.longest} {self.unit}", f"at {self.trained}"
        near = f"the NTM has at most {100 * NEAR:g} in 100 bits more wrong {long} than {short}"
        beside, ours, theirs = self.more(LSTM, NTM, self.longest), self.rise(NTM), self.rise(LSTM)
        self.claims = [
            Claim(f"the LSTM has more bits wrong {long} than the NTM", beside, f"{beside.short()} points"),
            Claim(near, ours.less(NEAR).times(-1.0), f"{ours.short()} points"),
            Claim(f"the LSTM has more bits wrong {long} than {short}", theirs, f"{theirs.short()} points"),
        ]
        ntm, lstm = (self.error(name, self.trained).value for name in (NTM, LSTM))
        already = f"of the bits wrong {short} {self.unit}, which it was trained on"
        self.verdict = conclude(self.claims)
        if ntm > LEARNED:
            self.verdict = nothing(f"the NTM has {ntm:.1%} {already}; train it longer")
        elif lstm > LEARNED:
            self.verdict = replace(self.verdict, reason=f"{self.verdict.reason}; the LSTM has {lstm:.1%} {already}")

    def _cell(self, name: str, length: int, sign: float = 1.0) -> Cell:
        """The share of wrong bits of each sequence of a length, a row a seed."""
        groups = [row[str(length)] for row in self.rows[name]]
        wrong = [[int(n) * group["sequences"] / group["asked"] for n in group["wrong"].split()] for group in groups]
        return Cell(name, wrong, sign, length)

    def error(self, name: str, length: int) -> Estimate:
        return contrast([self._cell(name, length)], "sequences")

    def more(self, name: str, other: str, length: int) -> Estimate:
        """Return a model's share of wrong bits minus another's, on the same sequences."""
        return contrast([self._cell(name, length), self._cell(other, length, -1.0)], "sequences")

    def rise(self, name: str) -> Estimate:
        return contrast([self._cell(name, self.longest), self._cell(name, self.trained, -1.0)], "sequences")

    def fields(self) -> dict[str, Any]:
        ends, words = (self.trained, self.longest), {1: "worse", -1: "better", 0: "not decided"}
        scores = [["model", *self.groups, f"at {self.longest} more than {NTM}"]]
        bits = [["model", *self.groups]]
        heads = [["heads", *(f"at {length} {self.unit} more than by both" for length in ends)]]
        for name, rows in self.rows.items():
            beside = [self.more(name, NTM, length) for length in ends]
            shares = [spread([row[group]["bit_error"] for row in rows]) for group in self.groups]
            scores.append([name, *shares, "" if name == NTM else beside[1].short()])
            bits.append([name, *(spread([row[group]["bits"] / 100 for row in rows]) for group in self.groups)])
            if name in (CONTENT, LOCATION):
                heads.append([name, *(f"{number.short()} ({words[number.beyond()]})" for number in beside)])
        claims = [[text, number.removesuffix(" points"), result] for text, number, result in tabled(self.claims)[1:]]
        return {
            "claims": [["claim", "difference, points", "verdict"], *claims],
            "bars": f"{both_bars('sequences', len(self.rows[NTM]))} {rule(len(self.claims))}",
            "scores": scores,
            "addressing": heads,
            "bits": bits,
            "unit": self.unit,
            "costs": costs(self.content, list(self.rows)),
            "data": self.content["data"],
            "copy": _COPY if self.content["data"] == "copy" else "",
            "counts": ", ".join(f"{self.rows[NTM][0][group]['sequences']} of {group}" for group in self.groups),
            "seeds": ", ".join(map(str, sorted({row["seed"] for row in self.content["rows"]}))),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    """Draw the wrong bits by length: of kinds of memory, and of kinds of addressing."""
    kinds = [name for name in result.rows if name not in (CONTENT, LOCATION)]
    below, pictures = {result.trained: "\nthe longest in training"}, {}
    addressing = [NTM, CONTENT, LOCATION]
    for file, by, names in (("memory", "kind of memory", kinds), ("memory-addressing", "addressing", addressing)):
        lines, title = [], f"Bits wrong by length, by {by}"
        for name in names:
            shares = [result.error(name, length) for length in result.lengths]
            few = [share.value <= _FLOOR for share in shares]
            bars = [0.0 if low else share.measured.half() for low, share in zip(few, shares, strict=True)]
            lines.append(Curve(name, result.lengths, [max(_FLOOR, share.value) for share in shares], bars, few))
        drawn = look.curves(
            lines,
            folder / file,
            ticks=[(length, f"{length}{below.get(length, '')}") for length in result.lengths],
            labels=(f"{result.unit}; bars: 95% intervals", "share of bits that are wrong"),
            title=title,
            note=f"A guess is wrong in half of them; hollow: one in {1 / _FLOOR:,.0f} or fewer",
            bounds=(_FLOOR / 1.5, 1.0),
            log="xy",
            beside=True,
        )
        pictures[file] = picture(drawn, title)
    return pictures


STUDY = Study(
    sentence="memory works beyond the training lengths, an LSTM does not (Graves et al. 2014, figures 4, 5, 11)",
    title="Memory beyond the lengths of training",
    claim="A controller with an external memory that it writes and reads does on sequences beyond the lengths of "
    "training what it learned on these; an LSTM, which has its state alone, does not.",
    source="Graves, Wayne, Danihelka 2014, figures 4 and 5 for copy, figure 11 for recall, "
    "https://arxiv.org/abs/1410.5401",
    options=Options,
    measure=Trainings(
        _variants, lambda *_: [Part({"measured": "lengths"}, _measured)], "copy", task=MEMORIZE, open_data=_opened
    ),
    compare=Findings,
    plot=_plot,
    body="""
{memory}

## What is claimed

{claims}

{bars}

A rise of 1 in 100 bits counts as none, a margin of ours, set before the first result. A guess has half of the bits
wrong. Nothing is concluded if the NTM has more than 10 in 100 bits wrong at the trained length. The paper's NTM repeats
one vector of 120 and is a step late from there on (figure 4). Such a slip counts in full here.

## Bits wrong in percent, by {unit}

{scores}

## What addressing is worth

{memory-addressing}

{addressing}

Heads by content alone never stay or move on, heads by location alone find nothing by a key. The paper has both, so the
table decides nothing. It says worse or better if the 95% interval of the difference excludes 0.

## Bits a sequence, by {unit}

{bits}

## How it was measured

{costs}

Each model is trained by its own recipe for the problem, on the same sequences in the same batches. Lengths of training
are drawn evenly. The weights are those of the last step. {copy} A predicted bit is 1 if its probability is above a
half. Bits of a sequence are the cost of its right bits by their probabilities.

Data: `{data}`, test split, sequences by {unit}: {counts}. Seeds: {seeds}.

{runs}
""",
)
