"""What the numbers say of a claim: three words, a reason, and what would decide where nothing does."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import get_args

from saccade.reports.statistics import LEVEL, Claimed, Result, judged

__all__ = [
    "NOTHING",
    "Claim",
    "Verdict",
    "bars",
    "both_bars",
    "claimed",
    "conclude",
    "decided",
    "nothing",
    "rule",
    "together",
    "told",
]


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of the claim.

    Args:
        result: "reproduced", "contradicted" or "not decided".
        reason: why, in a sentence.
    """

    result: Result
    reason: str

    def __post_init__(self) -> None:
        """Know three words, and no other."""
        assert self.result in get_args(Result), self.result


@dataclass(frozen=True)
class Claim:
    """A part of what a report claims.

    Args:
        text: what is claimed.
        found: what the numbers say, above 0 where it holds.
        told: the same as it was measured, in words.
    """

    text: str
    found: Claimed
    told: str


def together(results: Collection[Result]) -> Result:
    """Return what follows for a claim of several parts, from what is said of each.

    >>> together(["reproduced", "reproduced"]), together(["reproduced", "not decided"])
    ('reproduced', 'not decided')
    >>> together(["reproduced", "not decided", "contradicted"]), together([])
    ('contradicted', 'not decided')
    """
    if results and all(result == "reproduced" for result in results):
        return "reproduced"
    return "contradicted" if "contradicted" in results else "not decided"


def told(claims: Sequence[Claim]) -> str:
    """Return of each of a page's claims what is claimed, what is said of it, its numbers, and what would decide.

    What would decide all that are not decided is said once, at the end.
    """
    results = judged([one.found for one in claims])
    level = LEVEL / max(1, results.count("not decided"))
    judgements = list(zip(claims, results, strict=True))
    missing = [one.found.missing(level) if result == "not decided" else "" for one, result in judgements]
    alike = {text for text in missing if missing.count(text) > 1} - {""}
    texts = [
        f"{one.text}: {result}, {one.told}{f' ({text})' if text not in ('', *alike) else ''}"
        for (one, result), text in zip(judgements, missing, strict=True)
    ]
    return "; ".join([*texts, *sorted(alike)])


def conclude(claims: Sequence[Claim], combine: Callable[[Sequence[Result]], Result] = together) -> Verdict:
    """Return what follows from all claims of a page.

    Args:
        claims: they are judged together.
        combine: what follows for the whole from what is said of each; all have to hold if not given.
    """
    return Verdict(combine(judged([one.found for one in claims])), told(claims))


def claimed(claims: Sequence[Claim]) -> list[list[str]]:
    """Return header, and a row a claim: its numbers, and what follows.

    >>> from saccade.reports.statistics import Exact
    >>> claimed([Claim("a stays", Exact(True), "to 1e-16")])[1]
    ['a stays', 'to 1e-16', 'reproduced']
    """
    results = judged([one.found for one in claims])
    rows = [[one.text, one.told, result] for one, result in zip(claims, results, strict=True)]
    return [["claim", "measured", "verdict"], *rows]


def bars(of: str, seeds: int) -> str:
    """Return what ± is, for a page.

    Args:
        of: what examples are called.
        seeds: how many there are.

    Example:
        >>> bars("sentences", 1)[:61]
        '± is half of a 95% interval by the choice of sentences alone:'
    """
    if seeds == 1:
        alone = "there is one seed, and how trainings differ is in none of these errors"
        return f"± is half of a 95% interval by the choice of {of} alone: {alone}."
    return f"± is half of a 95% interval over seeds and {of} together, {seeds} seeds (Student's t)."


def both_bars(of: str, seeds: int) -> str:
    """Return what ± is where it stands behind scores and behind differences, for a page.

    >>> both_bars("images", 3)[:60]
    '± of a score is its standard deviation over seeds, of a diff'
    """
    _, whole = bars(of, seeds).split("± is ")
    return f"± of a score is its standard deviation over seeds, of a difference or a slope {whole}"


def rule(claims: int, *, seeded: bool = True) -> str:
    """Return how claims are judged, for a page.

    Args:
        claims: how many there are.
        seeded: whether they are of trainings, whose seeds differ; times are of none.

    >>> rule(6)[-77:]
    'Where trainings differ by chance one seed decides nothing: no error holds it.'
    """
    single = " Where trainings differ by chance one seed decides nothing: no error holds it." if seeded else ""
    if claims < 2:
        return (
            "The claim is reproduced where the 95% interval of what is to be above 0 lies above it, contradicted where "
            f"it lies below, and not decided else, which is by chance alone in at most 5 of 100 cases.{single}"
        )
    return (
        f"The ± of a claim is half of its 95% interval by itself; {claims} claims together are judged by wider ones as "
        "long as others are not decided (Holm 1979), so that any is decided by chance alone in at most 5 of 100 cases. "
        "A claim is reproduced where that interval of what is to be above 0 lies above it, contradicted where it lies "
        f"below, and not decided else, even where the printed one would decide it.{single}"
    )


def decided(claims: int) -> str:
    """Return what ± is and how claims are judged, for a page whose numbers vary with seeds alone.

    >>> decided(1)[:51]
    "± is half of a 95% interval over seeds (Student's t"
    """
    whole = " The report is reproduced where all are, and contradicted where one is." if claims > 1 else ""
    return f"± is half of a 95% interval over seeds (Student's t). {rule(claims)}{whole}"


def nothing(why: str) -> Verdict:
    """Return what is said where nothing can be concluded.

    >>> nothing("train longer").reason
    'nothing can be concluded: train longer'
    """
    return Verdict("not decided", f"nothing can be concluded: {why}")


NOTHING = nothing("no model got anything right; train them longer")
