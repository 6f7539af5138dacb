"""What the rows of the report `cnn-attention` come to: accuracies, their difference with its error, and the verdict."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.pages import aligned, ending
from saccade.reports.verdict import Verdict

__all__ = ["PAPER", "WITH", "WITHOUT", "Difference", "Findings", "packed", "summary", "unpacked"]

WITHOUT, WITH = "CNN", "CNN with self-attention"
PAPER = 1.3
"""Points by which attention raised a ResNet-50's top-1 accuracy on ImageNet: Bello et al. 2019, abstract."""


def packed(right: Sequence[bool]) -> str:
    """Return yes and no of many images as hexadecimal digits, four images each.

    >>> packed([True, False, False, False, True])
    '88'
    """
    rows = [right[first : first + 4] for first in range(0, len(right), 4)]
    return "".join(f"{sum(8 >> place for place, bit in enumerate(row) if bit):x}" for row in rows)


def unpacked(digits: str, count: int) -> list[bool]:
    """Return what `packed` was given.

    >>> unpacked("88", 5)
    [True, False, False, False, True]
    """
    return [bool(int(digit, 16) & 8 >> place) for digit in digits for place in range(4)][:count]


@dataclass(frozen=True)
class Difference:
    r"""How much more often one network is right than another, with the standard errors that it has.

    .. math::
        d = \bar a - \bar c \qquad
        \sigma_s^2 = \frac{\operatorname{Var}_s a_s + \operatorname{Var}_s c_s}{S} \qquad
        \sigma_i^2 = \frac{\operatorname{Var}_i (a_i - c_i)}{N} \qquad \sigma^2 = \sigma_s^2 + \sigma_i^2

    of S seeds each, whose accuracies are \(a_s\) and \(c_s\), and N images, which are right in shares \(a_i\) and
    \(c_i\) of the seeds. What both have of chance in one training counts in both, so the error is rather too large.

    Args:
        mean: d.
        seeds: \(\sigma_s\); None with a single seed.
        images: \(\sigma_i\).
    """

    mean: float
    seeds: float | None
    images: float

    @classmethod
    def between(cls, one: Sequence[Sequence[bool]], other: Sequence[Sequence[bool]]) -> "Difference":
        """Return by how much `one` is more often right than `other`, each a row a seed of the same images.

        >>> Difference.between([[True, True, False, True]], [[True, False, False, False]]).mean
        0.5
        """
        rates = [[statistics.fmean(row) for row in rows] for rows in (one, other)]
        images = [
            statistics.fmean(a) - statistics.fmean(b)
            for a, b in zip(zip(*one, strict=True), zip(*other, strict=True), strict=True)
        ]
        several = min(map(len, rates)) > 1
        seeds = math.sqrt(sum(statistics.variance(own) / len(own) for own in rates)) if several else None
        spread = math.sqrt(statistics.variance(images) / len(images)) if len(images) > 1 else 0.0
        return cls(statistics.fmean(rates[0]) - statistics.fmean(rates[1]), seeds, spread)

    @property
    def error(self) -> float | None:
        """The standard error over seeds and images together; None with a single seed."""
        return None if self.seeds is None else math.hypot(self.seeds, self.images)

    def text(self) -> str:
        """Return difference and errors in points.

        >>> Difference(0.0123, 0.003, 0.004).text()
        '+1.23 points, standard error 0.50 (seeds 0.30, images 0.40)'
        """
        if self.error is None or self.seeds is None:
            return f"{100 * self.mean:+.2f} points, standard error of images {100 * self.images:.2f}, one seed"
        parts = f"seeds {100 * self.seeds:.2f}, images {100 * self.images:.2f}"
        return f"{100 * self.mean:+.2f} points, standard error {100 * self.error:.2f} ({parts})"


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.models = content, (WITHOUT, WITH)
        self.rows = {model: [row for row in content["rows"] if row["model"] == model] for model in self.models}
        self.images: int = self.rows[WITHOUT][0]["images"]
        right = {model: [unpacked(row["right"], self.images) for row in rows] for model, rows in self.rows.items()}
        self.difference = Difference.between(right[WITH], right[WITHOUT])
        self.verdict = self._decide()

    def accuracies(self, model: str, key: str = "accuracy") -> list[float]:
        """The accuracies of a network, one a seed."""
        return [row[key] for row in self.rows[model]]

    def table(self) -> list[list[str]]:
        """Header, and a row a network: its accuracies in percent, and what it cost."""
        rows = []
        for model in self.models:
            runs = [run for run in self.content["runs"].values() if run["model"] == model]
            costs = [f"{statistics.fmean(run[key] for run in runs):.0f}" for key in ("steps", "seconds")]
            scores = [_spread(self.accuracies(model, key)) for key in ("accuracy", "validation")]
            rows.append([model, *scores, str(len(runs)), *costs, f"{runs[0]['parameters']:,}"])
        header = ["network", "test accuracy", "validation", "seeds", "steps", "seconds", "parameters"]
        return [header, *rows]

    def by_seed(self) -> list[list[str]]:
        """Header, and a row a seed: the test accuracies of both networks."""
        pairs = zip(*(self.accuracies(model) for model in self.models), strict=True)
        rows = [[str(seed), *(f"{100 * score:.2f}" for score in pair)] for seed, pair in enumerate(pairs, 1)]
        return [["seed", *self.models], *rows]

    def _decide(self) -> Verdict:
        found, error = self.difference, self.difference.error
        if (
            max(statistics.fmean(self.accuracies(model)) for model in self.models)
            < 1.5 / self.rows[WITHOUT][0]["labels"]
        ):
            return Verdict("nothing can be concluded", "no network got clearly more right than by chance; train longer")
        if error is None:
            return Verdict("not decided", f"one seed decides nothing: {found.text()}")
        most = 100 * (found.mean + 2 * error)
        beside = "" if most >= PAPER else f"; a gain as large as the paper's {PAPER} points there is excluded here"
        if found.mean > 2 * error:
            return Verdict("reproduced", f"with self-attention it is more often right: {found.text()}")
        if found.mean < -2 * error:
            return Verdict("contradicted", f"with self-attention it is less often right: {found.text()}{beside}")
        return Verdict("not decided", f"the difference is within twice its error: {found.text()}{beside}")


def _spread(values: Sequence[float]) -> str:
    """Mean and, of several, standard deviation in percent."""
    around = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.2f}{around}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the table and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["accuracy in percent, ± the standard deviation over seeds", *aligned(found.table())]
    return "\n".join([*lines, *ending(found.verdict, content)])
