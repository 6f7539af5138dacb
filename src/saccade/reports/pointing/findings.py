"""What the rows of the report `pointing` come to: where weights point, what erasing takes away, and the verdict."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.reports.difference import spread, unpacked, unpacked_counts, unpacked_shares
from saccade.reports.pages import COSTS, aligned, costs, ending
from saccade.reports.pointing.measuring import ANY, GRADIENT, OTHERS, RANDOM, THINGS, WEIGHTS
from saccade.reports.resampling import between
from saccade.reports.scoring import by_model
from saccade.reports.statistics import Estimate, judged
from saccade.reports.verdict import Claim as Part
from saccade.reports.verdict import Verdict, both_bars, conclude, nothing

__all__ = ["NAMES", "Claim", "Findings", "summary"]

NAMES = {
    WEIGHTS: "by its weights",
    GRADIENT: "by gradients",
    THINGS: "by the things",
    OTHERS: "by other things",
    ANY: "by any things",
    RANDOM: "at random",
}
"""What orders of cells are called."""
_NOTHING = (
    "no model that attends is right more often than the best guess from the image and the kind of question, by its 95% "
    "interval; train them longer"
)


@dataclass(frozen=True)
class Claim:
    """That something is above 0 of one model.

    Args:
        model: of which it is claimed.
        text: what is claimed.
        difference: what is to be above 0.
    """

    model: str
    text: str
    difference: Estimate


class Findings:
    """What the rows come to."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = by_model(content["rows"])
        self.first: Mapping[str, Any] = content["rows"][0]
        self.claims = [claim for name in self.rows for claim in self._claims(name)]
        self.verdict = self._decide()

    def orders(self, name: str) -> list[str]:
        """What cells of a model are erased by, but for chance."""
        return [by for by in self.rows[name][0]["erased"] if by != RANDOM]

    def above_guess(self, name: str) -> Estimate:
        """By how much a model is right more often than the best guess from the image and the kind of question."""
        right = [unpacked(row["right"], row["questions"]) for row in self.rows[name]]
        guesses = [[row["blind"]] * row["questions"] for row in self.rows[name]]
        return between(right, guesses, paired=True)

    def learned(self, name: str) -> bool:
        """Whether it is so by the 95% interval; of one seed that of images counts."""
        return self.above_guess(name).known.beyond() > 0

    def pointing(self, name: str, by: str, beside: str = ANY) -> Estimate:
        """By how much the heaviest cell lies more often on what the answer depends on than one at random.

        Args:
            name: of the model.
            by: what weighs cells.
            beside: `ANY` for things of the image at random, `RANDOM` for cells.
        """
        key = "anything" if beside == ANY else "anywhere"
        hits = [unpacked(row["erased"][by]["hits"], row["examples"]) for row in self.rows[name]]
        return between(hits, [unpacked_shares(row[key]) for row in self.rows[name]], paired=True)

    def lost(self, name: str, by: str, key: str, place: int | None = None, beside: str = RANDOM) -> Estimate:
        """By how much erasing in an order takes more away than in another, of the same trained models.

        Args:
            name: of the model.
            by: what the order is from.
            key: "right" for accuracy, "change" for the probability of the answer that came first.
            place: of the number of cells that are erased; None for the mean over all numbers.
            beside: what the other order is from.
        """
        places = range(len(self.first["counts"])) if place is None else [place]
        sides = ([self._left(row, one, key, places) for row in self.rows[name]] for one in (beside, by))
        return between(*sides, paired=True)

    def models(self) -> list[list[str]]:
        """Header, and a row a model: its accuracy, how it is beside a guess, and what it cost."""
        body = []
        for name, rows in self.rows.items():
            accuracy, guesses = spread([row["accuracy"] for row in rows]), (rows[0]["chance"], rows[0]["blind"])
            told = [accuracy, *(f"{100 * guess:.2f}" for guess in guesses), self.above_guess(name).short()]
            body.append([name, *told, *costs(self.content, name)])
        return [["model", "accuracy, %", "by a guess, %", "by image and kind, %", "above that", *COSTS], *body]

    def pointed(self) -> list[list[str]]:
        """Header, and a row a model and map: how often its heaviest cell lies on what matters."""
        body = []
        for name, rows in self.rows.items():
            for by in self.orders(name):
                if by not in (THINGS, OTHERS, ANY):  # which lie on themselves
                    own = [row["erased"][by] for row in rows]
                    hits, elsewhere = (
                        spread([statistics.fmean(unpacked(row["erased"][by][key], row["examples"])) for row in rows])
                        for key in ("hits", "elsewhere")
                    )
                    inside = spread([statistics.fmean(unpacked_shares(one["inside"])) for one in own])
                    told = [hits, elsewhere]
                    for key, beside in (("anywhere", RANDOM), ("anything", ANY)):
                        share = 100 * statistics.fmean(unpacked_shares(rows[0][key]))
                        told += [f"{share:.2f}", self.pointing(name, by, beside).short()]
                    body.append([_named(name, by), *told, inside])
        chances = ("any cell, %", "difference", "any thing, %", "difference")
        header = ["cells", "heaviest on a thing, %", "on another, %", *chances, "of the weight on things, %"]
        return [header, *body]

    def erased(self) -> list[list[str]]:
        """Header, and a row a model, order and number of cells: what is left, and what was lost beyond chance."""
        body = []
        for name, rows in self.rows.items():
            for by in (*self.orders(name), RANDOM):
                for place, count in enumerate(self.first["counts"]):
                    right, change = (
                        [statistics.fmean(self._left(row, by, key, [place])) for row in rows]
                        for key in ("right", "change")
                    )
                    beyond = [
                        "" if by == RANDOM else self.lost(name, by, key, place).short() for key in ("right", "change")
                    ]
                    probability = [row["first"] + own for row, own in zip(rows, change, strict=True)]
                    told = spread(right), beyond[0], spread(probability), beyond[1]
                    body.append([_named(name, by), str(count), *told])
        lost = "lost beyond random"
        return [["cells", "erased", "accuracy, %", lost, "probability of the first answer, %", lost], *body]

    def claimed(self) -> list[list[str]]:
        """Header, and a row a claim: the difference, and what follows."""
        body = [[one.model, one.text, one.difference.long(), self.said(one)] for one in self.claims]
        return [["model", "claim", "difference", "verdict"], *body]

    def said(self, claim: Claim) -> str:
        """What the numbers say of a claim; of a model that is not shown to have learned they say nothing."""
        known = self.judgeable
        if claim not in known:
            return "not shown to have learned"
        return judged([one.difference for one in known])[known.index(claim)]

    @property
    def judgeable(self) -> list[Claim]:
        """Claims of models that are shown to have learned something: they are judged together."""
        return [claim for claim in self.claims if self.learned(claim.model)]

    @property
    def note(self) -> str:
        """What ± is."""
        return both_bars("images", len(next(iter(self.rows.values()))))

    def taken(self) -> tuple[list[str], list[Estimate], list[Estimate]]:
        """Names of all orders, and what each takes of accuracy and of the first answer's probability beyond chance."""
        pairs = [(name, by) for name in self.rows for by in self.orders(name)]
        accuracy, probability = ([self.lost(*pair, key) for pair in pairs] for key in ("right", "change"))
        return [_named(*pair) for pair in pairs], accuracy, probability

    def whole(self) -> str:
        """What there is before anything is erased, in words."""
        told = []
        for name, rows in self.rows.items():
            right = spread([statistics.fmean(unpacked(row["before"], row["examples"])) for row in rows])
            told.append(f"{name} {right}% right, the first answer's probability {spread([r['first'] for r in rows])}%")
        return f"before anything is erased: {'; '.join(told)}"

    def _left(self, row: Mapping[str, Any], by: str, key: str, places: Sequence[int]) -> list[float]:
        """What one run has left of each question: the share of draws that are right, or the probability's change."""
        draws = row["draws"] if by == RANDOM and key == "right" else 1
        unpack = unpacked_counts if key == "right" else unpacked_shares
        each = [unpack(row["erased"][by][key][place]) for place in places]
        return [sum(own) / (draws * len(own)) for own in zip(*each, strict=True)]

    def _claims(self, name: str) -> list[Claim]:
        """What is claimed of a model that attends."""
        if WEIGHTS not in self.orders(name):
            return []
        points = "its heaviest cell lies on what the answer depends on more often than a thing at random"
        erasing = "erasing its heaviest cells takes more of the first answer's probability than those of any things"
        return [
            Claim(name, points, self.pointing(name, WEIGHTS)),
            Claim(name, erasing, self.lost(name, WEIGHTS, "change", beside=ANY)),
        ]

    def _decide(self) -> Verdict:
        """Whether all that is claimed holds: see docs/reports.md."""
        if not (learned := self.judgeable):
            return nothing(_NOTHING)
        found = [Part(f"{one.model}: {one.text}", one.difference, one.difference.long()) for one in learned]
        verdict = conclude(found)
        without = dict.fromkeys(claim.model for claim in self.claims if claim not in learned)
        out = f"; left out, since not shown to be beyond the best guess: {', '.join(without)}" if without else ""
        return Verdict(verdict.result, f"{verdict.reason}{out}")


def _named(model: str, by: str) -> str:
    return f"{model}, {NAMES[by]}"


def summary(content: Mapping[str, Any]) -> str:
    """Return the tables and the verdict as text for a terminal."""
    found = Findings(content)
    lines = ["accuracy on test in percent", *aligned(found.models()), found.note, ""]
    lines += ["where cells with the most weight lie", *aligned(found.pointed()), ""]
    names, accuracy, probability = found.taken()
    header = ["lost beyond random, the mean over all numbers of cells", "accuracy", "probability"]
    body = [[name, a.short(), p.short()] for name, a, p in zip(names, accuracy, probability, strict=True)]
    return "\n".join([*lines, *aligned([header, *body]), *ending(found.verdict, content)])
