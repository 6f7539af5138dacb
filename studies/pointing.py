"""Answers once attended cells of an image are erased (after Jain, Wallace 2019)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade import look
from saccade.auxiliary import AuxRequest
from saccade.data.dataset import spread as spread_out
from saccade.errors import ArgumentError
from saccade.look import Dots
from saccade.models.answerer import Reads
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.answer import ANSWER
from saccade.tasks.answer.codec import Batch
from saccade.tasks.answer.data import BUILTIN, Asked, Corpus, open_corpus
from saccade.tasks.answer.outputs import LabelAnswers
from saccade.tasks.image.influence import cells_of
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.questions import BLIND, chance
from saccade.tasks.image.scenes.scene import NOISE
from saccade.tasks.task import Job
from saccade.train.randomness import generator
from saccade.train.results import undisturbed
from studies.frame.claims import Claim, Estimate, Verdict, both_bars, conclude, nothing, rule, tabled
from studies.frame.options import Seeded
from studies.frame.page import costs, picture
from studies.frame.scores import by_model
from studies.frame.seeds import between, pack, spread, unpack
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, scheduled

WEIGHTS, GRADIENT, RANDOM = "weights", "gradient", "random"
THINGS, OTHERS, ANY = "things", "other things", "any things"
NAMES = {WEIGHTS: "by its weights", GRADIENT: "by gradients", THINGS: "by the things", OTHERS: "by other things"}
NAMES |= {ANY: "by any things", RANDOM: "at random"}  # of the orders in which cells are erased
COUNTS = (1, 2, 4, 8)  # cells that are erased
DRAWS = 5  # orders at random
_KINDS = {"right": "counts", "change": "shares", "hits": "bits", "elsewhere": "bits", "inside": "shares"}
_AT_ONCE, _QUESTIONS, _FEW = 128, 1000, 300  # questions: of a batch, with erased cells, of these with --quick
_ATTENDS = "show-ask-attend-and-answer"
VARIANTS = (
    Variant("soft", _ATTENDS),
    Variant("sparsemax", _ATTENDS, {"normalizer": "sparsemax"}),
    Variant("reinforce", _ATTENDS, {"read": "reinforce", "samples": 2, "baseline": "leave-one-out"}),
    Variant("word by word", "attention-lstm"),
    Variant("fixed vector", "show-and-answer"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Questions about images: scenes, with answers by known things."""


def _opened(options: Options) -> Corpus:
    if options.data not in BUILTIN:
        raise ArgumentError(f"--data: expected scenes, whose answers depend on known things, got {options.data}")
    return open_corpus(options.data)


def _variants(options: Options) -> list[Variant]:
    small = {"widths": "24,32", "cell_dim": 64, "hidden_dim": 64} if options.quick else {}
    models = [variant for variant in VARIANTS if variant.name in ("soft", "fixed vector") or not options.quick]
    return [replace(variant, values={**variant.values, **scheduled(options), **small}) for variant in models]


def _parts(data: Corpus, options: Options) -> list[Part]:
    limit = _FEW if options.quick else _QUESTIONS
    return [Part({"measured": "pointing"}, lambda task, model, seed: measured(task, model, seed, limit))]


def covered(boxes: Sequence[Sequence[int]], shape: tuple[int, int], size: tuple[int, int]) -> Tensor:
    """Return the share of cells `(rows, columns)` that boxes in pixels cover."""
    pixels = torch.zeros(1, *size)
    for left, top, right, bottom in boxes:
        pixels[:, top:bottom, left:right] = 1
    return F.adaptive_avg_pool2d(pixels, shape)[0]


def ground(images: Tensor, brightest: float, numbers: torch.Generator) -> Tensor:
    """Return images of pixels drawn from those no brighter than a level."""
    dark = (images <= brightest).all(1).flatten(1).cpu()
    pixels = torch.multinomial(dark.float(), dark.shape[1], replacement=True, generator=numbers).to(images.device)
    return images.flatten(2).gather(2, pixels[:, None].expand(-1, images.shape[1], -1)).view_as(images)


def answered(model: Any, batch: Batch, other: Tensor, order: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return probabilities of answers once first cells of an order show other images."""
    images, shares = batch.visual.values, []
    y, x = (torch.arange(size) * count // size for size, count in zip(images.shape[2:], shape, strict=True))
    for count in COUNTS:
        cells = torch.zeros(order.shape, dtype=torch.bool).scatter(1, order[:, :count].cpu(), True).unflatten(1, shape)
        erased = torch.where(cells[:, y][:, :, x][:, None].to(images.device), other, images)
        shares.append(model(Visual(erased), batch.question).softmax(-1))
    return torch.stack(shares)


def heaviest_first(maps: Tensor, ties: Tensor) -> Tensor:
    """Return the indices of cells by weight, equal weights in the order of `ties`."""
    return ties.gather(1, maps.flatten(1).gather(1, ties).argsort(dim=-1, descending=True, stable=True))


def measured(task: Job, model: Any, seed: int, limit: int) -> dict[str, Any]:
    """Answer all test questions, and some of them again with cells erased.

    Columns of all questions are "accuracy", "right", "chance", and "blind", the best guess from the image and the kind.
    Up to `limit` have erased cells. "before" is whether these were right, "first" the probability of the
    first answer. "anywhere" and "anything" are the shares of cells and of things that matter.
    """
    right, chances, blind, partial = list[bool](), list[float](), list[float](), list[int]()
    with undisturbed(model, seed, "test"):
        for indices, examples, batch, true in _batches(task, model, range(task.data.size("test") or 0)):
            right += (model(*batch[:2]).argmax(-1) == true).tolist()
            chances += [chance(example.posed.group) for example in examples]
            blind += [BLIND[example.posed.group] for example in examples]
            partial += [index for index, x in zip(indices, examples, strict=True) if x.boxes and x.others]
        chosen = [partial[index] for index in spread_out(len(partial), limit)]
        means = {"accuracy": fmean(right), "chance": fmean(chances), "blind": fmean(blind)}
        return {"questions": len(right), **means, "right": pack(right, "bits"), **_pointing(task, model, chosen)}


def _pointing(task: Job, model: Any, chosen: Sequence[int]) -> dict[str, Any]:
    orders: dict[str, dict[str, list[Any]]] = {}
    before, first, anywhere, anything = list[bool](), list[float](), list[float](), list[float]()
    for indices, examples, batch, true in _batches(task, model, chosen):
        probability, best = model(batch.visual, batch.question).softmax(-1).max(-1)
        shape, (height, width) = cells_of(model, batch.visual) or (0, 0), batch.visual.values.shape[2:]
        dark = ground(batch.visual.values, NOISE / 255, generator(0, "ground", indices[0]))
        numbers, count = generator(0, "erased cells", indices[0]), (len(examples), shape[0] * shape[1])
        *draws, ties = (torch.rand(count, generator=numbers, dtype=torch.float64).argsort(-1) for _ in range(DRAWS + 1))
        cells = maps(model, batch, examples, best, shape)
        for by, several in {RANDOM: draws, **{by: [heaviest_first(x, ties)] for by, x in cells.items()}}.items():
            columns = orders.setdefault(by, {key: [] for key in _KINDS})
            shares = torch.stack([answered(model, batch, dark, order, shape) for order in several])
            columns["right"].append((shares.argmax(-1) == true).sum(0))
            left = shares.gather(-1, best[:, None].expand(*shares.shape[:-1], 1))[..., 0].double().mean(0)
            columns["change"].append(left - probability.double())
            for weights, example in zip(cells.get(by, ()), examples, strict=by in cells):
                on, off = (pointed(weights, boxes, (height, width)) for boxes in (example.boxes, example.others))
                for key, number in (("hits", on.hit), ("elsewhere", off.hit), ("inside", on.share)):
                    columns[key].append(number)
        before += (best == true).tolist()
        first += probability.tolist()
        anywhere += [pointed(torch.ones(shape), example.boxes, (height, width)).share for example in examples]
        anything += [len(example.boxes) / (len(example.boxes) + len(example.others)) for example in examples]
    erased = dict[str, dict[str, Any]]()
    for by, columns in orders.items():
        right, change = (torch.cat(columns.pop(key), 1).tolist() for key in ("right", "change"))
        erased[by] = {
            "right": [pack(row, "counts") for row in right],
            "change": [pack(row, "shares") for row in change],
        }
        erased[by] |= {key: pack(numbers, _KINDS[key]) for key, numbers in columns.items() if numbers}
    return {
        "examples": len(chosen),
        "cells": list(shape),
        "counts": list(COUNTS),
        "draws": DRAWS,
        "first": fmean(first),
        "before": pack(before, "bits"),
        "anywhere": pack(anywhere, "shares"),
        "anything": pack(anything, "shares"),
        "erased": erased,
    }


def maps(model: Any, batch: Batch, scenes: Sequence[Asked], best: Tensor, shape: tuple[int, int]) -> dict[str, Tensor]:
    """Return weights of cells, `(batch, rows, columns)`, by the order that they give.

    Of hard attention they are probabilities of a draw, of several reads the mean. Gradients are the saliency of the
    first answer's logit, the mean of a cell's pixels.
    """
    visual, question, _ = batch
    (height, width), weights = visual.values.shape[2:], dict[str, Tensor]()
    if getattr(model, "attends", False):
        reads = Reads(AuxRequest(weights=True))
        model.answers(visual, question, 1, reads)
        weights[WEIGHTS] = torch.cat(reads.weights, 1).detach().mean(1).unflatten(-1, shape).cpu()
    with torch.inference_mode(mode=False):
        words = Padded(question.values.clone(), question.lengths.clone())
        pixels = look.saliency(lambda images: model(Visual(images), words), visual.values.clone(), best.clone())
    weights[GRADIENT] = F.adaptive_avg_pool2d(pixels, shape).cpu()
    boxes = {THINGS: [x.boxes for x in scenes], OTHERS: [x.others for x in scenes]}
    boxes[ANY] = [x.boxes + x.others for x in scenes]
    for by, several in boxes.items():
        weights[by] = torch.stack([covered(group, shape, (height, width)) for group in several])
    return weights


def _batches(
    task: Job, model: Any, chosen: Sequence[int]
) -> Iterator[tuple[Sequence[int], list[Asked], Batch, Tensor]]:
    """Test questions with the numbers of their true answers, -1 of unknown answers."""
    device, codec, output = next(model.parameters()).device, task.codec, task.codec.output
    assert isinstance(output, LabelAnswers), "these models choose among answers"
    for start in range(0, len(chosen), _AT_ONCE):
        indices = chosen[start : start + _AT_ONCE]
        examples = [task.data.example("test", index) for index in indices]
        true = torch.tensor([output.numbers.get(example.posed.answers[0], -1) for example in examples], device=device)
        samples = [sample._replace(name="") for sample in codec.encode(examples, "test")]  # an image for each
        yield indices, examples, codec.collate(samples).to(device), true


class Findings:
    """Heaviest cells, effects of erasing, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.first = content, content["rows"][0]
        self.rows = by_model(content["rows"])
        self.pairs = [(name, by) for name, rows in self.rows.items() for by in rows[0]["erased"] if by != RANDOM]
        points = "its heaviest cell lies on what the answer depends on more often than a thing at random"
        erasing = "erasing its heaviest cells takes more of the first answer's probability than those of any things"
        self.claims = dict[str, list[Claim]]()
        for name in (name for name, by in self.pairs if by == WEIGHTS):
            numbers = {points: self.pointing(name, WEIGHTS), erasing: self.lost(name, WEIGHTS, "change", beside=ANY)}
            self.claims[name] = [Claim(f"{name}: {text}", x, x.long()) for text, x in numbers.items()]
        without = [name for name in self.claims if self.above_guess(name).measured.beyond() <= 0]
        self.counted = [claim for name, claims in self.claims.items() if name not in without for claim in claims]
        if self.counted:
            verdict = conclude(self.counted)
            out = f"; left out, since not shown to be beyond the best guess: {', '.join(without)}" if without else ""
            self.verdict = Verdict(verdict.result, f"{verdict.reason}{out}")
        else:
            guess = "right more often than the best guess from the image and the kind of question, by its 95% interval"
            self.verdict = nothing(f"no model that attends is {guess}; train them longer")

    def _shares(self, name: str, by: str, key: str) -> list[list[float]]:
        return [unpack(row["erased"][by][key], _KINDS[key], row["examples"]) for row in self.rows[name]]

    def above_guess(self, name: str) -> Estimate:
        right = [unpack(row["right"], "bits", row["questions"]) for row in self.rows[name]]
        guesses = [[row["blind"]] * row["questions"] for row in self.rows[name]]
        return between(right, guesses, paired=True)

    def pointing(self, name: str, by: str, key: str = "anything") -> Estimate:
        """Return how often the heaviest cell is on a thing that matters, beyond chance."""
        chances = [unpack(row[key], "shares") for row in self.rows[name]]
        return between(self._shares(name, by, "hits"), chances, paired=True)

    def lost(self, name: str, by: str, key: str, index: int | None = None, beside: str = RANDOM) -> Estimate:
        """Return the loss by an order minus that by another, at some numbers of cells.

        It is of accuracy ("right"), or of the first answer's probability ("change").
        """
        indices = range(len(self.first["counts"])) if index is None else [index]
        before, after = ([_left(row, order, key, indices) for row in self.rows[name]] for order in (beside, by))
        return between(before, after, paired=True)

    def fields(self) -> dict[str, Any]:
        results, before = {text: result for text, _, result in tabled(self.counted)}, list[str]()
        claims = [["model", "claim", "difference", "verdict"]]
        for name, claimed in self.claims.items():
            for claim in claimed:
                result = results.get(claim.text, "not shown to have learned")
                claims.append([name, claim.text.removeprefix(f"{name}: "), claim.measured, result])
        header, *spent = costs(self.content, list(self.rows))
        models = [["model", "accuracy, %", "by a guess, %", "by image and kind, %", "above that", *header[1:]]]
        for (name, rows), cells in zip(self.rows.items(), spent, strict=True):
            right = spread([fmean(unpack(row["before"], "bits", row["examples"])) for row in rows])
            first = spread([row["first"] for row in rows])
            before.append(f"{name} {right}% right, the first answer's probability {first}%")
            guesses = [f"{100 * rows[0][key]:.2f}" for key in ("chance", "blind")]
            accuracy = spread([row["accuracy"] for row in rows])
            models.append([name, accuracy, *guesses, self.above_guess(name).short(), *cells[1:]])
        return {
            "claims": claims,
            "bars": both_bars("images", len(self.rows[self.first["model"]])),
            "rule": rule(len(self.counted)),
            "models": models,
            "pointed": self._pointed(),
            "before": "; ".join(before),
            "erased": self._erased(),
            "row": {**self.first, "counts": ", ".join(map(str, self.first["counts"])), "data": self.content["data"]},
        }

    def _pointed(self) -> list[list[str]]:
        header = ["cells", "heaviest on a thing, %", "on another, %", "any cell, %", "difference", "any thing, %"]
        table = [[*header, "difference", "of the weight on things, %"]]
        for name, by in self.pairs:
            if by not in (WEIGHTS, GRADIENT):
                continue  # things lie on themselves
            keys = ("hits", "elsewhere", "inside")
            hits, elsewhere, inside = (spread([fmean(x) for x in self._shares(name, by, key)]) for key in keys)
            chances = list[str]()
            for key in ("anywhere", "anything"):
                share = 100 * fmean(unpack(self.rows[name][0][key], "shares"))
                chances += [f"{share:.2f}", self.pointing(name, by, key).short()]
            table.append([f"{name}, {NAMES[by]}", hits, elsewhere, *chances, inside])
        return table

    def _erased(self) -> list[list[str]]:
        lost = "lost beyond random"
        table = [["cells", "erased", "accuracy, %", lost, "probability of the first answer, %", lost]]
        for name, rows in self.rows.items():
            for by in (*(by for model, by in self.pairs if model == name), RANDOM):
                for index, count in enumerate(self.first["counts"]):
                    cells = [f"{name}, {NAMES[by]}", str(count)]
                    for key in ("right", "change"):
                        first = [row["first"] if key == "change" else 0.0 for row in rows]
                        left = [fmean(_left(row, by, key, [index])) for row in rows]
                        cells.append(spread([a + b for a, b in zip(first, left, strict=True)]))
                        cells.append("" if by == RANDOM else self.lost(name, by, key, index).short())
                    table.append(cells)
        return table


def _left(row: Mapping[str, Any], by: str, key: str, indices: Sequence[int]) -> list[float]:
    """The share of right draws, or the change of the probability, of each question."""
    draws = row["draws"] if by == RANDOM and key == "right" else 1
    numbers = [unpack(row["erased"][by][key][index], _KINDS[key]) for index in indices]
    return [sum(several) / (draws * len(several)) for several in zip(*numbers, strict=True)]


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    series = []
    for text, key in (("accuracy", "right"), ("probability of the first answer", "change")):
        numbers = [result.lost(*pair, key) for pair in result.pairs]
        series.append(Dots(text, [100 * x.value for x in numbers], [100 * x.measured.half() for x in numbers]))
    title, label = "What erasing takes beyond random cells", "points lost beyond random; bars: 95% intervals"
    names = [f"{name}, {NAMES[by]}" for name, by in result.pairs]
    return {"picture": picture(look.dots(names, series, folder / "pointing", label=label, title=title), title)}


STUDY = Study(
    sentence="answers depend on the cells with the largest weights (after Jain, Wallace 2019; Serrano, Smith 2019)",
    title="Is attention an explanation?",
    claim="The answer of a model that has learned to answer hangs on the cells that it attends to. The heaviest cell "
    "lies on a thing that the answer depends on more often than a thing of the image at random is one, and erasing the "
    "heaviest cells takes more of the answer's probability than erasing as many of any things.",
    source="the question of Jain, Wallace 2019, https://arxiv.org/abs/1902.10186, who answer it with no, and of "
    "Wiegreffe, Pinter 2019, https://arxiv.org/abs/1908.04626, who answer that it depends on the definition of an "
    "explanation; erasing after Serrano, Smith 2019, https://arxiv.org/abs/1906.03731; all three of texts",
    options=Options,
    measure=Trainings(_variants, _parts, "scenes", task=ANSWER, open_data=_opened),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## What is claimed

{claims}

{bars} {rule} Both sides of a difference are of the same trained models. Erasing is judged by the mean over all numbers
of cells.

An answer that changes without a cell depended on it. That does not show why it was given, the dispute of the papers.

## Accuracy

{models}

## Where the heaviest cell lies

{pointed}

## What is left once cells are erased

Before anything is erased: {before}.

{erased}

## How it was measured

Each pixel of an erased cell gets the colour of a random pixel of the same image's ground, which is noise, and the model
answers again. Serrano and Smith set weights to zero instead, in one layer. Orders are by weights (of hard attention
probabilities; the mean of several reads), by gradients of the first answer's logit, by cover of the things that the
answer depends on, of other things and of any things. Random cells are mostly ground and beaten by any look at things,
so the claim is beside any things. A model has to beat the best guess from the image and the kind of question.

Data: `{row[data]}`, test split, {row[questions]} questions. Of {row[examples]}, which depend on some things and not on
others, {row[counts]} of {row[cells][0]} × {row[cells][1]} cells are erased, at random in {row[draws]} orders.

{runs}
""",
)
