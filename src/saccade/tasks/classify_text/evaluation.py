"""How well a model classifies a split, and what it makes of one text."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saccade.tasks.batches import spread
from saccade.tasks.classify_text.answers import asked, classify
from saccade.train.randomness import derive
from saccade.train.task import Evaluation, Metric

if TYPE_CHECKING:
    from saccade.tasks.classify_text.task import ClassifyText

__all__ = ["evaluate", "f1", "sample"]


def evaluate(task: "ClassifyText", model: Any, split: str, limit: int | None) -> Evaluation:
    """Classify a split, or `limit` texts spread over it, and measure it, as a whole, by class and by group.

    Files may be sorted by label, so that their first texts would say nothing of the others.
    """
    texts, groups = task.held(split)
    chosen = spread(len(texts), limit) if limit is not None else range(len(texts))
    texts = [texts[place] for place in chosen]
    began = time.perf_counter()
    found = [int(probabilities.argmax()) for probabilities, _ in asked(model, texts)]
    seconds = time.perf_counter() - began
    wanted = [text.label for text in texts]
    metrics: dict[str, Metric] = {"accuracy": _share(found, wanted)}
    scores = {task.labels[label]: f1(found, wanted, label) for label in sorted(set(wanted) | set(found))}
    metrics["macro_f1"] = sum(scores.values()) / len(scores)
    names = [[task.labels[text.label], groups[place]] for text, place in zip(texts, chosen, strict=True)]
    by_group: dict[str, list[int]] = {}
    for place, own in enumerate(names):
        for name in filter(None, own):
            by_group.setdefault(name, []).append(place)
    accuracy = {name: _share([found[n] for n in own], [wanted[n] for n in own]) for name, own in by_group.items()}
    tokens = sum(text.size for text in texts)
    return Evaluation(metrics, {"accuracy": accuracy, "macro_f1": scores}, len(texts), tokens, seconds)


def f1(found: Sequence[int], wanted: Sequence[int], label: int) -> float:
    r"""Return the harmonic mean of a class's precision and recall, \(2 t / (f + w)\).

    Args:
        found: what was answered.
        wanted: what is true.
        label: the class, of which t answers are right, f were given, and w are true.

    Example:
        >>> f1([0, 0, 1], [0, 1, 1], 0)
        0.6666666666666666
    """
    right = sum(one == other == label for one, other in zip(found, wanted, strict=True))
    given = sum(one == label for one in found) + sum(other == label for other in wanted)
    return 2 * right / given if given else 0.0


def sample(task: "ClassifyText", model: Any, step: int) -> str:
    """Return a text of the validation split, its label and what it should be, in a line."""
    size = task.corpus.size("validation") or 1
    example = task.corpus.example("validation", derive(task.settings.seed, "sample", step) % size)
    [answer] = classify(task, model, [example.text])
    if answer is None:
        return ""
    best = answer.ranked()[0]
    told = f"{task.labels[best]} {float(answer.probabilities[best]):.2f} (expected: {example.label})"
    return " ".join(f"{example.text} → {told}".split())


def _share(found: Sequence[int], wanted: Sequence[int]) -> float:
    return sum(one == other for one, other in zip(found, wanted, strict=True)) / max(1, len(wanted))
