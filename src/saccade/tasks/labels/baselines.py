"""What a classifier has to beat: the most frequent class, and whatever else answers with classes."""

import time
from collections import Counter, defaultdict
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
    questions: Sequence[str],
    measure: Callable[[Sequence[str]], Mapping[str, Metric]],
) -> dict[str, Baseline]:
    """Measure the most frequent answer, and the most frequent answer to the same question.

    Args:
        train: training questions with their answers.
        questions: of the split. A question that training lacks gets the most frequent answer.
        measure: from an answer to each question to metrics.

    Example:
        >>> train = [("is it?", ["yes"]), ("is it?", ["yes"]), ("how many?", ["2"])]
        >>> baselines = usual(train, ["how many ?"], lambda answers: {"accuracy": float(answers == ["2"])})
        >>> baselines["majority"].about, baselines["question"].metrics["accuracy"]
        ('always yes', 1.0)
    """
    began = time.perf_counter()
    counts, by_question = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for question, answers in train:
        counts.update(answers)
        by_question[_key(question)].update(answers)
    always = _best(counts)
    best = {question: _best(answers) for question, answers in by_question.items()}

    def baseline(answers: Sequence[str], about: str) -> Baseline:
        return Baseline(dict(measure(answers)), about, round(time.perf_counter() - began, 3))

    same = "the most frequent answer to the question, whatever it is about"
    return {
        "majority": baseline([always] * len(questions), f"always {always:.40}"),
        "question": baseline([best.get(_key(question), always) for question in questions], same),
    }


def _key(question: str) -> str:
    return question.lower().rstrip(" ?.")


def _best(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda answer: (-counts[answer], answer))
