"""Captions by the number of things in an image (after Xu et al. 2015)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from saccade import look
from saccade.errors import ArgumentError
from saccade.tasks.caption import CAPTION
from saccade.tasks.caption.data import BUILTIN, Corpus, open_corpus
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.image.scenes.grammar import named, read
from saccade.tasks.image.shown import Shown
from saccade.tasks.task import Job
from saccade.train.results import undisturbed
from studies.frame.claims import NOTHING, Claim, Estimate, Result, Verdict, both_bars, conclude, rule, tabled, together
from studies.frame.growth import weights
from studies.frame.options import Seeded
from studies.frame.page import COSTS, costs, curve, picture, sentence
from studies.frame.scores import by_model
from studies.frame.seeds import Cell, Numbers, between, contrast, pack, spread, unpack
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, scheduled

ATTENTION, FIXED = "show-attend-and-tell", ("show-and-tell", "m-rnn")
EXACT, NAMED = KEYS = "exact match", "things named"
LEARNED = 0.5  # share of the fewest things that a model has to name: otherwise nothing can fall
_UP_TO, _FEW = 8, 3  # default number of things, and with --quick
_SMALL = {"batch_size": 32, "widths": "24,32", "blocks": 1, "cell_dim": 64, "hidden_dim": 128, "embedding_dim": 64}
_AT_ONCE = 256  # images


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = {"scenes": BUILTIN["scenes"]}

    data: str = ""
    """Images with captions and a number of things: scenes."""

    least: int = 1
    """Fewest things of a scene."""

    most: int | None = None
    """Most things of a scene, up to 8. Default: 8, with --quick 3."""

    @property
    def things(self) -> tuple[int, int]:
        """Fewest and most things of a scene."""
        return self.least, (_FEW if self.quick else _UP_TO) if self.most is None else self.most


def _opened(options: Options) -> Corpus:
    if options.data not in options.builtin:
        raise ArgumentError(f"--data: expected scenes, whose things are counted, got {options.data}")
    data = open_corpus(options.data, things=options.things)
    if options.least == options.things[1]:
        got = f"{options.least} alone"
        raise ArgumentError(f"--least, --most: expected several numbers of things to compare, got {got}")
    return data


def _variants(options: Options) -> list[Variant]:
    least, most = options.things
    shared = {"least": least, "most": most, **scheduled(options), **(_SMALL if options.quick else {})}
    attends = Variant(ATTENTION, ATTENTION, {"query": "state-and-word", **shared})
    return [attends, *(Variant(model, model, shared, recipe=ATTENTION) for model in FIXED)]


def measured(task: Job, model: Any, seed: int) -> dict[str, Any]:
    """Return the things of each test image, those named, and whether all is true."""
    rows, size = list[tuple[int, int, bool]](), task.data.size("test") or 0
    with undisturbed(model, seed, "test"):
        for first in range(0, size, _AT_ONCE):
            examples = [task.data.example("test", index) for index in range(first, min(first + _AT_ONCE, size))]
            images = [Shown(example.name, example.image) for example in examples if example.image is not None]
            answers: Sequence[Any] = task.answer(model, images, None)
            texts = best_texts([answer.outputs for answer in answers])
            for text, scene in zip(texts, (example.scene for example in examples), strict=True):
                exact = (reading := read(text, scene)) is not None and reading.exact
                rows.append((len(scene.things), named(text, scene), exact))
    things, counts, right = zip(*rows, strict=True)
    packed = {"things": pack(things, "counts"), "named": pack(counts, "counts"), "right": pack(right, "bits")}
    return {"images": size, "exact_match": sum(right) / size, **packed}


class Findings:
    """Scores by the number of things, lines through them, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows = content, by_model(content["rows"])
        self.things = np.array(unpack(content["rows"][0]["things"], "counts"))
        self.groups: list[int] = np.unique(self.things).tolist()
        self.images = [int((self.things == group).sum()) for group in self.groups]
        self.scores = dict[tuple[str, str], Numbers]()
        for name, rows in self.rows.items():
            right = [unpack(row["right"], "bits", row["images"]) for row in rows]
            self.scores[name, EXACT] = np.array(right, dtype=np.float64)
            self.scores[name, NAMED] = np.array([unpack(row["named"], "counts") for row in rows]) / self.things
        self.fixed = [name for name in FIXED if name in self.rows]
        self.claims = dict[str, list[Claim]]()
        for name in self.fixed:
            numbers = {f"{name} gets fewer sentences right": self.slope(EXACT, name).times(-1.0)}
            numbers |= {f"attention gains more {key} over {name}": self.slope(key, ATTENTION, name) for key in KEYS}
            self.claims[name] = [Claim(text, slope, slope.long()) for text, slope in numbers.items()]
        learned = [name for name in self.fixed if self.group(name, NAMED, self.groups[0]).mean() > LEARNED]
        self.counted = [claim for name in learned for claim in self.claims[name]]
        few = [name for name in self.fixed if name not in learned]
        least = f"at most {LEARNED:.0%} of the things named where there are fewest"
        left = f"nothing is concluded beside {' and '.join(few)}: {least}"
        if not any(contrast([Cell(name, self.scores[name, EXACT])]).measured.beyond() > 0 for name in self.rows):
            self.verdict = NOTHING
        elif not learned:
            self.verdict = Verdict("not decided", left)
        else:
            undecided: list[Result] = ["not decided" for _ in few]
            verdict = conclude(self.counted, lambda results: together([*results, *undecided]))
            reason = f"with one thing more {verdict.reason}{f'; {left}' if few else ''}"
            self.verdict = Verdict(verdict.result, reason)

    def group(self, name: str, key: str, group: int) -> Numbers:
        scores: Numbers = self.scores[name, key][:, self.things == group]
        return scores

    def slope(self, key: str, name: str, other: str | None = None) -> Estimate:
        """Return the change of a score, or of a difference, with one thing more."""
        ws = weights(self.groups, self.images)
        assert ws is not None
        cells = [
            Cell(model, self.group(model, key, group), sign * weight, group)
            for group, weight in zip(self.groups, ws, strict=True)
            for model, sign in ((name, 1.0), (other, -1.0))
            if model is not None
        ]
        return contrast(cells, "images")

    def _table(self, key: str) -> list[list[str]]:
        table = [["things", "images", *self.rows, *(f"attention − {name}" for name in self.fixed)]]
        for group, count in zip(self.groups, self.images, strict=True):
            scores = {name: self.group(name, key, group) for name in self.rows}
            gains = [between(scores[ATTENTION], scores[name]).short() for name in self.fixed]
            table.append([str(group), str(count), *(spread(x.mean(1).tolist()) for x in scores.values()), *gains])
        slopes = [self.slope(key, name) for name in self.rows]
        slopes += [self.slope(key, ATTENTION, name) for name in self.fixed]
        return [*table, ["with one thing more", "", *(slope.short() for slope in slopes)]]

    def fields(self) -> dict[str, Any]:
        results = {text: result for text, _, result in tabled(self.counted)}
        claims = [
            [claim.text, claim.measured, results.get(claim.text, "nothing learned")]
            for claims in self.claims.values()
            for claim in claims
        ]
        models = [["model", *(f"{key}, %" for key in KEYS), *COSTS]]
        for name, *cost in costs(self.content, list(self.rows))[1:]:
            models.append([name, *(spread(self.scores[name, key].mean(1).tolist()) for key in KEYS), *cost])
        return {
            "claims": [["claim", "with one thing more", "verdict"], *claims],
            "bars": both_bars("images", len(self.rows[ATTENTION])),
            "rule": rule(len(self.counted)),
            "exact": self._table(EXACT),
            "named": self._table(NAMED),
            "models": models,
            "images": f"{len(self.things)} images of {self.groups[0]} to {self.groups[-1]} things",
            "data": self.content["data"],
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    pictures = {}
    for key in KEYS:
        curves = [
            curve(name, result.groups, [contrast([Cell(name, result.group(name, key, n))]) for n in result.groups])
            for name in result.rows
        ]
        title, ticks = f"{sentence(key)} by the number of things", zip(result.groups, result.images, strict=True)
        drawn = look.curves(
            curves,
            folder / f"objects-{key.replace(' ', '-')}",
            ticks=[(group, f"{group}\nn={count}") for group, count in ticks],
            labels=("things, n images; bars: 95% intervals", key),
            title=title,
            bounds=(0.0, 1.03),
        )
        pictures[f"picture of {key}"] = picture(drawn, title)
    return pictures


STUDY = Study(
    sentence="captions from one vector get worse with more objects (after Xu et al. 2015, section 1)",
    title="Captions by the number of things",
    claim="A model that reads an image as one fixed vector writes worse captions the more things the image shows, and "
    "the gain of attention over it grows with their number.",
    source="after Xu et al. 2015, section 1, https://arxiv.org/abs/1502.03044, for images, and Bahdanau, Cho, Bengio "
    "2015, figure 2, https://arxiv.org/abs/1409.0473, for sentences",
    options=Options,
    measure=Trainings(
        _variants, lambda *_: [Part({"measured": "captions"}, measured)], "scenes", task=CAPTION, open_data=_opened
    ),
    compare=Findings,
    plot=_plot,
    body="""
{picture of exact match}

## What is claimed

{claims}

{bars} {rule} A model that names 50% of the fewest things or fewer has learned too little to get worse. Nothing is
concluded beside it, and the study is not decided as a whole, unless another claim is contradicted. This rule was made
after the first result, in which one model had learned next to nothing.

## Exact match in percent

{exact}

A sentence is an exact match if it names every thing once, nothing else, and only relations that hold. Sentences about
more things are right more rarely even if each thing is as hard as before. So the claim is about the share of things
named as well: colours followed by a shape that a thing of the image has, each counted once, in any text.

## Things named in percent

{named}

{picture of things named}

## All test images

{models}

## How it was measured

All models have one recipe: data, batches, shared sizes, budget and seeds. Show-and-tell reads the mean of the cells at
the first step, m-rnn at every step; show-attend-and-tell attends to the cells before every word, softly, by its state
and the last word. Parameters and seconds differ, so the size of the vector need not be the only reason of a gain. The
weights are those of the last step: nothing is chosen by the test split. Lines are fitted by least squares over images.
Data: `{data}`, test split, {images}.

{runs}
""",
)
