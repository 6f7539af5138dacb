"""What the rows of the report `isolation` come to: gradients, what was forgotten by each gate, and the verdict."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from saccade.reports.isolation.forgetting import GATES, LEARNED, OPTIMIZERS, SOFT, SPARSE, UNIFORM
from saccade.reports.isolation.gradients import WAYS
from saccade.reports.pages import aligned, ending
from saccade.reports.resampling import Numbers, over_seeds
from saccade.reports.statistics import Estimate, Exact
from saccade.reports.verdict import Claim, conclude

__all__ = ["EXACT", "Findings", "summary"]

EXACT = 1e-12
"""How far a gradient in float64 may be from its formula, over the largest: what rounding comes to is far below."""


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.gates = [name for name in (*GATES, *LEARNED) if self._rows(model=name)]
        self.claims = self._claims()
        self.verdict = conclude(self.claims)

    @property
    def graphs(self) -> dict[str, Mapping[str, Any]]:
        """The graphs that are drawn, by the normalizer's name."""
        return {row["model"]: row for row in self._rows(part="graph")}

    def seeds(self, name: str, optimizer: str, what: str) -> Estimate:
        """One measurement of a gate."""
        return over_seeds(self._values(name, optimizer, what))

    def forgotten(self, name: str, optimizer: str) -> Estimate:
        """Which share of the first task's test is right before the second is learned, and not after."""
        return over_seeds(self._forgotten(name, optimizer))

    def more(self, one: str, other: str, optimizer: str) -> Estimate:
        """By how much more is forgotten by one gate than by another, seed by seed."""
        return over_seeds(self._forgotten(one, optimizer) - self._forgotten(other, optimizer))

    def kept(self, name: str, optimizer: str) -> str:
        """In how many of the seeds the expert and the answers of the first task are the same bit for bit."""
        same = [bool(row["same"]) for row in self._rows(model=name, optimizer=optimizer)]
        return f"{sum(same)} of {len(same)}"

    def gradients(self) -> list[list[str]]:
        """Header, and a row a normalizer: how far gradients are from their formula, and what unread values are told."""
        body = []
        for name in WAYS:
            rows = self._rows(part="gradients", model=name)
            unread = f"{sum(row['zeros'] for row in rows):,} of {sum(row['values'] for row in rows):,}"
            most = [max(row[what] for row in rows) for what in ("deviation", "leak")]
            body.append([name, f"{most[0]:.1e}", unread, f"{most[1]:.1e}"])
        header = ["weights", "distance from the formula", "values that nothing reads", "largest gradient of these"]
        return [header, *body]

    def table(self, optimizer: str) -> list[list[str]]:
        """Header, and a row a gate: the first task before and after the second, in percent."""
        body = []
        for name in self.gates:
            shares = [self.seeds(name, optimizer, what).times(100).text(1) for what in ("before", "after")]
            weight = f"{self.seeds(name, optimizer, 'weight').value:.2g}"
            rest = (self.forgotten(name, optimizer), self.seeds(name, optimizer, "second"))
            percent = [one.times(100).text(1) for one in rest]
            moved = f"{self.seeds(name, optimizer, 'moved').value:.2g}"
            body.append([name, weight, *shares, *percent, moved, self.kept(name, optimizer)])
        header = ["gate", "weight", "first task, before", "after", "forgotten", "second task", "moved", "same bits"]
        return [header, *body]

    def _rows(self, **about: Any) -> list[Mapping[str, Any]]:
        return [row for row in self.content["rows"] if about.items() <= row.items()]

    def _values(self, name: str, optimizer: str, what: str) -> Numbers:
        return np.array([float(row[what]) for row in self._rows(model=name, optimizer=optimizer)])

    def _forgotten(self, name: str, optimizer: str) -> Numbers:
        return self._values(name, optimizer, "before") - self._values(name, optimizer, "after")

    def _more(self, one: str, other: str, optimizer: str, text: str) -> Claim:
        found = self.more(one, other, optimizer)
        return Claim(f"by {optimizer} {text}", found, f"{found.times(100).text(1)} points")

    def _claims(self) -> list[Claim]:
        gradients = self._rows(part="gradients")
        far, leak = (max(row[what] for row in gradients) for what in ("deviation", "leak"))
        same = all(row["same"] for row in self._rows(model=SPARSE))
        soft, less = "uniform weights forget more than soft ones", "soft weights forget more than sparse ones"
        return [
            Claim(
                "each value's gradient is its weights times those of the outputs", Exact(far <= EXACT),
                f"within {far:.1e} of it",
            ),
            Claim("a value that nothing reads, and its key, are told exactly 0", Exact(leak == 0), f"{leak:g}"),
            Claim(
                "by sparse weights the first task's expert and answers stay, bit for bit", Exact(same),
                " and ".join(f"{self.kept(SPARSE, name)} seeds by {name}" for name in OPTIMIZERS),
            ),
            self._more(UNIFORM, SOFT, "sgd", soft),
            self._more(SOFT, SPARSE, "sgd", less),
            self._more(SOFT, SPARSE, "adam", less),
        ]  # fmt: skip


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [*aligned(found.gradients()), ""]
    for name in OPTIMIZERS:
        lines += [f"trained by {name}, percent", *aligned(found.table(name)), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
