"""Claims and their verdicts: three words, a reason, and seeds for a decision."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from studies.frame.statistics import LEVEL, Claimed, Result, judged


@dataclass(frozen=True)
class Verdict:
    """The verdict on a study's claim, with its reason in a sentence."""

    result: Result
    reason: str


@dataclass(frozen=True)
class Claim:
    """A part of a study's claim.

    Args:
        text: the claim in words.
        number: its statistics, above 0 if it holds.
        measured: the number in words.
    """

    text: str
    number: Claimed
    measured: str


def together(results: Collection[Result]) -> Result:
    """Return the verdict on a claim of several parts, all of them necessary.

    >>> together(["reproduced", "reproduced"]), together(["reproduced", "not decided"])
    ('reproduced', 'not decided')
    >>> together(["reproduced", "not decided", "contradicted"]), together([])
    ('contradicted', 'not decided')
    """
    if results and all(result == "reproduced" for result in results):
        return "reproduced"
    return "contradicted" if "contradicted" in results else "not decided"


def worded(claims: Sequence[Claim]) -> str:
    """Return claims with verdicts, numbers, and seeds or examples for a decision.

    If the same number would decide several claims, it stands once, at the end.
    """
    results = judged([claim.number for claim in claims])
    level = LEVEL / max(1, results.count("not decided"))
    judgements = list(zip(claims, results, strict=True))
    missing = [claim.number.missing(level) if result == "not decided" else "" for claim, result in judgements]
    alike = {text for text in missing if missing.count(text) > 1} - {""}
    texts = [
        f"{claim.text}: {result}, {claim.measured}{f' ({text})' if text not in ('', *alike) else ''}"
        for (claim, result), text in zip(judgements, missing, strict=True)
    ]
    return "; ".join([*texts, *sorted(alike)])


def conclude(claims: Sequence[Claim], combine: Callable[[Sequence[Result]], Result] = together) -> Verdict:
    """Return the verdict on all claims of a page, made of theirs by `combine`."""
    return Verdict(combine(judged([claim.number for claim in claims])), worded(claims))


def tabled(claims: Sequence[Claim]) -> list[list[str]]:
    """Return a table of claims, their numbers and verdicts."""
    results = judged([claim.number for claim in claims])
    rows = [[claim.text, claim.measured, result] for claim, result in zip(claims, results, strict=True)]
    return [["claim", "measured", "verdict"], *rows]


def bars(of: str, seeds: int) -> str:
    """Return the meaning of ± on a page; `of` is the word for examples."""
    if seeds == 1:
        return f"± is half of a 95% interval by the choice of {of} alone: one seed does not show how trainings differ."
    return f"± is half of a 95% interval over seeds and {of} together, {seeds} seeds (Student's t)."


def both_bars(of: str, seeds: int) -> str:
    """Return the meaning of ± of scores and of differences on a page."""
    _, whole = bars(of, seeds).split("± is ")
    return f"± of a score is its standard deviation over seeds, of a difference or a slope {whole}"


def rule(claims: int, *, seeded: bool = True) -> str:
    """Return the rule for the verdicts on a number of claims, for a page."""
    single = " If trainings differ by chance, one seed decides nothing." if seeded else ""
    if claims < 2:
        return (
            "The claim is reproduced if the 95% interval of its number lies above 0, contradicted if the interval lies "
            f"below 0, and not decided otherwise. Chance alone decides it in at most 5 of 100 cases.{single}"
        )
    return (
        f"The ± of a claim is half of its own 95% interval. The {claims} claims are judged together by wider intervals "
        "(Holm 1979), so that chance alone decides any of them in at most 5 of 100 cases. A claim is reproduced if its "
        "wider interval lies above 0, contradicted if it lies below 0, and not decided otherwise, even if the printed "
        f"interval would decide it.{single}"
    )


def decided(claims: int) -> str:
    """Return the meaning of ± and the rule, for a page with errors by seeds alone."""
    whole = " The study is reproduced if all claims are, and contradicted if one is." if claims > 1 else ""
    return f"± is half of a 95% interval over seeds (Student's t). {rule(claims)}{whole}"


def nothing(why: str) -> Verdict:
    """Return the verdict if nothing can be concluded."""
    return Verdict("not decided", f"nothing can be concluded: {why}")


NOTHING = nothing("no model got anything right; train them longer")
