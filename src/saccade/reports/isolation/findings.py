"""What the rows of the report `isolation` come to: gradients, what was forgotten by each gate, and the verdict."""

from collections.abc import Mapping
from typing import Any

from saccade.reports.interval import Claim, Interval, verdict
from saccade.reports.isolation.forgetting import GATES, LEARNED, OPTIMIZERS, SOFT, SPARSE, UNIFORM
from saccade.reports.isolation.gradients import WAYS
from saccade.reports.pages import aligned, ending

__all__ = ["EXACT", "Findings", "summary"]

EXACT = 1e-12
"""How far a gradient in float64 may be from its formula, over the largest: what rounding comes to is far below."""


class Findings:
    """What the rows come to.

    Args:
        content: of report.json, every row in it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.gates = [name for name in (*GATES, *LEARNED) if self._rows(model=name)]
        self.claims = self._claims()
        self.verdict = verdict(self.claims)

    @property
    def graphs(self) -> dict[str, Mapping[str, Any]]:
        """The graphs that are drawn, by the normalizer's name."""
        return {row["model"]: row for row in self._rows(part="graph")}

    def seeds(self, name: str, optimizer: str, what: str) -> Interval:
        """One measurement of a gate."""
        return Interval([float(row[what]) for row in self._rows(model=name, optimizer=optimizer)])

    def forgotten(self, name: str, optimizer: str) -> Interval:
        """Which share of the first task's test is right before the second is learned, and not after."""
        rows = self._rows(model=name, optimizer=optimizer)
        return Interval([row["before"] - row["after"] for row in rows])

    def more(self, one: str, other: str, optimizer: str) -> Interval:
        """By how much more is forgotten by one gate than by another, seed by seed."""
        pairs = zip(self.forgotten(one, optimizer).values, self.forgotten(other, optimizer).values, strict=True)
        return Interval([a - b for a, b in pairs])

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
            shares = [self.seeds(name, optimizer, what).text(1, 100) for what in ("before", "after")]
            weight = f"{self.seeds(name, optimizer, 'weight').mean:.2g}"
            rest = [self.forgotten(name, optimizer).text(1, 100), self.seeds(name, optimizer, "second").text(1, 100)]
            moved = f"{self.seeds(name, optimizer, 'moved').mean:.2g}"
            body.append([name, weight, *shares, *rest, moved, self.kept(name, optimizer)])
        header = ["gate", "weight", "first task, before", "after", "forgotten", "second task", "moved", "same bits"]
        return [header, *body]

    def _rows(self, **about: Any) -> list[Mapping[str, Any]]:
        return [row for row in self.content["rows"] if about.items() <= row.items()]

    def _claims(self) -> list[Claim]:
        gradients = self._rows(part="gradients")
        far, leak = (max(row[what] for row in gradients) for what in ("deviation", "leak"))
        same = all(row["same"] for row in self._rows(model=SPARSE))
        soft, less = self.more(UNIFORM, SOFT, "sgd"), self.more(SOFT, SPARSE, "sgd")
        adam = self.more(SOFT, SPARSE, "adam")
        return [
            Claim(
                "each value's gradient is its weights times those of the outputs", exact=far <= EXACT,
                told=f"within {far:.1e} of it",
            ),
            Claim("a value that nothing reads, and its key, are told exactly 0", exact=leak == 0, told=f"{leak:g}"),
            Claim(
                "by sparse weights the first task's expert and answers stay, bit for bit", exact=same,
                told=" and ".join(f"{self.kept(SPARSE, name)} seeds by {name}" for name in OPTIMIZERS),
            ),
            Claim(
                "by sgd uniform weights forget more than soft ones", soft, told=f"{soft.text(1, 100)} points"
            ),
            Claim("by sgd soft weights forget more than sparse ones", less, told=f"{less.text(1, 100)} points"),
            Claim("by adam soft weights forget more than sparse ones", adam, told=f"{adam.text(1, 100)} points"),
        ]  # fmt: skip


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = [*aligned(found.gradients()), ""]
    for name in OPTIMIZERS:
        lines += [f"trained by {name}, percent", *aligned(found.table(name)), ""]
    return "\n".join([*lines, *ending(found.verdict, content)])
