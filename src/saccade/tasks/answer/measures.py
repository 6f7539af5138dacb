"""What is measured of answers to questions about images: how right they are, and where was looked."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from saccade.tasks.answer.agreement import agreement
from saccade.tasks.answer.data import Posed
from saccade.tasks.image.pointing import pointed
from saccade.tasks.image.scenes.scene import Box
from saccade.train.task import Baseline, Metric

__all__ = ["HEADLINE", "Pointing", "baselines", "measured"]

HEADLINE = "accuracy"
_LAST, _MEAN, _SHARE = "pointing", "pointing_mean", "weight_inside"


class Pointing(NamedTuple):
    """Where the reads of one question pointed.

    >>> Pointing("colour", [True, False], [0.5, 0.25]).hits[-1]
    False
    """

    group: str
    hits: list[bool]
    """Of each read, whether its largest weight lies in a box of a thing that the answer depends on."""
    shares: list[float]
    """Of each read, how much of its weight does."""

    @classmethod
    def of(cls, group: str, weights: Tensor, boxes: Sequence[Box], size: tuple[int, int]) -> "Pointing":
        """Judge the weights `(reads, rows, columns)` of one question by boxes in an image of a height and width."""
        found = [pointed(each, boxes, size) for each in weights]
        return cls(group, [one.hit for one in found], [one.share for one in found])


def measured(
    found: Sequence[str], posed: Sequence[Posed], pointing: Sequence[Pointing]
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return the accuracy of answers, as a whole and by kind of question, and how often reads pointed at what matters.

    Of several reads `pointing` is the last one's, `pointing_mean` the mean of all; `weight_inside` is how much of the
    last one's weight is on things that matter.

    Args:
        found: the answers.
        posed: the questions with the true answers.
        pointing: of those questions whose things are known.

    Example:
        >>> posed = [Posed("is it?", ("yes",), "is"), Posed("how many?", ("2",), "how many")]
        >>> measured(["yes", "3"], posed, [Pointing("is", [False, True], [0.1, 0.5])])[0]
        {'accuracy': 0.5, 'pointing': 1.0, 'pointing_mean': 0.5, 'weight_inside': 0.5}
    """
    right = [agreement(answer, one.answers) for answer, one in zip(found, posed, strict=True)]
    metrics: dict[str, Metric] = {HEADLINE: _mean(right)}
    groups = {HEADLINE: _by_group([one.group for one in posed], right)}
    if pointing:
        last, kinds = [float(one.hits[-1]) for one in pointing], [one.group for one in pointing]
        metrics[_LAST], groups[_LAST] = _mean(last), _by_group(kinds, last)
        metrics[_MEAN] = _mean([sum(one.hits) / len(one.hits) for one in pointing])
        metrics[_SHARE] = _mean([one.shares[-1] for one in pointing])
    return metrics, groups


def baselines(train: Sequence[Posed], wanted: Sequence[Posed]) -> dict[str, Baseline]:
    """Return what the most frequent answer comes to, and the most frequent one to a question, word by word.

    Args:
        train: questions that are counted.
        wanted: those that are answered.

    Example:
        >>> train = [Posed("is it?", ("yes",), ""), Posed("is it?", ("yes",), ""), Posed("how many?", ("2",), "")]
        >>> found = baselines(train, train)
        >>> found["majority"].about, found["question"].metrics["accuracy"]
        ('always yes', 1.0)
    """
    began = time.perf_counter()
    every, own = Counter[str](), dict[str, Counter[str]]()
    for one in train:
        every.update(one.answers)
        own.setdefault(_key(one.question), Counter()).update(one.answers)
    usual = _best(every)
    best = {question: _best(counts) for question, counts in own.items()}
    return {
        "majority": _baseline([usual] * len(wanted), wanted, f"always {usual:.40}", began),
        "question": _baseline([best.get(_key(one.question), usual) for one in wanted], wanted, _ASKED, began),
    }


_ASKED = "the most frequent answer to the question, whatever the image"


def _baseline(found: Sequence[str], wanted: Sequence[Posed], about: str, began: float) -> Baseline:
    return Baseline(measured(found, wanted, [])[0], about, round(time.perf_counter() - began, 3))


def _key(question: str) -> str:
    return question.lower().rstrip(" ?.")


def _best(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda answer: (-counts[answer], answer))


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / max(1, len(numbers))


def _by_group(groups: Sequence[str], numbers: Sequence[float]) -> dict[str, float]:
    places: dict[str, list[float]] = {}
    for group, number in zip(groups, numbers, strict=True):
        if group:
            places.setdefault(group, []).append(number)
    return {group: _mean(own) for group, own in places.items()}
