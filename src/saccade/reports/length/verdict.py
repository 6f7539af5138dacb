"""Whether attention keeps a score from falling with length: decided by the numbers, whatever they are."""

from saccade.reports.slope import Slope
from saccade.reports.verdict import Verdict

__all__ = ["decide"]


def decide(attention: Slope | None, none: Slope | None, difference: Slope | None) -> Verdict:
    """Compare how the score falls with length, with attention and without.

    Reproduced: without attention it falls beyond twice the error; with attention a fall of half as much is excluded by
    twice the error; and the difference of the two changes with length beyond twice its own error. Contradicted: with
    attention it falls beyond twice the error, or without it rises so. That no fall was seen is no evidence that there
    is none: where it may be half as large as without attention, or larger, nothing is decided.

    Args:
        attention: the line through the scores of the model with attention; None if there are too few points.
        none: the same of the model without.
        difference: the line through what attention gains. It has an error of its own: the sentences are the same, so
            much of what the two scores owe to their choice is not in their difference.

    Example:
        >>> decide(Slope(-0.01, 0.05, 30.0), Slope(-0.8, 0.05, 30.0), Slope(0.79, 0.05, 0.0)).result
        'reproduced'
        >>> decide(Slope(-0.3, 0.05, 30.0), Slope(-0.8, 0.05, 30.0), Slope(0.5, 0.05, 0.0)).result
        'contradicted'
        >>> decide(Slope(-0.1, 0.2, 30.0), Slope(-0.8, 0.05, 30.0), Slope(0.7, 0.1, 0.0)).result
        'not decided'
    """
    if attention is None or none is None or difference is None:
        return Verdict("not decided", "there are too few sentences of different lengths to fit a line")
    less = difference.value > 2 * difference.error
    if attention.falls:
        how = "though less steeply" if less else "and not less steeply"
        return Verdict("contradicted", f"the score falls with length with attention too, {how} beyond twice the error")
    if none.value > 2 * none.error:
        return Verdict("contradicted", "without attention the score rises with length beyond twice the error")
    if not none.falls:
        return Verdict("not decided", "without attention the score does not fall with length beyond twice the error")
    if not less:
        reason = "the score falls without attention, but with attention not less, beyond twice the error"
        return Verdict("not decided", reason)
    if 2 * attention.error - attention.value >= -none.value / 2:
        gains = "the score falls with length without attention, and what attention gains grows, beyond twice the error"
        return Verdict("not decided", f"{gains}; but with attention a fall of half as much or more is not excluded")
    reason = "the score falls with length without attention; with it a fall of half as much is excluded"
    return Verdict("reproduced", f"{reason} by twice the error")
