"""Metrics of transcriptions: errors of words and of characters."""

from collections.abc import Sequence

from saccade.tasks.groups import by_group
from saccade.train.task import Metric

__all__ = ["HEADLINE", "character_errors", "measured", "word_errors"]

HEADLINE = "word_accuracy"


def word_errors(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Return the word error rate, by jiwer.

    It is (substitutions + deletions + insertions) / words of the references.

    >>> word_errors(["one two", "three"], ["one too", "three"])
    0.3333333333333333
    """
    import jiwer

    return float(jiwer.wer(list(references), list(outputs)))


def character_errors(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Return the character error rate, spaces included, by jiwer.

    >>> character_errors(["one two"], ["one too"])
    0.14285714285714285
    """
    import jiwer

    return float(jiwer.cer(list(references), list(outputs)))


def measured(
    outputs: Sequence[str], references: Sequence[str], groups: Sequence[str]
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return all metrics of texts, and the word error rate by group.

    >>> measured(["one two"], ["one two"], [""])
    ({'word_accuracy': 1.0, 'wer': 0.0, 'cer': 0.0}, {})
    """
    errors = word_errors(outputs, references)
    metrics: dict[str, Metric] = {HEADLINE: 1 - errors, "wer": errors, "cer": character_errors(outputs, references)}
    return metrics, {"wer": by_group(word_errors, outputs, references, groups)} if any(groups) else {}
