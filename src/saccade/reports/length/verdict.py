"""Whether attention keeps a score from falling with length: decided by the numbers, whatever they are."""

from saccade.reports.slope import Slope
from saccade.reports.verdict import Verdict

__all__ = ["decide"]


def decide(attention: Slope | None, none: Slope | None, difference: Slope | None) -> Verdict:
    """Compare how the score falls with length, with attention and without.

    Reproduced: without attention it falls beyond twice the error, with attention it does not, and the difference of the
    two changes with length beyond twice its own error. In part: with attention it falls too, but less steeply, beyond
    the same error.

    Args:
        attention: the line through the scores of the model with attention; None if there are too few points.
        none: the same of the model without.
        difference: the line through what attention gains. It has an error of its own: the sentences are the same, so
            much of what the two scores owe to their choice is not in their difference.

    Example:
        >>> decide(Slope(-0.01, 0.05, 30.0), Slope(-0.8, 0.05, 30.0), Slope(0.79, 0.05, 0.0)).result
        'reproduced'
        >>> decide(Slope(-0.3, 0.05, 30.0), Slope(-0.8, 0.05, 30.0), Slope(0.5, 0.05, 0.0)).result
        'reproduced in part'
        >>> decide(Slope(0.0, 0.5, 30.0), Slope(-1.2, 0.5, 30.0), Slope(1.2, 0.7, 0.0)).result
        'not reproduced'
    """
    if attention is None or none is None or difference is None:
        return Verdict("not reproduced", "there are too few sentences of different lengths to fit a line")
    if not none.falls:
        return Verdict("not reproduced", "without attention the score does not fall with length beyond twice the error")
    if difference.value <= 2 * difference.error:
        reason = "the score falls without attention, but with attention not less, beyond twice the error"
        return Verdict("not reproduced", reason)
    if attention.falls:
        reason = "the score falls with length with attention too, though less steeply, beyond twice the error"
        return Verdict("reproduced in part", reason)
    reason = "the score falls with length without attention and, beyond twice the error, not with it"
    return Verdict("reproduced", reason)
