"""What the rows of the report `bottleneck` come to: what is copied by length, what codes keep, and the verdict."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from saccade.reports.bottleneck.codes import AUTOENCODER, PIXELS, PRINCIPAL
from saccade.reports.bottleneck.copying import ATTENTION, SYMBOLS, VECTOR
from saccade.reports.pages import aligned, ending
from saccade.reports.resampling import Numbers, over_seeds
from saccade.reports.statistics import Estimate
from saccade.reports.verdict import Claim, Verdict, conclude, nothing

__all__ = ["LEARNED", "Findings", "summary"]

LEARNED = 3 / SYMBOLS
"""Share of the tokens of the shortest length that a model has to copy for anything to follow: three times a guess."""


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.lengths = [int(length) for length in self._rows(model=ATTENTION)[0]["lengths"]]
        self.codes = sorted({row["code"] for row in self._rows(model=AUTOENCODER)})
        self.claims = self._claims()
        self.verdict = self._decide()

    def right(self, model: str, length: int) -> Estimate:
        """The share of tokens that are copied right."""
        return over_seeds(self._copied(model, length, "right"))

    def bits(self, model: str, length: int) -> Estimate:
        """How many bits of a sequence have come through, at the least."""
        return over_seeds(self._copied(model, length, "bits"))

    def kept(self, model: str, code: int, what: str) -> Estimate:
        """What is measured of codes of a size: "error", or "right"."""
        return over_seeds(self._kept(model, code, what))

    def shown(self, model: str, code: int) -> list[str]:
        """The digits of the first seed's picture, as `codes.drawing` writes them."""
        found: list[str] = self._rows(model=model, code=code)[0]["shown"]
        return found

    def copies(self) -> list[list[str]]:
        """Header, and a row a model and measurement, by length."""
        models = (ATTENTION, VECTOR)
        shares = [
            [f"{one}, % right", *(self.right(one, length).times(100).text(1) for length in self.lengths)]
            for one in models
        ]
        bits = [[f"{one}, bits", *(self.bits(one, length).text(0) for length in self.lengths)] for one in models]
        return [["through", *map(str, self.lengths)], *shares, *bits]

    def code_table(self) -> list[list[str]]:
        """Header, and a row a size of the code: squared error by pixel, and how many digits are named right."""
        body = []
        for code in self.codes:
            cells = [str(code)]
            for what, decimals, scale in (("error", 4, 1.0), ("right", 1, 100.0)):
                cells.append(self.kept(AUTOENCODER, code, what).times(scale).text(decimals))
                cells.append(f"{scale * self.kept(PRINCIPAL, code, what).value:.{decimals}f}")
            body.append(cells)
        all_of_it = f"{100 * self._rows(model=PIXELS)[0]['right']:.1f}"
        header = ["code", "squared error", "the same, linear", "% named right", "the same, linear"]
        return [header, *body, ["all pixels", "0", "0", all_of_it, all_of_it]]

    def _rows(self, **about: Any) -> list[Mapping[str, Any]]:
        return [row for row in self.content["rows"] if about.items() <= row.items()]

    def _copied(self, model: str, length: int, what: str) -> Numbers:
        """One measurement of a length, seed by seed."""
        return np.array([row["lengths"][str(length)][what] for row in self._rows(model=model)])

    def _kept(self, model: str, code: int, what: str) -> Numbers:
        """One measurement of codes of a size, seed by seed."""
        return np.array([row[what] for row in self._rows(model=model, code=code)])

    def _falls(self, model: str) -> Numbers:
        """By how much a smaller share is right at the longest than at the shortest length, seed by seed."""
        return self._copied(model, self.lengths[0], "right") - self._copied(model, self.lengths[-1], "right")

    def _claims(self) -> list[Claim]:
        short, long = self.lengths[0], self.lengths[-1]
        more = self._copied(ATTENTION, long, "right") - self._copied(VECTOR, long, "right")
        without, attending = self._falls(VECTOR), self._falls(ATTENTION)
        small, large = self.codes[0], self.codes[-1]
        errors, names = (
            self._kept(AUTOENCODER, large, what) - self._kept(AUTOENCODER, small, what) for what in ("error", "right")
        )
        nearer = over_seeds(-errors)
        return [
            _points(f"of {long} tokens attention copies a larger share than one vector", more),
            _points(f"through one vector the share falls from {short} to {long} tokens", without),
            Claim(
                "with attention it falls by less than half of that", over_seeds(without / 2 - attending),
                _told(attending),
            ),
            Claim(f"digits come back nearer from {large} numbers than from {small}", nearer, nearer.text(4)),
            _points(f"codes of {large} numbers are named right more often than those of {small}", names),
        ]  # fmt: skip

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        short = self.lengths[0]
        poor = [model for model in (ATTENTION, VECTOR) if self.right(model, short).value < LEARNED]
        if poor:
            reason = f"{' and '.join(poor)}: fewer than {LEARNED:.0%} of {short} tokens are copied; train it longer"
            return nothing(reason)
        return conclude(self.claims)


def _points(text: str, found: Numbers) -> Claim:
    return Claim(text, over_seeds(found), _told(found))


def _told(found: Numbers) -> str:
    return f"{over_seeds(found).times(100).text(1)} points"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["copied by length", *aligned(found.copies()), "", "digits by the size of their code"]
    lines += [*aligned(found.code_table()), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
