"""What Shazeer et al. 2017 report in their table 6, of 256 experts, of which a token takes 4."""

from typing import NamedTuple

__all__ = ["CHECKED", "PAPER", "Row"]


class Row(NamedTuple):
    """A row of the table.

    Args:
        importance_weight, load_weight: of the two losses.
        perplexity: on the test split.
        importance, load: coefficients of variation.
        most: the largest load over the mean.
    """

    importance_weight: float
    load_weight: float
    perplexity: float
    importance: float
    load: float
    most: float

    @property
    def name(self) -> str:
        """What the report calls it.

        >>> PAPER[0].name, PAPER[1].name
        ('no loss', 'importance 0.2')
        """
        parts = [f"{name} {weight:g}" for name, weight in zip(("importance", "load"), self[:2], strict=True) if weight]
        return ", ".join(parts) or "no loss"


PAPER = (
    Row(0.0, 0.0, 39.8, 3.04, 3.01, 17.80),
    Row(0.2, 0.0, 35.6, 0.06, 0.17, 1.47),
    Row(0.0, 0.2, 35.7, 0.22, 0.04, 1.15),
    Row(0.1, 0.1, 35.6, 0.06, 0.05, 1.14),
    Row(0.01, 0.01, 35.7, 0.48, 0.11, 1.37),
    Row(1.0, 1.0, 35.7, 0.03, 0.02, 1.07),
)
"""The rows, in the paper's order."""

CHECKED = "The paper's figures are quoted after five public transcriptions of its table that agree."
