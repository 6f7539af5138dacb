"""Labels of images: classes, or strings of symbols."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from saccade.errors import ArgumentError
from saccade.models.strings import NOTHING, likeliest
from saccade.tasks.labels.baselines import majority
from saccade.tasks.labels.metrics import HEADLINE, measured
from saccade.tasks.labels.ranking import Ranking, label_numbers
from saccade.train.task import Baseline, Metric

__all__ = ["END", "RATE", "Spelling", "Strings"]

END, RATE = "end", "symbol_error_rate"
_LARGEST = 1000  # limit of strings in an answer


@dataclass(frozen=True)
class Strings:
    r"""Probabilities of the symbols of a string, independent of each other.

    Args:
        symbols: a character each.
        shares: `(longest, symbols + 1)`, float64 on the CPU. The last column is of the string's end.

    Example:
        >>> import torch
        >>> strings = Strings(("1", "7"), torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.7, 0.2]]))
        >>> strings.lines(2), strings.said
        (['17\t0.3500', '77\t0.3500'], ('1', '7'))
    """

    symbols: tuple[str, ...]
    shares: Tensor

    def best(self, count: int) -> list[tuple[str, float]]:
        """Return the most probable strings and their probabilities."""
        strings, shares = likeliest(self.shares[None], count)
        return list(zip(_spelled(self.symbols, strings[0]), shares[0].tolist(), strict=True))

    @property
    def said(self) -> tuple[str, ...]:
        """The symbols of the most probable string, and its end unless it has full length."""
        best, _ = self.best(1)[0]
        return tuple(best) if len(best) == len(self.shares) else (*best, END)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return *self.symbols, END

    @property
    def title(self) -> str:
        """The most probable string and its probability, for the title of a picture."""
        best, share = self.best(1)[0]
        return f"{best} {share:.2f}"

    def lines(self, count: int) -> list[str]:
        """Return the most probable strings, each with a tab and its probability."""
        return [f"{label}\t{share:.4f}" for label, share in self.best(count)]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return the most probable strings, and all probabilities at each position."""
        best = [{"label": label, "probability": round(share, 6)} for label, share in self.best(count)]
        positions = [[round(share, 6) for share in position] for position in self.shares.tolist()]
        return {"answers": best, "symbols": [dict(zip(self.labels, position, strict=True)) for position in positions]}


@dataclass(frozen=True)
class Spelling:
    """Classes, or all strings of symbols up to a length.

    Args:
        symbols: of strings, or the classes.
        longest: symbols of the longest string, 1 for classes.

    Example:
        >>> Spelling(("1", "7"), 3).most, Spelling(("cat", "dog")).classes
        (14, 2)
        >>> Spelling(("1", "7"), 3).numbers(["71", "177"], "test")
        [(1, 0, 2), (0, 1, 1)]
    """

    symbols: tuple[str, ...]
    longest: int = 1

    @property
    def strings(self) -> bool:
        """Whether labels are strings."""
        return self.longest > 1

    @property
    def classes(self) -> int:
        """Number of outputs of a model. The last one ends a string."""
        return len(self.symbols) + self.strings

    @property
    def most(self) -> int:
        """Maximal number of labels of an answer."""
        if not self.strings:
            return len(self.symbols)
        every: int = sum(len(self.symbols) ** count for count in range(1, self.longest + 1))
        return min(_LARGEST, every)

    def numbers(self, labels: Sequence[str], split: str) -> list[int | tuple[int, ...]]:
        """Return the number of each label, or the numbers of its symbols and its end."""
        if not self.strings:
            return [*label_numbers(self.symbols, labels, split)]
        numbers = list[int | tuple[int, ...]]()
        for label in labels:
            if not 1 <= len(label) <= self.longest:
                expected = f"from 1 to {self.longest} symbols, as the run's have"
                raise ArgumentError(f"--data: expected labels of {expected}, got {label!r:.60} in the {split} split")
            spelled = (*label_numbers(self.symbols, list(label), split), len(self.symbols))[: self.longest]
            numbers.append(spelled + (NOTHING,) * (self.longest - len(spelled)))
        return numbers

    def found(self, shares: Tensor) -> list[str]:
        """Return the most probable labels from probabilities `(batch, longest, classes)`."""
        if not self.strings:
            return [self.symbols[number] for number in shares[:, 0].argmax(-1).tolist()]
        return _spelled(self.symbols, likeliest(shares.double(), 1)[0][:, 0]) if len(shares) else []

    def ranking(self, shares: Tensor) -> Ranking | Strings:
        """Return an image's labels from probabilities `(longest, classes)`."""
        return Strings(self.symbols, shares) if self.strings else Ranking(self.symbols, shares[0])

    def measured(
        self, outputs: Sequence[str], targets: Sequence[str], groups: Sequence[str]
    ) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
        """Return metrics of labels, and by group. Strings also have groups by length."""
        if not self.strings:
            answers, true = (label_numbers(self.symbols, labels, "measured") for labels in (outputs, targets))
            return measured(answers, true, self.symbols, groups)
        right: dict[str, list[bool]] = {}
        for label, string, group in zip(outputs, targets, groups, strict=True):
            for name in filter(None, (f"{len(string)} symbol{'s' * (len(string) > 1)}", group)):
                right.setdefault(name, []).append(label == string)
        metrics = _string_metrics(outputs, targets)
        return metrics, {HEADLINE: {name: sum(hits) / len(hits) for name, hits in right.items()}}

    def baseline(self, train: Sequence[str], targets: Sequence[str], split: str) -> Baseline:
        """Measure the most frequent label of training examples."""
        if not self.strings:
            learned, true = label_numbers(self.symbols, train, "train"), label_numbers(self.symbols, targets, split)
            return majority(learned, true, self.symbols)
        began, counts = time.perf_counter(), Counter(train)
        label = min(counts, key=lambda label: (-counts[label], label))
        metrics = _string_metrics([label] * len(targets), targets)
        return Baseline(metrics, f"always {label:.40}", round(time.perf_counter() - began, 3))


def _string_metrics(outputs: Sequence[str], targets: Sequence[str]) -> dict[str, Metric]:
    """Accuracy of strings, and their symbol error rate."""
    import jiwer

    right = sum(label == true for label, true in zip(outputs, targets, strict=True)) / max(1, len(targets))
    return {HEADLINE: right, RATE: float(jiwer.cer(list(targets), list(outputs))) if targets else 0.0}


def _spelled(symbols: Sequence[str], numbers: Tensor) -> list[str]:
    return ["".join(symbols[number] for number in row if number != NOTHING) for row in numbers.tolist()]
