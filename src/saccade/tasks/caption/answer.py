"""Captions of an image, as lines, JSON and pictures, and their pointing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from saccade.look import overlays
from saccade.look import shares as look_shares
from saccade.look._files import file_name
from saccade.tasks.generate.attention import looks_told
from saccade.tasks.generate.generate import Output, Written, best_texts
from saccade.tasks.image.influence import cells_of, influence, subject
from saccade.tasks.image.scenes.judging import Judged, judged
from saccade.tasks.image.scenes.scene import Scene
from saccade.tasks.image.shown import Shown, maps_of, parts_read
from saccade.tasks.image.sight import visual
from saccade.tasks.looking import By
from saccade.train.task import Unreadable

__all__ = ["ImageCaption", "grid", "pointing", "scored"]

_MOST_WORDS = 100  # of a picture and its animation
_BY_GRADIENT = 100  # images with computed gradients, for a model without attention
_LOOKS = "what was looked at before each word, as shares"
_MEANINGS = {
    "rollout": "attention to each part through all layers, as shares",
    "flow": "flow of attention from each part through all layers, as shares",
    "gradient": "how much each part of the image moves each word, as shares",
    "grad-cam": "where the last features of the image speak for each word, as shares",
    "integrated-gradients": "what each part adds to each word, as shares of all that speaks for it",
}


@dataclass(frozen=True, repr=False)
class ImageCaption(Written):
    """Captions of an image.

    Args:
        image: the image.
        outputs: its best captions, or samples.
        count: number of captions.
        shape: rows and columns of cells with weights, or None of regions.
        influence: shares of cells in the scores of each word of the best, `(words, rows, columns)`, in pictures of
            other methods than attention.
        meaning: of these shares.
    """

    image: Shown | Unreadable
    outputs: Sequence[Output]
    count: int
    shape: tuple[int, int] | None = None
    influence: Tensor | None = None
    meaning: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the captions, and for each word the weights of all cells, row by row."""
        name = self.image.line if isinstance(self.image, Unreadable) else self.image.name
        cells = None if self.shape is None else list(self.shape)
        return {"file": name, "cells": cells, "captions": [output.to_json() for output in self.outputs]}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the image for each word under attention weights or gradients.

        Attention weights have an animation too.
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
            caption = (
                _LOOKS if looked else self.meaning if best.weights is not None else f"no attention: {self.meaning}"
            )
            name = "image" if self.image.name == "-" else Path(self.image.name).stem
            yield from overlays(
                self.image.image,
                maps,
                folder / file_name(name),
                captions=words,
                boxes=boxes,
                smooth=self.shape is not None and boxes is None,
                title=f"{best.text}: {caption}{cut}",
                scale="weight" if looked else "share",
                even=0.0 if self.shape is None else 1 / maps[0].numel(),
                animated=looked,
                json=json,
            )


def grid(model: Any, image: Shown) -> tuple[int, int] | None:
    """Return rows and columns of a model's cells, None for regions.

    For an ensemble, they are those of its first member.
    """
    return cells_of(model, visual([image.seen]).to(next(model.parameters()).device))


def scored(model: Any, image: Shown, output: Output, shape: tuple[int, int] | None, by: By) -> tuple[Tensor, str]:
    """Return the shares of cells in the scores of each word, and their meaning.

    Shares are `(words, cells)`.

    Args:
        model: a writer about images, in evaluation mode.
        image: the image.
        output: its caption.
        shape: rows and columns of cells, or None of regions.
        by: a method other than attention.
    """
    if by == "gradient":
        return influence(model, image, output.ids, shape), _MEANINGS[by]
    of_image = subject(model, image, output.ids, shape, output.tokens, output.weights)
    values = of_image.scores(by).values
    if of_image.pixels and shape is not None:
        values = F.adaptive_avg_pool2d(values, shape)
    return look_shares(values.flatten(1).relu()), _MEANINGS[by]


def pointing(
    predictor: Any, model: Any, images: Sequence[Shown], outputs: Sequence[Sequence[Output]], scenes: Sequence[Scene]
) -> Judged:
    """Whether the largest weight is on a thing at the words of its colour and shape.

    Gradients of words take the place of weights of a model without attention, for the first 100 images.
    """
    shape = grid(model, images[0])
    assert shape is not None  # scenes are images

    def maps(number: int) -> Tensor | None:
        [[best]] = predictor.attend(model, images[number], outputs[number][:1])
        if best.weights is not None:
            return best.weights.unflatten(1, shape)  # type: ignore[no-any-return]
        if number >= _BY_GRADIENT:  # the gradients of a word take as long as the whole sentence
            return None
        return influence(model, images[number], best.ids, shape).unflatten(1, shape)  # type: ignore[no-any-return]

    return judged(best_texts(outputs), scenes, maps)
