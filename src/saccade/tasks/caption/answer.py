"""Writing about images with a trained model: images in, sentences out, and where the model looked for each word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.look import overlays
from saccade.look._files import file_name
from saccade.tasks.generate.attention import attended, looks_told, ranked_by_coverage
from saccade.tasks.generate.generate import Output, Search, best_texts, generate, outputs_of
from saccade.tasks.generate.written import Written
from saccade.tasks.image.influence import cells_of, influence
from saccade.tasks.image.options import LookRequest
from saccade.tasks.image.scenes.judging import Judged, judged
from saccade.tasks.image.scenes.scene import Scene
from saccade.tasks.image.shown import Shown, maps_of, parts_read
from saccade.tasks.image.sight import visual
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.train.task import Form, Unreadable

__all__ = ["ImageCaption", "answers", "attended_in", "attends", "grid", "pointing", "write"]

_AT_ONCE = 1024  # outputs that are written together
_MOST_WORDS = 100  # of a picture and its animation
_BY_GRADIENT = 100  # images that gradients are looked at of, where nothing attends
_LOOKS = "what was looked at before each word, as shares"
_MATTERS = "how much each part of the image moves each word, as shares"
_LOOK = LookRequest()


@dataclass(frozen=True, repr=False)
class ImageCaption(Written):
    """The sentences about one image.

    Args:
        image: the image.
        outputs: its best sentences, or draws.
        count: how many were asked for.
        shape: rows and columns of the cells that weights are of; None where they are of regions.
        influence: how much each cell mattered to each word of the best, `(words, rows, columns)`, where a picture of
            that is wanted.
    """

    image: Shown | Unreadable
    outputs: Sequence[Output]
    count: int
    shape: tuple[int, int] | None = None
    influence: Tensor | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the sentences, and for each word the weights of all cells, one row of them after another."""
        name = self.image.line if isinstance(self.image, Unreadable) else self.image.name
        cells = None if self.shape is None else list(self.shape)
        return {"file": name, "cells": cells, "captions": [one.to_json() for one in self.outputs]}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the image once for each word, under what was looked at before it was written, and animate that.

        Of a model that looks at nothing what moves each word is drawn, without an animation.
        """
        for best in self.outputs[:1]:
            assert isinstance(self.image, Shown)
            maps, looked, boxes = self.influence, self.influence is None, None
            if maps is None:
                assert best.weights is not None
                maps = maps_of(self.image, best.weights, self.shape)
                boxes = parts_read(self.image, best.weights[:_MOST_WORDS], self.shape)
            words = looks_told(best) if looked else list(best.tokens)
            maps, words = maps[:_MOST_WORDS], words[:_MOST_WORDS]  # a model that never ends writes more
            cut = f", the first {_MOST_WORDS} of {len(best.tokens)} words" if len(words) < len(best.tokens) else ""
            told = _LOOKS if looked else _MATTERS if best.weights is not None else f"no attention: {_MATTERS}"
            name = "image" if self.image.name == "-" else Path(self.image.name).stem
            yield from overlays(
                self.image.image,
                maps,
                folder / file_name(name),
                captions=words,
                boxes=boxes,
                smooth=self.shape is not None and boxes is None,
                title=f"{best.text}: {told}{cut}",
                scale="weight" if looked else "share",
                even=0.0 if self.shape is None else 1 / maps[0].numel(),
                animated=looked,
                json=json,
            )


def write(
    model: Any, images: Sequence[Shown], target: Tokenizer, how: Search, limit: int, coverage_penalty: float = 0.0
) -> list[list[Output]]:
    """Return the best sentences about each image.

    Args:
        model: in evaluation mode.
        images: of one size, or features of them.
        target: tokenizer of the sentences.
        how: they are found.
        limit: how many tokens one may have.
        coverage_penalty: how much it counts in scores that cells were looked at; the search is to return all then.
    """
    found, each = list[list[Output]](), max(1, _AT_ONCE // how.width)
    device = next(model.parameters()).device
    for first in range(0, len(images), each):
        chosen = images[first : first + each]
        names = [(one.number, one.name) for one in chosen]
        state = model.encode(visual([one.seen for one in chosen]).to(device))
        limits = torch.full((len(chosen),), limit, device=device)
        found += outputs_of(generate(model, state, limits, how, names), target)
    if not coverage_penalty:
        return found
    read = (attended_in(model, image, own, target) for image, own in zip(images, found, strict=True))
    return [ranked_by_coverage(own, coverage_penalty, how.count, ended=False) for own in read]


def attends(model: Any, image: Shown, target: Tokenizer) -> bool:
    """Return whether a model attends to images, found out on one."""
    with torch.inference_mode():
        return attended_in(model, image, [Output("", [], 0.0)], target)[0].weights is not None


def attended_in(model: Any, image: Shown, outputs: Sequence[Output], target: Tokenizer) -> list[Output]:
    """Return the outputs about an image with what was looked at before each token, and the tokens as texts."""
    if not outputs:
        return []
    device = next(model.parameters()).device
    copies = torch.zeros(len(outputs), dtype=torch.long, device=device)  # of the image, one for each output
    state = model.encode(visual([image.seen]).to(device)).select(copies[:, None], copies)
    return attended(model, state, outputs, target)


def grid(model: Any, shown: Shown) -> tuple[int, int] | None:
    """Return the rows and columns of cells that a model, or the first of an ensemble, sees; None of regions."""
    return cells_of(model, visual([shown.seen]).to(next(model.parameters()).device))


def pointing(
    model: Any,
    images: Sequence[Shown],
    outputs: Sequence[Sequence[Output]],
    scenes: Sequence[Scene],
    target: Tokenizer,
) -> Judged:
    """Return how often the most weight lies on a thing while its colour and its shape are written.

    Of a model without attention the shares of each word's gradient are taken in the place of weights, for the first 100
    images.

    Args:
        model: in evaluation mode.
        images: of the scenes.
        outputs: the best sentence about each comes first.
        scenes: what they show.
        target: tokenizer of the sentences.
    """
    shape = grid(model, images[0])
    assert shape is not None  # scenes are images

    def maps(number: int) -> Tensor | None:
        [best] = attended_in(model, images[number], outputs[number][:1], target)
        if best.weights is not None:
            return best.weights.unflatten(1, shape)  # type: ignore[no-any-return]
        if number >= _BY_GRADIENT:  # a word each takes as long as the whole sentence
            return None
        return influence(model, images[number], best.ids, shape).unflatten(1, shape)  # type: ignore[no-any-return]

    return judged(best_texts(outputs), scenes, maps)


def answers(
    model: Any,
    images: Sequence[Shown | Unreadable],
    target: Tokenizer,
    how: Search,
    limit: int,
    form: Form,
    coverage_penalty: float = 0.0,
    look: LookRequest = _LOOK,
) -> list[ImageCaption]:
    """Return the sentences about images, and where the model looked, or what mattered to it, where that is seen."""
    shown = [one for one in images if isinstance(one, Shown)]
    found = iter(write(model, shown, target, how, limit, coverage_penalty))
    told = list[ImageCaption]()
    for one in images:
        if isinstance(one, Unreadable):
            told.append(ImageCaption(one, [], how.count))
            continue
        outputs = next(found)
        if form == "lines":
            told.append(ImageCaption(one, outputs, how.count))
            continue
        answer = ImageCaption(one, attended_in(model, one, outputs, target), how.count, grid(model, one))
        if form == "pictures" and outputs and (look.by == "gradient" or answer.outputs[0].weights is None):
            moved = influence(model, one, outputs[0].ids, answer.shape)
            answer = replace(answer, influence=maps_of(one, moved, answer.shape))
        told.append(answer)
    return told
