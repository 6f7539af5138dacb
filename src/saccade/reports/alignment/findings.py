"""What the row of the report `alignment` comes to: weight off the diagonal, words in another order, the verdict."""

from collections.abc import Mapping
from typing import Any

import torch

from saccade.reports.alignment.reordering import Block, blocks, by_words, crossed, off_diagonal
from saccade.reports.alignment.wording import WORDINGS
from saccade.reports.pages import aligned
from saccade.reports.verdict import Verdict

__all__ = ["MARGIN", "SURE", "Findings", "summary"]

MARGIN = 1.0  # source words from the diagonal that are as if on it
SURE = 0.5  # of a word's weight that is on one source word where it is said to be read there, or moved by it


class Findings:
    """What the row comes to.

    Args:
        content: of report.json, with its row.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        [self.row] = content["rows"]
        self.wording = WORDINGS[self.row.get("by", "attention")]  # rows of before there was a choice are of attention
        weights = torch.tensor(self.row["weights"], dtype=torch.float64)
        source, target = self.row["source"], self.row["target"]
        if self.row["pieces"]:
            weights, source, target = by_words(weights, source, target)
        self.weights, self.source, self.target = weights, list(source), list(target)
        self.unit = "words" if self.row["pieces"] else "tokens"
        self.far = off_diagonal(weights, MARGIN)
        self.most: list[int] = weights.argmax(-1).tolist()
        self.blocks = blocks(weights)
        self.verdict = self._decide()

    @property
    def away(self) -> float:
        """The share of all weight that is away from the diagonal."""
        return float(self.far.mean())

    @property
    def pairs(self) -> tuple[int, int]:
        """How many pairs of target words are crossed, and how many pairs there are."""
        count = len(self.target)
        return len(crossed(self.most)), count * (count - 1) // 2

    def words(self) -> list[list[str]]:
        """Header, and a row a target word: where its largest weight is, and its weight away from the diagonal."""
        body = [
            [word, self.source[most], _percent(float(row[most])), _percent(float(far))]
            for word, most, row, far in zip(self.target, self.most, self.weights, self.far, strict=True)
        ]
        said = self.wording
        return [["written", said.most, said.weight, f"beyond {MARGIN:g} of the diagonal, %"], *body]

    def reordered(self) -> list[list[str]]:
        """Header, and a row for each group of words that is read in another order than it is written."""
        body = [[self._written(block), self._read(block), _percent(block.sure)] for block in self.blocks]
        return [["written", self.wording.place, self.wording.least], *body]

    def _written(self, block: Block) -> str:
        return " ".join(self.target[place] for place in block.target)

    def _read(self, block: Block) -> str:
        return " ".join(self.source[place] for place in sorted({*block.source}))

    def _decide(self) -> Verdict:
        """Whether the largest weights run along the diagonal but where words are reordered: see docs/reports.md."""
        (count, all_pairs), sure = self.pairs, [block for block in self.blocks if block.sure > SURE]
        said, far = self.wording, _percent(self.away)
        told = f"{count} of {all_pairs} pairs of {self.unit} are crossed, {far}% {said.away}"
        if not self.blocks:
            return Verdict("contradicted", f"{said.ordered}; {told}")
        if 2 * count > all_pairs:
            return Verdict("contradicted", f"most pairs are crossed, so that this is no diagonal; {told}")
        named = ", ".join(
            f"“{self._written(block)}” {said.read} “{self._read(block)}”" for block in sure or self.blocks
        )
        if not sure:
            reason = f"{named}, with {_percent(SURE)}% of the {said.amount} or less on some of it; {told}"
            return Verdict("not decided", reason)
        return Verdict("reproduced", f"{named}; {told}")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [found.row["text"], found.row["translation"], "", *aligned(found.words()), ""]
    if found.blocks:
        lines += [*aligned(found.reordered()), ""]
    return "\n".join([*lines, f"{found.verdict.result}: {found.verdict.reason}"])
