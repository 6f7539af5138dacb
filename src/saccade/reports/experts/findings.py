"""What the rows of the report `experts` come to: balance and perplexity over seeds, and the verdict."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.experts.paper import PAPER, Row
from saccade.reports.pages import aligned, costs, ending
from saccade.reports.resampling import over_seeds
from saccade.reports.scoring import metric_name
from saccade.reports.statistics import Estimate, judged
from saccade.reports.verdict import NOTHING, Claim, Verdict, together
from saccade.reports.verdict import told as each_told

__all__ = ["DENSE", "Findings", "Seeds", "summary"]

DENSE = "no experts"
WITHOUT, BOTH = PAPER[0].name, PAPER[3].name  # rows of the table: no loss, and what the paper trains with
_MEASURED = (("importance", "CV(importance)"), ("load", "CV(load)"), ("most", "max / mean load"))


@dataclass(frozen=True)
class Seeds:
    """One measurement of a model with several seeds.

    Args:
        values: one a seed.

    Example:
        >>> Seeds([0.5, 0.7]).text(2), Seeds([0.5]).text(1)
        ('0.60 ± 0.14', '0.5')
    """

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float:
        """Their standard deviation, 0 of a single one."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    def text(self, decimals: int) -> str:
        """Return mean and standard deviation."""
        around = f" ± {self.deviation:.{decimals}f}" if len(self.values) > 1 else ""
        return f"{self.mean:.{decimals}f}{around}"

    def above(self, other: "Seeds") -> Estimate:
        """Return by how much the mean is above another's.

        >>> Seeds([3.0, 3.2]).above(Seeds([1.0, 1.1])).text()
        '2.05 ± 0.69'
        """
        return over_seeds(self.values, other.values)


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = content["rows"]
        self.models = list(dict.fromkeys(row["model"] for row in self.rows))
        scored = next(row for row in self.rows if "score" in row)
        self.name, self.pairs = metric_name(scored["metric"]), scored["sentences"]
        self.verdict = self._decide()

    def seeds(self, model: str, name: str) -> Seeds | None:
        """One measurement of a model, None where it has none."""
        values = [row[name] for row in self.rows if row["model"] == model and name in row]
        return Seeds(values) if values else None

    def text(self, model: str, name: str, decimals: int) -> str:
        """The same as a cell of a table."""
        found = self.seeds(model, name)
        return "" if found is None else found.text(decimals)

    def table(self) -> list[list[str]]:
        """Header, and a row a model, as the paper's table has them."""
        header = ["losses", "test perplexity", self.name, *(told for _, told in _MEASURED), "the same on test"]
        rows = []
        for model in self.models:
            balance = [self.text(model, name, 2) for name, _ in _MEASURED]
            scores = [self.text(model, name, 4) for name in ("perplexity", "score")]
            rows.append([model, *scores, *balance, self._tested(model)])
        return [header, *rows]

    def _tested(self, model: str) -> str:
        """The largest load over the mean on the test split, without noise, the mean over mixtures, as a cell."""
        runs = [run["metrics"] for run in self.content["runs"].values() if run["model"] == model]
        loads = [[load for name, load in run.items() if name.startswith("expert_load")] for run in runs]
        return Seeds([statistics.fmean(own) for own in loads]).text(2) if all(loads) else ""

    def knowledge(self) -> list[list[str]]:
        """Header, and a row a model: what of the choice of an expert is known from what."""
        names = ["token", "token by chance", "group", "group by chance"]
        if not self.has_chance:
            names = ["token", "group"]
        shown = [model for model in self.models if self.seeds(model, "token")]
        rows = [[model, *(self.text(model, name, 2) for name in names)] for model in shown]
        return [["losses", *(f"known from the {name}" for name in names)], *rows]

    @property
    def has_chance(self) -> bool:
        """Whether what shuffled experts share was measured, which older reports have not."""
        return any("token by chance" in row for row in self.rows)

    def expenses(self) -> list[list[str]]:
        """Header, and a row a model: what it cost."""
        runs = self.content["runs"].values()
        rows = []
        for model in self.models:
            speed = statistics.fmean(run["tokens_per_second"]["train"] for run in runs if run["model"] == model)
            rows.append([model, *costs(self.content, model), f"{speed:,.0f}"])
        return [["losses", "seeds", "steps", "seconds", "parameters", "tokens/s in training"], *rows]

    def claims(self) -> list[Claim]:
        """Each part of the claim, and the difference that it is about."""
        found = []
        for row in self._losses():
            for name, told in (("load", "CV(load)"), ("perplexity", "perplexity")):
                without, other = self.seeds(WITHOUT, name), self.seeds(row.name, name)
                assert without is not None
                assert other is not None
                lower = without.above(other)
                found.append(Claim(f"{told} is lower with {row.name} than with no loss", lower, f"by {lower.text(4)}"))
        return found

    def _losses(self) -> list[Row]:
        return [row for row in PAPER if row.name in self.models and row.name != WITHOUT]

    def _decide(self) -> Verdict:
        """Whether losses even loads out, and whether that is better: see docs/reports.md."""
        if not any(row["score"] > 0 for row in self.rows if "score" in row):
            return NOTHING
        claims = self.claims()
        judgements = list(zip(claims, judged([one.found for one in claims]), strict=True))
        results = {
            part: together([result for claim, result in judgements if claim.text.startswith(part)])
            for part in ("CV(load)", "perplexity")
        }
        most = [self.seeds(name, "most") for name in (WITHOUT, BOTH)]
        told = f"the largest load is {most[0].mean:.1f} times the mean without losses" if most[0] else ""
        told += f" and {most[1].mean:.2f} times with both" if most[1] else ""
        said = (
            f"that losses even loads out is {results['CV(load)']}, that they lower perplexity {results['perplexity']}"
        )
        return Verdict(together([result for _, result in judgements]), f"{said}; {told}")


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    tables = [*aligned(found.table()), "", *aligned(found.knowledge()), "", *aligned(found.expenses())]
    lines = ["± the standard deviation over seeds", *tables, "", *each_told(found.claims()).split("; ")]
    return "\n".join([*lines, *ending(found.verdict, content)])
