"""What is measured of transcriptions: errors of words and of characters."""

from collections.abc import Sequence

from saccade.tasks.generate.baselines import most_frequent
from saccade.tasks.groups import by_group
from saccade.train.task import Baseline, Metric

__all__ = ["HEADLINE", "baseline", "character_errors", "measured", "word_errors"]

HEADLINE = "word_accuracy"


def word_errors(outputs: Sequence[str], references: Sequence[str]) -> float:
    r"""Return the word error rate, (substitutions + deletions + insertions) / words of the references; jiwer counts.

    Args:
        outputs: what the model wrote.
        references: what was said, as many; not all of them blank.

    Example:
        >>> word_errors(["one two", "three"], ["one too", "three"])
        0.3333333333333333
    """
    import jiwer

    return float(jiwer.wer(list(references), list(outputs)))


def character_errors(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Return the character error rate, spaces among the characters; jiwer counts.

    >>> character_errors(["one two"], ["one too"])
    0.14285714285714285
    """
    import jiwer

    return float(jiwer.cer(list(references), list(outputs)))


def measured(
    outputs: Sequence[str], references: Sequence[str], groups: Sequence[str]
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return all that is measured of texts, and the word error rate by group, where there are groups.

    >>> measured(["one two"], ["one two"], [""])
    ({'word_accuracy': 1.0, 'wer': 0.0, 'cer': 0.0}, {})
    """
    errors = word_errors(outputs, references)
    metrics: dict[str, Metric] = {HEADLINE: 1 - errors, "wer": errors, "cer": character_errors(outputs, references)}
    return metrics, {"wer": by_group(word_errors, outputs, references, groups)} if any(groups) else {}


def baseline(train: Sequence[str], references: Sequence[str]) -> Baseline:
    """Return what writing the most frequent text whatever is said comes to.

    Args:
        train: training texts; of those that are as frequent, the first in the alphabet counts.
        references: what was said.

    Example:
        >>> baseline(["no", "yes", "yes"], ["yes", "no", "well yes", "no"]).about
        "always 'yes'"
    """

    def measure(text: str) -> dict[str, Metric]:
        errors = word_errors([text] * len(references), references)
        return {HEADLINE: 1 - errors, "wer": errors}

    return most_frequent(train, measure)
