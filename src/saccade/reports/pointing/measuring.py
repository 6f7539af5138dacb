"""What a model that answers is asked: where it points, and what its answers come to once cells are erased."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from saccade.models.image_encoder import Visual
from saccade.reports.difference import packed, packed_counts, packed_shares
from saccade.reports.pointing.erasing import Left, answered, any_order, ground, heaviest_first
from saccade.reports.pointing.maps import covered, gradients, weighed
from saccade.tasks.answer.batches import Batch, Encoded, stacked
from saccade.tasks.answer.data import Asked
from saccade.tasks.answer.task import AnswerQuestions
from saccade.tasks.batches import spread
from saccade.tasks.image.influence import cells_of
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.questions import BLIND, chance
from saccade.tasks.image.scenes.scene import NOISE
from saccade.tasks.labels.answers import ClassAnswers
from saccade.train.randomness import generator
from saccade.train.results import undisturbed

__all__ = ["ANY", "COUNTS", "DRAWS", "GRADIENT", "OTHERS", "RANDOM", "THINGS", "WEIGHTS", "measured"]

COUNTS = (1, 2, 4, 8)  # cells that are erased
DRAWS = 5  # orders at random
WEIGHTS, GRADIENT, RANDOM = "weights", "gradient", "random"
THINGS, OTHERS, ANY = "things", "other things", "any things"
"""By what cells are erased: attention, gradients by pixels, nothing; the things that matter, all others, and all."""
_AT_ONCE = 128  # questions


@dataclass
class _Erased:
    """What erasing by one order came to: a list for each number of cells."""

    right: list[list[int]] = field(default_factory=lambda: [[] for _ in COUNTS])
    change: list[list[float]] = field(default_factory=lambda: [[] for _ in COUNTS])
    hits: list[bool] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    elsewhere: list[bool] = field(default_factory=list)

    def add(self, draws: Sequence[Sequence[Left]], before: Tensor, true: Tensor) -> None:
        """Keep how many of some draws leave the answer right, and what they do to its probability in the mean."""
        for place, lefts in enumerate(zip(*draws, strict=True)):
            self.right[place] += torch.stack([left.answer == true for left in lefts]).sum(0).tolist()
            left = torch.stack([one.probability.double() for one in lefts]).mean(0)
            self.change[place] += (left - before.double()).tolist()

    def told(self) -> dict[str, Any]:
        """Return what a row says of it."""
        said = {"right": [*map(packed_counts, self.right)], "change": [*map(packed_shares, self.change)]}
        if not self.hits:
            return said
        hits = {"hits": packed(self.hits), "elsewhere": packed(self.elsewhere)}
        return {**said, **hits, "inside": packed_shares(self.inside)}


def measured(task: AnswerQuestions, model: Any, seed: int, most: int) -> dict[str, Any]:
    """Ask a model all test questions, and some of those about a part of the things again with cells erased.

    Args:
        task: of the model.
        model: trained.
        seed: of the run.
        most: questions that are asked again, spread over those whose answer depends on some things of the
            image and not on others.

    Returns:
        What a row of the report says of it: "accuracy", "right", "chance" and "blind", how often the best guess from
        the image and the kind is right, of all questions; of those that are asked again "before", which were right,
        "anywhere", the share of cells whose middles lie on what the answer depends on, "anything", the share of things
        that it depends on, and "erased", by each order of cells.
    """
    size, right, chances, known = task.data.size("test") or 0, list[bool](), list[float](), list[int]()
    blind = list[float]()
    with undisturbed(model, seed, "test"):
        for indices, asked, batch, true in _batches(task, model, range(size)):
            right += (model(*batch[:2]).argmax(-1) == true).tolist()
            chances += [chance(one.posed.group) for one in asked]
            blind += [BLIND[one.posed.group] for one in asked]
            known += [index for index, one in zip(indices, asked, strict=True) if one.boxes and one.others]
        chosen = [known[place] for place in spread(len(known), most)]
        return {
            "questions": size,
            "accuracy": statistics.fmean(right),
            "chance": statistics.fmean(chances),
            "blind": statistics.fmean(blind),
            "right": packed(right),
            **_pointing(task, model, chosen),
        }


@dataclass(frozen=True)
class _Whole:
    """Questions about images of which nothing is erased, and what a model makes of them."""

    model: Any
    batch: Batch
    probability: Tensor
    best: Tensor
    shape: tuple[int, int]
    shown: Tensor

    @classmethod
    def of(cls, model: Any, batch: Batch, numbers: torch.Generator) -> "_Whole":
        probability, best = model(batch.visual, batch.question).softmax(-1).max(-1)
        shape = cells_of(model, batch.visual)
        assert shape is not None, "all these models see images"
        shown = ground(batch.visual.values, NOISE / 255, numbers)
        return cls(model, batch, probability, best, shape, shown)

    def left(self, order: Tensor) -> list[Left]:
        """What is left once cells are erased in an order."""

        def answer(images: Tensor) -> Tensor:
            shares: Tensor = self.model(Visual(images), self.batch.question).softmax(-1)
            return shares

        return answered(answer, self.batch.visual.values, self.shown, self.best, order, self.shape, COUNTS)

    def maps(self, asked: Sequence[Asked], size: tuple[int, int]) -> dict[str, Tensor]:
        """Maps `(batch, rows, columns)`, by what they are from."""
        visual, question, _ = self.batch
        found = {}
        if getattr(self.model, "attends", False):
            found[WEIGHTS] = weighed(self.model, visual, question, self.shape)
        found[GRADIENT] = gradients(self.model, visual, question, self.best, self.shape)
        for by, boxes in (
            (THINGS, [one.boxes for one in asked]),
            (OTHERS, [one.others for one in asked]),
            (ANY, [one.boxes + one.others for one in asked]),
        ):
            found[by] = torch.stack([covered(own, self.shape, size) for own in boxes])
        return found


def _pointing(task: AnswerQuestions, model: Any, chosen: Sequence[int]) -> dict[str, Any]:
    """What is measured of questions whose things are known."""
    found: dict[str, _Erased] = {}
    before, anywhere, first, shape = list[bool](), list[float](), list[float](), (0, 0)
    anything = list[float]()
    for indices, asked, batch, true in _batches(task, model, chosen):
        whole = _Whole.of(model, batch, generator(0, "ground", indices[0]))
        size = (batch.visual.values.shape[2], batch.visual.values.shape[3])
        shape, numbers = whole.shape, generator(0, "erased cells", indices[0])
        *orders, ties = (any_order(len(asked), shape[0] * shape[1], numbers) for _ in range(DRAWS + 1))
        before += (whole.best == true).tolist()
        first += whole.probability.tolist()
        anywhere += [pointed(torch.ones(shape), one.boxes, size).share for one in asked]
        anything += [len(one.boxes) / (len(one.boxes) + len(one.others)) for one in asked]
        draws = [whole.left(order) for order in orders]
        found.setdefault(RANDOM, _Erased()).add(draws, whole.probability, true)
        for by, maps in whole.maps(asked, size).items():
            own = found.setdefault(by, _Erased())
            own.add([whole.left(heaviest_first(maps, ties))], whole.probability, true)
            pointing = [pointed(each, one.boxes, size) for each, one in zip(maps, asked, strict=True)]
            own.hits += [one.hit for one in pointing]
            own.inside += [one.share for one in pointing]
            own.elsewhere += [pointed(each, one.others, size).hit for each, one in zip(maps, asked, strict=True)]
    return {
        "examples": len(chosen),
        "cells": list(shape),
        "counts": list(COUNTS),
        "draws": DRAWS,
        "first": statistics.fmean(first),
        "before": packed(before),
        "anywhere": packed_shares(anywhere),
        "anything": packed_shares(anything),
        "erased": {by: own.told() for by, own in found.items()},
    }


def _batches(
    task: AnswerQuestions, model: Any, chosen: Sequence[int]
) -> Iterator[tuple[Sequence[int], list[Asked], Batch, Tensor]]:
    """Test questions with the numbers of their true answers, -1 of those that the run does not know."""
    device, known, output = next(model.parameters()).device, task.vocabulary, task.output
    assert isinstance(output, ClassAnswers), "the report's models choose among answers"
    for first in range(0, len(chosen), _AT_ONCE):
        indices = chosen[first : first + _AT_ONCE]
        asked = [task.data.example("test", index) for index in indices]
        tokens = [known.tokens(one.posed.question, task.settings.max_length)[0] for one in asked]
        images = [one.image for one in asked if one.image is not None]  # all of them: these are scenes
        encoded = [Encoded(image, known.ids(own), {}) for image, own in zip(images, tokens, strict=True)]
        true = torch.tensor([output.numbers.get(one.posed.answers[0], -1) for one in asked], device=device)
        yield indices, asked, stacked(encoded, output).to(device), true
