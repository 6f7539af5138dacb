"""What captions are judged by beside their words: what always one caption comes to, and where the model looked."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from saccade.tasks.caption.answer import attended_in, grid, influence
from saccade.tasks.caption.metrics import measured
from saccade.tasks.generate.generate import Output
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.grammar import read
from saccade.tasks.image.scenes.scene import Scene
from saccade.tasks.image.shown import Shown
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.train.task import Baseline

__all__ = ["Judged", "baseline", "pointing"]

_BY_GRADIENT = 100  # images that gradients are looked at of: a word each takes as long as the whole sentence


class Judged(NamedTuple):
    """How often words for things were written while their things were looked at.

    >>> Judged(words=20, hits=19, weight=0.75).metrics()
    {'pointing': 0.95, 'pointing_weight': 0.75}
    """

    words: int
    hits: int
    weight: float
    """The mean share of the weights that lies on the thing."""

    def metrics(self) -> dict[str, float]:
        """Return what is reported; nothing where no thing was named."""
        return {"pointing": self.hits / self.words, "pointing_weight": self.weight} if self.words else {}


def baseline(
    train: Sequence[str], references: Sequence[Sequence[str]], scenes: Sequence[Scene] | None = None
) -> Baseline:
    """Return what writing the most frequent caption whatever is seen comes to.

    Args:
        train: training captions; of those that are as frequent, the first in the alphabet counts.
        references: of each image that is measured.
        scenes: that they show, where that is known.

    Example:
        >>> found = baseline(["a dog", "a cat", "a dog"], [["a dog runs"]])
        >>> found.about
        'always a dog'
    """
    began, counts = time.perf_counter(), Counter(train)
    best = min(counts, key=lambda text: (-counts[text], text))
    metrics, _ = measured([best] * len(references), references, [""] * len(references), scenes)
    return Baseline(metrics, f"always {best:.40}", round(time.perf_counter() - began, 3))


def pointing(
    model: Any,
    images: Sequence[Shown],
    outputs: Sequence[Sequence[Output]],
    scenes: Sequence[Scene],
    target: Tokenizer,
) -> Judged:
    """Return how often the most weight lies on a thing while its colour and its shape are written.

    Of a model without attention the shares of each word's gradient are taken in the place of weights, for the first 100
    images. Sentences that the grammar does not know, and things that are not there, count as nothing.

    Args:
        model: in evaluation mode.
        images: of the scenes.
        outputs: the best sentence about each comes first.
        scenes: what they show.
        target: tokenizer of the sentences.
    """
    hits, shares, shape = list[bool](), list[float](), grid(model, images[0])
    assert shape is not None  # scenes are images
    for number, (image, found, scene) in enumerate(zip(images, outputs, scenes, strict=True)):
        words = list(_words(found[0].text, scene)) if found else []
        if not words:
            continue
        [best] = attended_in(model, image, found[:1], target)
        if best.weights is None and number >= _BY_GRADIENT:
            break
        maps, size = _maps(model, image, best, shape), (image.image.shape[1], image.image.shape[2])
        for place, thing in words:
            seen = pointed(maps[place], [scene.things[thing].box], size)
            hits.append(seen.hit)
            shares.append(seen.share)
    return Judged(len(hits), sum(hits), sum(shares) / max(1, len(shares)))


def _maps(model: Any, image: Shown, best: Output, shape: tuple[int, int]) -> Tensor:
    weights = influence(model, image, best.ids, shape) if best.weights is None else best.weights
    found: Tensor = weights.unflatten(1, shape)
    return found


def _words(text: str, scene: Scene) -> Iterator[tuple[int, int]]:
    """The place of each word that says a colour or a shape, and the thing that it is of."""
    reading = read(text, scene)
    for mention in () if reading is None else reading.mentions:
        if mention.thing >= 0:
            yield from ((place, mention.thing) for place in range(mention.first + 1, mention.last))
