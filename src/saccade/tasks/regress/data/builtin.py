"""Built-in numbers: a noisy sine, and sets with their largest element.

The noise is constant or growing. An example is a function of its split and index. Examples are drawn in blocks, because
a generator for each one would take longer than a step of a small model.
"""

import math
from bisect import bisect_right
from functools import lru_cache

import torch

from saccade.data.generated import Generated
from saccade.tasks.regress.data.rows import Example, ranges
from saccade.train.randomness import generator

__all__ = ["HELD_OUT", "TRAINED_ON", "Maximum", "Sine"]

HELD_OUT = 2000  # examples of each other split
TRAINED_ON = 512  # points of a sine
NOISE = 0.3
_END = 6.3  # of x, a little more than a period
_EDGES = (0.0, _END / 4, _END / 2, 3 * _END / 4, _END)
_LARGEST, _ELEMENTS = 100.0, 10
_BLOCK = 1024


class Sine(Generated[Example]):
    r"""Points on a sine with noise: 512 for training, 2,000 for each other split.

    .. math:: x \sim U(0, 6.3), \quad y = \sin x + \varepsilon

    The standard deviation of ε is 0.3, or 0.05 + 0.1 x if it grows. Both numbers are rounded to four decimals.

    Args:
        growing: whether the noise grows with x.

    Example:
        >>> data = Sine()
        >>> data.example("test", 0) == data.example("test", 0), data.size("train")
        (True, 512)
    """

    features, targets, encoding = ("x",), ("y",), None
    trained_on = TRAINED_ON

    def __init__(self, *, growing: bool = False) -> None:
        self.growing = growing

    def make(self, split: str, index: int) -> Example:
        x, y = _points(self.growing, split, index // _BLOCK)[index % _BLOCK]
        return Example((x,), (y,), ranges(_EDGES)[bisect_right(_EDGES[1:-1], x)])

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        """Number, range and noise of the points."""
        noise = "0.05 + 0.1 x" if self.growing else f"{NOISE}"
        return f"sine of {TRAINED_ON} points in 0 to {_END}, noise {noise}"


class Maximum(Generated[Example]):
    """Sets of 1 to 10 numbers from 0 to 100, and their largest.

    Training is endless. Each other split has 2,000 sets.

    Source:
        Lee et al. 2019, "Set Transformer", section 5.1 (https://arxiv.org/abs/1810.00825).

    Example:
        >>> numbers, answers, group, _ = Maximum().example("test", 3)
        >>> max(numbers) == answers[0], len(numbers) == int(group)
        (True, True)
    """

    features, targets, encoding = (), ("largest",), None
    fingerprint = f"the largest of 1 to {_ELEMENTS} numbers from 0 to {_LARGEST:g}"

    def make(self, split: str, index: int) -> Example:
        numbers = _sets(split, index // _BLOCK)[index % _BLOCK]
        return Example(numbers, (max(numbers),), str(len(numbers)))

    @property
    def held_out(self) -> int:
        return HELD_OUT


@lru_cache(maxsize=16)
def _points(growing: bool, split: str, block: int) -> list[tuple[float, float]]:
    draws = generator(0, "sine", split, block)
    x = (_END * torch.rand(_BLOCK, generator=draws, dtype=torch.float64)).round(decimals=4)
    noise = torch.randn(_BLOCK, generator=draws, dtype=torch.float64)
    points = zip(x.tolist(), noise.tolist(), strict=True)
    return [(x, round(math.sin(x) + (0.05 + 0.1 * x if growing else NOISE) * e, 4)) for x, e in points]


@lru_cache(maxsize=16)
def _sets(split: str, block: int) -> list[tuple[float, ...]]:
    draws = generator(0, "maximum", split, block)
    sizes = torch.randint(1, _ELEMENTS + 1, (_BLOCK,), generator=draws).tolist()
    numbers = (_LARGEST * torch.rand(_BLOCK, _ELEMENTS, generator=draws, dtype=torch.float64)).round(decimals=2)
    return [tuple(row[:size]) for row, size in zip(numbers.tolist(), sizes, strict=True)]
