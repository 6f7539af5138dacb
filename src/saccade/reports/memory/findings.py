"""What the rows of the report `memory` come to: bits wrong by length, what heads go by, and the verdict."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saccade.reports.difference import spread
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.resampling import Cell, between, contrast
from saccade.reports.scoring import by_model
from saccade.reports.statistics import Estimate, judged
from saccade.reports.verdict import Claim as Part
from saccade.reports.verdict import Verdict, both_bars, conclude, nothing

__all__ = ["CONTENT", "LEARNED", "LOCATION", "LSTM", "NEAR", "NTM", "Claim", "Findings", "summary"]

NTM, CONTENT, LOCATION, LSTM = "ntm", "ntm, content alone", "ntm, location alone", "lstm"
NEAR = 0.01
"""How many more of the bits may be wrong at the longest than at the trained length; guessing has half of them wrong."""
LEARNED = 0.1
"""Share of the bits that are wrong at the trained length, from which on a model has not learned it."""
SEQUENCES = "sequences"
_UNITS = {"copy": "vectors", "recall": "items"}
_SAID = {"reproduced": "worse", "contradicted": "better", "not decided": "not decided"}


@dataclass(frozen=True)
class Claim:
    """That a difference is above 0, or no larger than something.

    Args:
        text: what is claimed.
        found: the difference.
        most: how large it may be; None: it has to be above 0.

    Example:
        >>> near = Claim("", Estimate(0.002, ()), most=0.01)
        >>> near.margin.value, near.margin.result
        (0.008, 'reproduced')
    """

    text: str
    found: Estimate
    most: float | None = None

    @property
    def margin(self) -> Estimate:
        """What has to be above 0."""
        return self.found if self.most is None else self.found.less(self.most).times(-1.0)


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.unit = content, _UNITS[content["data"]]
        self.rows = {name: [row["lengths"] for row in rows] for name, rows in by_model(content["rows"]).items()}
        self.groups: list[str] = list(self.rows[NTM][0])
        self.lengths = sorted(int(group) for group in self.groups if group.isdecimal())
        self.trained, self.longest = self.lengths[0], self.lengths[-1]
        self.claims = self._claims()
        self.verdict = self._decide()

    def sequences(self, group: str) -> int:
        """How many sequences of the test split are in a group."""
        count: int = self.rows[NTM][0][group]["sequences"]
        return count

    def wrong(self, name: str, length: int) -> list[list[float]]:
        """Which share of its bits is wrong in each sequence of one length; a row a seed."""
        return [_shares(row[str(length)]) for row in self.rows[name]]

    def error(self, name: str, length: int) -> Estimate:
        """The share of bits that are wrong."""
        return contrast([Cell(name, self.wrong(name, length))], SEQUENCES)

    def more(self, one: str, other: str, length: int) -> Estimate:
        """By how much a larger share is wrong of one model than of another, both of the same sequences."""
        return between(self.wrong(one, length), self.wrong(other, length), of=SEQUENCES)

    def rise(self, name: str) -> Estimate:
        """By how much a larger share is wrong at the longest than at the trained length: the sequences are others, and
        the trainings the same.
        """
        ends = ((self.longest, 1.0), (self.trained, -1.0))
        return contrast([Cell(name, self.wrong(name, at), sign, at) for at, sign in ends], SEQUENCES)

    def table(self) -> list[list[str]]:
        """Header, and a row a model: the bits wrong in percent by length, and how many more than of the NTM."""
        body = []
        for name, rows in self.rows.items():
            scores = [spread([row[group]["bit_error"] for row in rows]) for group in self.groups]
            body.append([name, *scores, "" if name == NTM else self.more(name, NTM, self.longest).short()])
        return [["model", *self.groups, f"at {self.longest} more than {NTM}"], *body]

    def bits(self) -> list[list[str]]:
        """Header, and a row a model: what a sequence costs in bits, by length."""
        body = []
        for name, rows in self.rows.items():
            body.append([name, *(_spread([row[group]["bits"] for row in rows]) for group in self.groups)])
        return [["model", *self.groups], *body]

    def models(self) -> list[list[str]]:
        """Header, and a row a model: what it cost."""
        return [["model", *COSTS], *([name, *costs(self.content, name)] for name in self.rows)]

    def addressing(self) -> list[list[str]]:
        """Header, and a row a kind of addressing alone: how much more is wrong than by both, at either end."""
        ends = (self.trained, self.longest)
        body = [[name, *(_beside(self.more(name, NTM, length)) for length in ends)] for name in (CONTENT, LOCATION)]
        return [["heads", *(f"at {length} {self.unit} more than by both" for length in ends)], *body]

    def claimed(self) -> list[list[str]]:
        """Header, and a row a claim: the difference in points, and what follows."""
        results = judged([claim.margin for claim in self.claims])
        pairs = zip(self.claims, results, strict=True)
        body = [[claim.text, claim.found.short(), result] for claim, result in pairs]
        return [["claim", "difference, points", "verdict"], *body]

    @property
    def note(self) -> str:
        """What ± is."""
        return both_bars(SEQUENCES, len(self.rows[NTM]))

    def _claims(self) -> list[Claim]:
        long, short = f"at {self.longest} {self.unit}", f"at {self.trained}"
        near = f"the NTM has at most {100 * NEAR:g} in 100 bits more wrong {long} than {short}"
        return [
            Claim(f"the LSTM has more bits wrong {long} than the NTM", self.more(LSTM, NTM, self.longest)),
            Claim(near, self.rise(NTM), NEAR),
            Claim(f"the LSTM has more bits wrong {long} than {short}", self.rise(LSTM)),
        ]

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        own = {name: self.error(name, self.trained).value for name in (NTM, LSTM)}
        already = f"of the bits wrong at {self.trained} {self.unit}, which it was trained on"
        if own[NTM] > LEARNED:
            reason = f"the NTM has {100 * own[NTM]:.1f}% {already}; train it longer"
            return nothing(reason)
        parts = [Part(one.text, one.margin, f"{one.found.short()} points") for one in self.claims]
        verdict, already = conclude(parts), f"; the LSTM has {100 * own[LSTM]:.1f}% {already}"
        return Verdict(verdict.result, f"{verdict.reason}{already if own[LSTM] > LEARNED else ''}")


def _shares(about: Mapping[str, Any]) -> list[float]:
    """The share of bits that are wrong in each sequence of a group, all of one length."""
    bits = about["asked"] / about["sequences"]
    return [int(count) / bits for count in about["wrong"].split()]


def _spread(values: list[float]) -> str:
    around = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{around}"


def _beside(difference: Estimate) -> str:
    return f"{difference.short()} ({_SAID[difference.result]})"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [f"bits wrong on test in percent, by {found.unit}", *aligned(found.table()), found.note, ""]
    lines += ["heads of the ntm, points", *aligned(found.addressing()), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
