"""Metrics of sentences about scenes: exact matches, and pointing of words."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from saccade.tasks.groups import means
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.grammar import read
from saccade.tasks.image.scenes.scene import SIDE, Scene

__all__ = ["Judged", "exact_match", "judged"]


class Judged(NamedTuple):
    """Pointing of words: hits of the largest weight on the thing of the word.

    >>> Judged(words=20, hits=19, weight=0.75, groups={"first colour": 0.95}).metrics()
    {'pointing': 0.95, 'pointing_weight': 0.75}
    """

    words: int
    hits: int
    weight: float
    """Mean share of the weights on the thing."""
    groups: dict[str, float]
    """Share of hits by word: colour or shape, in the first mention or later ones."""

    def metrics(self) -> dict[str, float]:
        """Return the metrics, none without words."""
        return {"pointing": self.hits / self.words, "pointing_weight": self.weight} if self.words else {}


def exact_match(outputs: Sequence[str], scenes: Sequence[Scene]) -> float:
    """Return the share of exact outputs: true, and each thing of the scene once.

    Example:
        >>> from saccade.tasks.image.scenes.scene import Box, Thing
        >>> scene = Scene((Thing("red", "circle", Box(0, 0, 9, 9)),))
        >>> exact_match(["a red circle", "a blue circle", "red"], [scene] * 3)
        0.3333333333333333
    """
    readings = (read(output, scene) for output, scene in zip(outputs, scenes, strict=True))
    right = [reading is not None and reading.exact for reading in readings]
    return sum(right) / max(1, len(right))


def judged(texts: Sequence[str], scenes: Sequence[Scene], maps: Callable[[int], Tensor | None]) -> Judged:
    """Judge the weights of words that name things.

    Args:
        texts: the sentences.
        scenes: of the sentences.
        maps: from the number of a sentence that names a thing to weights of its words, `(words, rows, columns)`. At
            None, the loop over sentences ends.

    Example:
        >>> import torch
        >>> from saccade.tasks.image.scenes.scene import Box, Thing
        >>> scene = Scene((Thing("red", "circle", Box(0, 0, 48, 48)),))
        >>> judged(["a red circle"], [scene], lambda _: torch.tensor([[[1.0, 0.0], [0.0, 0.0]]] * 3)).hits
        2
    """
    hits, shares, groups = list[float](), list[float](), list[str]()
    for number, (text, scene) in enumerate(zip(texts, scenes, strict=True)):
        words = list(_words(text, scene))
        if not words:
            continue
        if (weights := maps(number)) is None:
            break
        for position, thing, group in words:
            reading = pointed(weights[position], [scene.things[thing].box], (SIDE, SIDE))
            hits.append(float(reading.hit))
            shares.append(reading.share)
            groups.append(group)
    return Judged(len(hits), int(sum(hits)), sum(shares) / max(1, len(shares)), means(groups, hits))


def _words(text: str, scene: Scene) -> Iterator[tuple[int, int, str]]:
    """Position, thing and group of each word for a colour or a shape."""
    reading = read(text, scene)
    for number, mention in enumerate(() if reading is None else reading.mentions):
        if mention.thing >= 0:
            which = "later" if number else "first"
            yield mention.first + 1, mention.thing, f"{which} colour"
            yield mention.first + 2, mention.thing, f"{which} shape"
