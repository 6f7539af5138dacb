"""What the numbers say of a claim."""

from dataclasses import dataclass

__all__ = ["NOTHING", "Verdict"]


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of the claim.

    Args:
        result: "reproduced", "contradicted", "not decided" or, where no model has learned anything, "nothing can be
            concluded"; of reports whose claim is exact in part also "reproduced in part" and "not reproduced".
        reason: why, in a sentence.
    """

    result: str
    reason: str


NOTHING = Verdict("nothing can be concluded", "no model got anything right; train them longer")
