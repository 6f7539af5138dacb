"""What the numbers say of a claim."""

from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["NOTHING", "Verdict", "together"]


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


def together(results: Collection[str]) -> str:
    """Return what follows for a claim of several parts, from what is said of each.

    >>> together(["reproduced", "reproduced"]), together(["reproduced", "not decided"])
    ('reproduced', 'not decided')
    >>> together(["reproduced", "not decided", "contradicted"]), together([])
    ('contradicted', 'not decided')
    """
    if results and all(result == "reproduced" for result in results):
        return "reproduced"
    return "contradicted" if "contradicted" in results else "not decided"


NOTHING = Verdict("nothing can be concluded", "no model got anything right; train them longer")
