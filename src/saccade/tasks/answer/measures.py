"""What is measured of answers to questions about images: how right they are, and where was looked."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor

from saccade.models.answerer import Looked
from saccade.models.padded import Padded
from saccade.tasks.answer.batches import Batch
from saccade.tasks.answer.data import Asked, Posed
from saccade.tasks.answer.data.agreement import agreement
from saccade.tasks.image.influence import Score, cells_of, gradients, images_of
from saccade.tasks.image.pointing import Pointed, pointed
from saccade.tasks.image.scenes.scene import Box
from saccade.tasks.image.shown import shares
from saccade.train.task import Baseline, Metric

__all__ = ["HEADLINE", "Pointing", "baselines", "measured", "pointing"]

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
        """Judge the weights `(reads, rows, columns)` of one question by boxes in an image of a height and width.

        A read without any weight is none, such as those at words that are padding.
        """
        found = [pointed(each, boxes, size) for each in weights if bool(each.any())] or [Pointed(False, 0.0)]
        return cls(group, [one.hit for one in found], [one.share for one in found])


def pointing(
    model: Any,
    batch: Batch,
    asked: Sequence[Asked],
    looked: Looked | None,
    log_probs: Callable[..., Tensor],
    said: Sequence[str],
) -> list[Pointing]:
    """Return where a model pointed, of those questions of a batch whose things are known.

    Of a model that attends its weights count; of one that does not, how much each cell moves the answer.

    Args:
        model: in evaluation mode.
        batch: the questions.
        asked: the same, as the data have them; fewer are looked at if there are fewer.
        looked: what was looked at; None of a model that does not attend.
        log_probs: of some answers and what they are to.
        said: the model's answers to the questions of the batch.
    """
    rows = [row for row, one in enumerate(asked) if one.boxes]
    if not rows:
        return []
    if looked is None:
        weights, shape = _moved(model, batch, rows, partial(log_probs, [said[row] for row in rows]))
    else:
        weights, shape = None if looked.weights is None else looked.weights[rows], looked.shape
    if weights is None or shape is None:
        return []
    height, width = batch.visual.values.shape[2:]
    pairs = zip((asked[row] for row in rows), weights.unflatten(-1, shape).cpu(), strict=True)
    return [Pointing.of(one.posed.group, maps, one.boxes, (height, width)) for one, maps in pairs]


def _moved(
    model: Any, batch: Batch, rows: Sequence[int], score: Score
) -> tuple[Tensor | None, tuple[int, int] | None]:
    """How much each cell of some images moves the answer to its question, `(rows, 1, cells)`, and the cells' shape."""
    source, question = images_of(batch.visual, rows), Padded(*(part[rows] for part in batch.question))
    shape = cells_of(model, source)
    found = None if shape is None else gradients(source, score, question).seen
    return None if found is None else shares(found, shape)[:, None], shape


def measured(
    found: Sequence[str], posed: Sequence[Posed], seen: Sequence[Pointing]
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return the accuracy of answers, as a whole and by kind of question, and how often reads pointed at what matters.

    Of several reads `pointing` is the last one's, `pointing_mean` the mean of all; `weight_inside` is how much of the
    last one's weight is on things that matter.

    Args:
        found: the answers.
        posed: the questions with the true answers.
        seen: where reads pointed, of those questions whose things are known.

    Example:
        >>> posed = [Posed("is it?", ("yes",), "is"), Posed("how many?", ("2",), "how many")]
        >>> measured(["yes", "3"], posed, [Pointing("is", [False, True], [0.1, 0.5])])[0]
        {'accuracy': 0.5, 'pointing': 1.0, 'pointing_mean': 0.5, 'weight_inside': 0.5}
    """
    right = [agreement(answer, one.answers) for answer, one in zip(found, posed, strict=True)]
    metrics: dict[str, Metric] = {HEADLINE: _mean(right)}
    groups = {HEADLINE: _by_group([one.group for one in posed], right)}
    if seen:
        last, kinds = [float(one.hits[-1]) for one in seen], [one.group for one in seen]
        metrics[_LAST], groups[_LAST] = _mean(last), _by_group(kinds, last)
        metrics[_MEAN] = _mean([sum(one.hits) / len(one.hits) for one in seen])
        metrics[_SHARE] = _mean([one.shares[-1] for one in seen])
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
