"""Whether attention keeps a score from falling with length: decided by the numbers, whatever they are."""

from saccade.reports.scoring import Score
from saccade.reports.verdict import Claim, Verdict, conclude

__all__ = ["HALF", "claims", "decide"]

HALF = 0.5
"""Of the fall without attention: a fall with attention that large has to be excluded."""


def claims(attention: Score, none: Score, told: dict[str, str]) -> list[Claim]:
    r"""Return what is claimed of how the score falls with length, \(b_a\) with attention and \(b_n\) without.

    .. math:: -b_n > 0, \qquad b_a - b_n / 2 > 0

    The second is a test of one side, against a margin that the other model sets (non-inferiority): that no fall was
    seen is no evidence that there is none. Where both hold, what attention gains grows with length, by half of the
    other's fall.

    Args:
        attention: the slope of the model with attention.
        none: the same of the model without.
        told: both slopes and what attention gains in words, by "attention", "none" and "gain".
    """
    falls = Claim("without attention the score falls", none.times(-1.0).found, told["none"])
    less = (attention - none.times(HALF)).found
    stays = Claim("with attention it falls by less than half of that, or not at all", less, told["attention"])
    return [falls, stays]


def decide(attention: Score | None, none: Score | None, told: dict[str, str]) -> Verdict:
    """Return what follows from both slopes, None of too few lengths for a line."""
    if attention is None or none is None:
        return Verdict("not decided", "there are too few sentences of different lengths to fit a line")
    return conclude(claims(attention, none, told))
