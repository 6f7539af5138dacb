"""What a classifier has to beat: the most frequent class, and whatever else answers with classes."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from saccade.tasks.labels.metrics import measured
from saccade.train.task import Baseline, Metric

__all__ = ["majority", "timed", "usual"]


def majority(train: Sequence[int], wanted: Sequence[int], labels: Sequence[str]) -> Baseline:
    """Return what always answering the class that most of some training examples have comes to.

    Args:
        train: the numbers of training examples' classes; of classes that as many have, the lowest counts.
        wanted: those of the split that is measured.
        labels: names of the classes.

    Example:
        >>> majority([0, 1, 1], [1, 0, 1, 1], ["bad", "good"]).about
        'always good'
    """
    counts = Counter(train)
    best = min(counts, key=lambda label: (-counts[label], label))
    return timed(lambda: [best] * len(wanted), wanted, labels, f"always {labels[best]:.40}")


def timed(predict: Callable[[], Sequence[int]], wanted: Sequence[int], labels: Sequence[str], about: str) -> Baseline:
    """Return what some way of answering comes to.

    Args:
        predict: returns the numbers of the classes that it answers, as many as are wanted.
        wanted: those that are true.
        labels: names of the classes.
        about: what it does.
    """
    began = time.perf_counter()
    found = predict()
    metrics, _ = measured(found, wanted, labels, [""] * len(wanted))
    return Baseline(metrics, about, round(time.perf_counter() - began, 3))


def usual(
    train: Iterable[tuple[str, Sequence[str]]],
    asked: Sequence[str],
    measure: Callable[[Sequence[str]], Mapping[str, Metric]],
) -> dict[str, Baseline]:
    """Return what the most frequent answer comes to, and the most frequent one to a question, word by word.

    Args:
        train: questions with their answers, which are counted.
        asked: questions that are answered; one that was never asked has the most frequent answer of all.
        measure: what answers to all of them come to.

    Example:
        >>> train = [("is it?", ["yes"]), ("is it?", ["yes"]), ("how many?", ["2"])]
        >>> found = usual(train, ["how many ?"], lambda answers: {"right": float(answers == ["2"])})
        >>> found["majority"].about, found["question"].metrics["right"]
        ('always yes', 1.0)
    """
    began = time.perf_counter()
    every, own = Counter[str](), dict[str, Counter[str]]()
    for question, answers in train:
        every.update(answers)
        own.setdefault(_key(question), Counter()).update(answers)
    best = _best(every)
    known = {question: _best(counts) for question, counts in own.items()}

    def told(found: Sequence[str], about: str) -> Baseline:
        return Baseline(dict(measure(found)), about, round(time.perf_counter() - began, 3))

    return {
        "majority": told([best] * len(asked), f"always {best:.40}"),
        "question": told([known.get(_key(one), best) for one in asked], _BY_QUESTION),
    }


_BY_QUESTION = "the most frequent answer to the question, whatever it is about"


def _key(question: str) -> str:
    return question.lower().rstrip(" ?.")


def _best(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda answer: (-counts[answer], answer))
