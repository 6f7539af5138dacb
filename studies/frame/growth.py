"""Times in turns, lines by least squares, and powers of a length."""

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from saccade import look
from saccade.bench.measure import medians, turns
from saccade.bench.row import Run
from saccade.look import Curve
from studies.frame.claims import LEVEL, Estimate, Source, quantile
from studies.frame.page import picture
from studies.frame.seeds import Numbers

LENGTHS, MEASURING = "lengths", "measurements"
"""Sources of an exponent's error: few lengths, or errors of the measurements."""
FEWEST = 3
"""Rounds for a median with an error, and lengths for distances from a line."""
_LONG = 4  # the long end: lengths of a fourth of the longest or more, three at the least


@dataclass(frozen=True)
class Line:
    """A straight line: its slope, and its height at length 0."""

    slope: float
    start: float

    def at(self, length: float) -> float:
        return self.start + self.slope * length


Floats = Sequence[float] | Numbers


def weights(lengths: Floats, counts: Floats) -> list[float] | None:
    r"""Return the weights of heights in the slope of a line by least squares.

    .. math:: b = \sum_i w_i\, y_i, \qquad w_i = \frac{n_i (x_i - \bar x)}{\sum_j n_j (x_j - \bar x)^2}

    for lengths x and counts n, such as numbers of sentences; None of fewer than two lengths.

    >>> weights([5, 15], [100, 100]), weights([5], [100])
    ([-0.1, 0.1], None)
    """
    if len({*lengths}) < 2:
        return None
    far = np.asarray(lengths) - np.average(lengths, weights=counts)
    ws: list[float] = (counts * far / np.dot(counts, far**2)).tolist()
    return ws


def fit(lengths: Floats, heights: Floats, counts: Floats) -> Line | None:
    """Return the line of `weights`, None of fewer than two lengths."""
    if (ws := weights(lengths, counts)) is None:
        return None
    slope = float(np.dot(ws, heights))
    middle, mean = (float(np.average(of, weights=counts)) for of in (lengths, heights))
    return Line(slope, mean - slope * middle)


@dataclass(frozen=True)
class _Wider(Estimate):
    """A number with two estimates of its error; `other` is not the wider at 5%."""

    other: Source

    def half(self, level: float = LEVEL) -> float:
        return max(super().half(level), quantile(self.other.freedom, level) * self.other.error)

    def times(self, factor: float) -> Self:
        return replace(super().times(factor), other=replace(self.other, error=abs(factor) * self.other.error))


@dataclass(frozen=True)
class Power:
    """A power of the length: its exponent, and the line through logarithms (base 2)."""

    exponent: Estimate
    line: Line

    @property
    def value(self) -> float:
        return self.exponent.value

    def at(self, length: float) -> float:
        return float(2 ** self.line.at(math.log2(length)))

    def text(self, decimals: int = 2) -> str:
        return self.exponent.text(decimals)


def exponent(
    lengths: Sequence[float],
    amounts: Sequence[float],
    errors: Sequence[float] | None = None,
    shape: Sequence[float] | None = None,
    of: str = LENGTHS,
    freedoms: Sequence[float] | None = None,
) -> Power | None:
    r"""Fit a power of the length, \(a\, n^b\), as a line through logarithms.

    The error of b is the wider of two: the errors of the amounts, with Welch's degrees of freedom, and the m points'
    distances from the line, with m - 2 degrees of freedom:

    .. math:: \sigma_b^2 = \frac{\sum_i r_i^2 / (m - 2)}{\sum_i (x_i - \bar x)^2}

    It is None of fewer than two lengths, and its error is unknown of fewer than three.

    Args:
        lengths: n.
        amounts: above 0.
        errors: their standard errors; None: 0.
        shape: amounts by a formula, from which distances are taken instead, after fitting a further power.
        of: the word for lengths.
        freedoms: degrees of freedom of each amount's error; None: infinite.
    """
    x, y, count = np.log2(lengths), np.log2(amounts), len(lengths)
    straight, constant = y if shape is None else y - np.log2(shape), np.ones(count)
    ws, line, rest = weights(x, constant), fit(x, y, constant), fit(x, straight, constant)
    if ws is None or line is None or rest is None:
        return None
    parts = (np.array(ws) * (errors or np.zeros(count)) / amounts / math.log(2)) ** 2  # of the slope's variance
    pairs = zip(parts.tolist(), freedoms or [math.inf] * count, strict=True)
    lost = sum(part**2 / freedom for part, freedom in pairs if part)  # Welch, Satterthwaite
    rounds = count if freedoms is None else round(min(freedoms)) + 1
    inexact = Source(MEASURING, math.sqrt(parts.sum()), parts.sum() ** 2 / lost if lost else math.inf, rounds)
    if count < FEWEST:
        return Power(Estimate(line.slope, (Source(of, inexact.error, 0, count),)), line)
    far = float(((straight - rest.start - rest.slope * x) ** 2).sum()) / (count - 2)
    scattered = Source(of, math.sqrt(far * np.dot(ws, ws)), count - 2, count, fitted=2)
    other, widest = sorted((scattered, inexact), key=lambda source: quantile(source.freedom) * source.error)
    return Power(_Wider(line.slope, (widest,), other), line)


def ratio(over: Sequence[Estimate], under: Sequence[Estimate]) -> Estimate:
    r"""Return the logarithm of a ratio of products of medians.

    .. math:: \log_2 \frac{\prod_i m_i}{\prod_j m_j} \qquad
        \sigma^2 = \sum_k \Big(\frac{\sigma_k}{m_k \ln 2}\Big)^2

    over all medians k, with Welch's degrees of freedom.

    >>> time = timed({"seconds": 0.004, "error": 0.0001}, 11)
    >>> double = timed({"seconds": 0.008, "error": 0.0001}, 11)
    >>> ratio([double], [time]).text()
    '1.00 ± 0.09'
    """
    medians = [*over, *under]
    parts = [(median.error / median.value / math.log(2)) ** 2 for median in medians]
    lost = sum(part**2 / median.sources[0].freedom for part, median in zip(parts, medians, strict=True) if part)
    freedom = sum(parts) ** 2 / lost if lost else math.inf
    rounds = min(median.sources[0].count for median in medians)
    logs = [math.log2(median.value) for median in medians]
    value = sum(logs[: len(over)]) - sum(logs[len(over) :])
    return Estimate(value, (Source(MEASURING, math.sqrt(sum(parts)), freedom, rounds),))


def times(logarithm: Estimate, decimals: int = 2) -> str:
    """Return a ratio from the logarithm of `ratio`, with its interval.

    >>> times(Estimate(1.0, (Source(MEASURING, 0.1, math.inf, 9),)))
    '2.00 (1.75 to 2.29)'
    """
    half = logarithm.half()
    low, high = (2.0 ** (logarithm.value + side * half) for side in (-1, 1))
    return f"{2**logarithm.value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of torch's threads in a block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def crossings(lengths: Sequence[float], ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return interpolated lengths of crossings, with the larger amount ours above."""
    points = zip(np.log2(lengths), np.log2(ours) - np.log2(theirs), strict=True)
    pairs = [pair for pair in itertools.pairwise(points) if pair[0][1] <= 0 < pair[1][1]]
    return [float(2 ** np.interp(0.0, (before, after), (x, y))) for (x, before), (y, after) in pairs]


def long_end(lengths: Sequence[int]) -> list[int]:
    """Return the lengths of a fourth of the longest or more, three at the least.

    >>> long_end([1, 2, 10, 20, 50]), long_end([1, 10, 100])
    ([10, 20, 50], [1, 10, 100])
    """
    return [n for n in lengths if n * _LONG >= lengths[-1] or n in lengths[-FEWEST:]]


def in_turns(calls: Mapping[str, Run], **options: Any) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the rounds, and the median "seconds" of each call with "error"."""
    for call in calls.values():
        call()  # the first call allocates
    rounds = turns([*calls.values()], least=FEWEST, **options)
    times = zip(calls, medians(rounds), zip(*rounds, strict=True), strict=True)
    return len(rounds), {name: {"seconds": middle, "error": median_error(taken)} for name, middle, taken in times}


def median_error(taken: Sequence[float]) -> float:
    """Return the standard error of the median of times, from their middle half.

    >>> round(median_error([1.0, 2.0, 3.0, 4.0, 5.0]), 3)
    1.246
    """
    low, _, high = statistics.quantiles(taken, n=4)
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(taken))


def timed(columns: Mapping[str, float], rounds: int) -> Estimate:
    """Return a median of `in_turns` in milliseconds with its error."""
    return Estimate(1e3 * columns["seconds"], (Source(MEASURING, 1e3 * columns["error"], rounds - 1, rounds),))


def milliseconds(time: Estimate) -> str:
    """Return a median in milliseconds ± half its interval, in three digits or more.

    >>> milliseconds(timed({"seconds": 0.0123, "error": 0.0001}, 11))
    '12.3 ± 0.2'
    """
    return time.text(max(0, 2 - math.floor(math.log10(time.value))))


def draw_powers(
    curves: Sequence[Curve], path: Path, lengths: Sequence[int], labels: tuple[str, str], title: str, note: str
) -> str:
    """Draw amounts by length with their fitted powers; return the picture."""
    x, y = labels
    drawn = look.curves(
        curves,
        path,
        ticks=[(length, str(length)) for length in lengths],
        labels=(f"{x}; bars: 95% intervals; dotted: the fitted power", y),
        title=title,
        note=note,
        log="xy",
    )
    return picture(drawn, title)
