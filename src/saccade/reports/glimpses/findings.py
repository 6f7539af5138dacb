"""What the rows of the report `glimpses` come to: errors, their differences, claims, and the verdict."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.difference import spread
from saccade.reports.eyes import wrong_shares
from saccade.reports.glimpses.noise import LEARNED
from saccade.reports.noise import ratio_text, variance_text
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.resampling import between
from saccade.reports.scoring import by_model
from saccade.reports.statistics import Estimate, judged
from saccade.reports.verdict import Claim as Part
from saccade.reports.verdict import Verdict, bars, conclude, nothing

__all__ = ["EYE", "Claim", "Findings", "summary"]

EYE = "ram"  # that all others are compared with
_PIECES, _WHOLE, _MOVED = 4, "8.09 − 4.08", "14.4 − 4.04"  # on 60 × 60 pixels: whole images, and random glimpses
_NOTHING = nothing("the eye got hardly more right than by chance; train it longer")


@dataclass(frozen=True)
class Claim:
    """That one model errs more often than another.

    Args:
        text: what is claimed.
        more: the model that is to err more often.
        fewer: the one that is to err less.
        paper: what the paper has for both.
        difference: of their errors.
    """

    text: str
    more: str
    fewer: str
    paper: str
    difference: Estimate


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = by_model(row for row in content["rows"] if row["measured"] == "paths")
        self.noises = [row for row in content["rows"] if row["measured"] == "noise" and row["estimators"]]
        self.first: dict[str, Any] = {name: own[0] for name, own in self.rows.items()}
        self.images: int = self.first[EYE]["images"]
        self.claims = self._claims()
        self.verdict = self._decide()

    def errors(self, name: str, key: str = "error") -> list[float]:
        """The errors of a model, one a seed."""
        return [row[key] for row in self.rows[name]]

    def table(self) -> list[list[str]]:
        """Header, and a row a model: its errors in percent, how it chooses, and what it cost."""
        body = []
        for name, rows in self.rows.items():
            errors = [spread(self.errors(name, key)) for key in ("error", "error_of_mean", "error_likeliest")]
            chosen = [_mean([row[key] for row in rows]) for key in ("entropy", "deviation")]
            body.append([name, *errors, *chosen, *costs(self.content, name)])
        paths = self.first[EYE]["paths"]
        errors = ["error of one path", f"of the mean of {paths}", "of the likeliest"]
        return [["model", *errors, "entropy, nats", "deviation", *COSTS], *body]

    def by_seed(self) -> list[list[str]]:
        """Header, and a row a model: the error of one path with every seed."""
        seeds = [str(row["seed"]) for row in self.rows[EYE]]
        body = [[name, *(f"{100 * error:.2f}" for error in self.errors(name))] for name in self.rows]
        return [["seed", *seeds], *body]

    def claimed(self) -> list[list[str]]:
        """Header, and a row a claim: the difference of the two errors, the paper's, and what follows."""
        results = judged([one.difference for one in self.claims])
        body = [
            [one.text, f"{one.more} − {one.fewer}", one.difference.long(), one.paper, result]
            for one, result in zip(self.claims, results, strict=True)
        ]
        return [["claim", "errors", "difference", "in the paper", "verdict"], *body]

    def noise(self) -> list[list[str]]:
        """Header, and a row for the weights of each eye: the variance of each estimator's gradient there."""
        names = list(dict.fromkeys(name for row in self.noises for name in row["estimators"]))
        body = [
            [f"{row['model']}, seed {row['seed']}", *(variance_text(row["estimators"].get(name)) for name in names)]
            for row in self.noises
        ]
        return [["at the weights of", *names], *body]

    def ratios(self) -> list[str]:
        """How each estimator's variance compares with the learned baseline's, at the weights of the eye, in words."""
        told = []
        for row in self.noises:
            if row["model"] != EYE or LEARNED not in row["estimators"]:
                continue
            learned = row["estimators"][LEARNED]["batches"]
            for name, other in row["estimators"].items():
                if name != LEARNED:
                    has = ratio_text(other["batches"], learned)
                    told.append(f"at the weights of {EYE}, seed {row['seed']}, {name} has {has}")
        return told

    def ratio(self) -> str:
        """The eye's error beside that of random glimpses, in words; "" without these."""
        if "random" not in self.rows:
            return ""
        eye, random = (statistics.fmean(self.errors(name)) for name in (EYE, "random"))
        share = "" if not eye else f", {random / eye:.2f} times as many"
        return f"the eye errs on {100 * eye:.2f}% of images, random glimpses on {100 * random:.2f}%{share}"

    def _claims(self) -> list[Claim]:
        """Those whose models were trained."""
        base = self.first[EYE]
        moved = _MOVED if base["pieces"] == _PIECES else ""
        wanted = [
            ("an eye that chooses where to look errs less than one that looks anywhere", "random", EYE, moved),
            ("with a coarse view it errs less than without", self._eye(scales=1), EYE, ""),
            ("with more glimpses it errs less", *self._ends("glimpses"), ""),
        ]
        for pieces in sorted({row["pieces"] for row in self.first.values()} - {0}):
            among = f"among {pieces} pieces of clutter"
            eye = self._eye(pieces=pieces) if pieces != base["pieces"] else EYE
            paper = (_WHOLE, _MOVED) if pieces == _PIECES else ("", "")
            for policy, text, figures in zip(
                ("whole", "random"), ("a network that sees everything", "one that looks anywhere"), paper, strict=True
            ):
                other = self._find(policy=policy, pieces=pieces)
                if (other, eye) != ("random", EYE):  # the first claim
                    wanted.append((f"{among}, an eye errs less than {text}", other, eye, figures))
        return [
            Claim(text, more, fewer, paper, self._difference(more, fewer))
            for text, more, fewer, paper in wanted
            if more in self.rows and fewer in self.rows
        ]

    def _difference(self, more: str, fewer: str) -> Estimate:
        return between(*([wrong_shares(row) for row in self.rows[name]] for name in (more, fewer)))

    def _eye(self, **changed: int) -> str:
        """The name of the eye that differs so from the one that all are compared with, "" if there is none."""
        base = self.first[EYE]
        return self._find(**{key: base[key] for key in ("policy", "glimpses", "scales", "pieces")} | changed)

    def _find(self, **about: Any) -> str:
        return next((name for name, row in self.first.items() if about.items() <= row.items()), "")

    def _ends(self, key: str) -> tuple[str, str]:
        """The names of the eyes with the fewest and the most, "" where there is one alone."""
        base = self.first[EYE]
        alike = {k: base[k] for k in ("policy", "glimpses", "scales", "pieces") if k != key}
        own = sorted((row[key], name) for name, row in self.first.items() if alike.items() <= row.items())
        return (own[0][1], own[-1][1]) if len(own) > 1 else ("", "")

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        if statistics.fmean(self.errors(EYE)) > 1 - 1.5 / self.first[EYE]["labels"]:
            return _NOTHING
        return conclude([Part(one.text, one.difference, one.difference.long()) for one in self.claims])

    @property
    def note(self) -> str:
        """What ± of a difference is."""
        return bars("images", len(self.rows[EYE]))


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.fmean(known):.2f}" if known else "-"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["error on test in percent, ± the standard deviation over seeds", *aligned(found.table()), ""]
    lines += ["variance of the gradient by the policy's weights, at equal cost", *aligned(found.noise()), ""]
    return "\n".join([*lines, *filter(None, [found.ratio()]), *ending(found.verdict, content)])
