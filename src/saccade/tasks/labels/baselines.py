"""Baselines of tasks that answer with labels."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from saccade.tasks.labels.metrics import measured
from saccade.train.task import Baseline, Metric

__all__ = ["majority", "timed", "usual"]


def majority(train: Sequence[int], targets: Sequence[int], labels: Sequence[str]) -> Baseline:
    """Measure the most frequent label.

    Args:
        train: numbers of the labels of training examples. The lowest of several most frequent ones counts.
        targets: numbers of the labels of the split.
        labels: their names.

    Example:
        >>> majority([0, 1, 1], [1, 0, 1, 1], ["bad", "good"]).about
        'always good'
    """
    counts = Counter(train)
    best = min(counts, key=lambda label: (-counts[label], label))
    return timed(lambda: [best] * len(targets), targets, labels, f"always {labels[best]:.40}")


def timed(predict: Callable[[], Sequence[int]], targets: Sequence[int], labels: Sequence[str], about: str) -> Baseline:
    """Measure and time a simple method.

    Args:
        predict: returns a number of a label for each target.
        targets: numbers of the true labels.
        labels: their names.
        about: the method in a few words.
    """
    began = time.perf_counter()
    predictions = predict()
    metrics, _ = measured(predictions, targets, labels, [""] * len(targets))
    return Baseline(metrics, about, round(time.perf_counter() - began, 3))


def usual(
    train: Iterable[tuple[str, Sequence[str]]],
    questions: Sequence[str],
    measure: Callable[[Sequence[str]], Mapping[str, Metric]],
    name: str = "question",
    about: str = "the most frequent answer to the question, whatever it is about",
) -> dict[str, Baseline]:
    """Measure the most frequent answer, and that to the same question.

    A question may also be a word, and its answer a tag.

    Args:
        train: training questions with their answers.
        questions: of the split. A question that training lacks gets the most frequent answer.
        measure: from an answer to each question to metrics.
        name: of the second baseline.
        about: the second baseline in a few words.

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

    def baseline(answers: Sequence[str], text: str) -> Baseline:
        return Baseline(dict(measure(answers)), text, round(time.perf_counter() - began, 3))

    return {
        "majority": baseline([always] * len(questions), f"always {always:.40}"),
        name: baseline([best.get(_key(question), always) for question in questions], about),
    }


def _key(question: str) -> str:
    return question.lower().rstrip(" ?.")


def _best(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda answer: (-counts[answer], answer))
