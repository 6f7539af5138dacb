"""What the rows of the report `memory` come to: bits wrong by length, what heads go by, and the verdict."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from saccade.reports.difference import Difference, spread
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.verdict import Verdict, together

__all__ = ["BARS", "CONTENT", "LEARNED", "LOCATION", "LSTM", "NEAR", "NTM", "Claim", "Findings", "summary"]

NTM, CONTENT, LOCATION, LSTM = "ntm", "ntm, content alone", "ntm, location alone", "lstm"
NEAR = 0.01
"""How many more of the bits may be wrong at the longest than at the trained length; guessing has half of them wrong."""
LEARNED = 0.1
"""Share of the bits that are wrong at the trained length, from which on a model has not learned it."""
BARS = "± of a score is its standard deviation over seeds, of a difference twice its standard error"
"""What stands behind numbers in tables."""
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
        >>> near = Claim("", Difference(0.002, 0.001, 0.001), most=0.01)
        >>> near.margin.mean, near.margin.result
        (0.008, 'reproduced')
    """

    text: str
    found: Difference
    most: float | None = None

    @property
    def margin(self) -> Difference:
        """What has to be above 0."""
        return self.found if self.most is None else replace(self.found, mean=self.most - self.found.mean)


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.unit = content, _UNITS[content["data"]]
        names = dict.fromkeys(row["model"] for row in content["rows"])
        self.rows = {name: [row["lengths"] for row in content["rows"] if row["model"] == name] for name in names}
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

    def error(self, name: str, length: int) -> Difference:
        """The share of bits that are wrong, as its difference from none."""
        found = self.wrong(name, length)
        return Difference.between(found, [[0.0] * len(row) for row in found])

    def more(self, one: str, other: str, length: int) -> Difference:
        """By how much a larger share is wrong of one model than of another, both of the same sequences."""
        return Difference.between(self.wrong(one, length), self.wrong(other, length))

    def rise(self, name: str) -> Difference:
        r"""By how much a larger share is wrong at the longest than at the trained length, both of the same models.

        .. math:: \sigma_s^2 = \frac{\operatorname{Var}_s (a_s - c_s)}{S} \qquad \sigma_i^2 = \sigma_a^2 + \sigma_c^2

        since the sequences are others, and the trainings the same.
        """
        long, short = self.error(name, self.longest), self.error(name, self.trained)
        pairs = zip(self.wrong(name, self.longest), self.wrong(name, self.trained), strict=True)
        each = [statistics.fmean(one) - statistics.fmean(other) for one, other in pairs]
        seeds = math.sqrt(statistics.variance(each) / len(each)) if len(each) > 1 else None
        return Difference(long.mean - short.mean, seeds, math.hypot(long.images, short.images))

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
        body = [[claim.text, claim.found.short(), self.said(claim)] for claim in self.claims]
        return [["claim", "difference, points", "verdict"], *body]

    def said(self, claim: Claim) -> str:
        """What the numbers say of one of all claims; one seed decides nothing."""
        return claim.margin.among(len(self.claims))

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
        own = {name: self.error(name, self.trained).mean for name in (NTM, LSTM)}
        already = f"of the bits wrong at {self.trained} {self.unit}, which it was trained on"
        if own[NTM] > LEARNED:
            reason = f"the NTM has {100 * own[NTM]:.1f}% {already}; train it longer"
            return Verdict("nothing can be concluded", reason)
        told = [f"{claim.text}: {self.said(claim)}, {claim.found.short()} points" for claim in self.claims]
        if len(self.rows[NTM]) == 1:
            told.insert(0, "one seed decides nothing")
        if own[LSTM] > LEARNED:
            told.append(f"the LSTM has {100 * own[LSTM]:.1f}% {already}")
        return Verdict(together([self.said(claim) for claim in self.claims]), "; ".join(told))


def _shares(about: Mapping[str, Any]) -> list[float]:
    """The share of bits that are wrong in each sequence of a group, all of one length."""
    bits = about["asked"] / about["sequences"]
    return [int(count) / bits for count in about["wrong"].split()]


def _spread(values: list[float]) -> str:
    around = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{around}"


def _beside(difference: Difference) -> str:
    return f"{difference.short()} ({_SAID[difference.result]})"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [f"bits wrong on test in percent, by {found.unit}: {BARS}", *aligned(found.table()), ""]
    lines += ["heads of the ntm, points", *aligned(found.addressing()), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
