"""Built-in reviews: sentences about films, labelled by their word order.

They come from a small grammar:

    the plot was not very good                          -> negative
    although the cast was brilliant , the film is dull  -> negative
    the music seemed weak but i found the story moving  -> positive

A sentence has one clause, or two that contradict each other. Then the main clause counts: the one after "but", or the
one beside the clause with "although". A quarter of the sentences have one clause, which is negated. A quarter have two,
and each may be negated. No single word tells the label of these.
"""

import hashlib
from collections.abc import Sequence
from itertools import count

from saccade.data.generated import Generated, first_in
from saccade.tasks.labels.labelled import LabelledText
from saccade.train.randomness import derive

__all__ = ["BAD", "GOOD", "HELD_OUT", "NEGATIONS", "TURNS", "Reviews"]

HELD_OUT = 2000
"""Examples of validation, and of test."""

_LABELS = ("negative", "positive")
GOOD = ("good", "great", "brilliant", "moving", "funny", "clever", "charming", "gripping", "fresh", "wonderful")
BAD = ("bad", "dull", "weak", "boring", "silly", "clumsy", "tedious", "flat", "lifeless", "awful")
_PARTS = ("plot", "story", "cast", "music", "script", "ending", "dialogue", "acting", "pacing", "humour")
_THINGS = ("film", "movie", *_PARTS)
_VERBS = ("was", "is", "seemed", "felt")
_DEGREES = ("", "", "very", "really", "truly", "so")
NEGATIONS = ("not", "never", "hardly", "anything but")
_BEFORE = ("", "", "", "honestly ,", "to me", "in the end", "i must say", "as a fan of the book i say")
_AFTER = ("", "", "", ".", "!", "from start to finish", "on the whole", "for a first film")
TURNS = ("but", "although", "yet", "even though")
_FORMS = ("plain", "plain", "negated", "turned")
_VERSION = 1  # of the grammar


class Reviews(Generated[LabelledText]):
    """Reviews of one sentence: "plain", "negated", or "turned" (two clauses).

    Training is endless. Validation and test hold 2,000 sentences each. The hash of a sentence decides its split, so no
    sentence is in two.

    Example:
        >>> Reviews().example("test", 0) == Reviews().example("test", 0)
        True
        >>> Reviews().size("validation"), Reviews().size("train")
        (2000, None)
    """

    labels: Sequence[str] = _LABELS

    def make(self, split: str, index: int) -> LabelledText:
        drawn = (_written(_Dice(split, index, attempt)) for attempt in count())
        return first_in(split, drawn, lambda example: example.text)

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        words = " ".join([*GOOD, *BAD, *_THINGS, *_VERBS, *_DEGREES, *NEGATIONS, *_BEFORE, *_AFTER, *TURNS])
        return f"reviews {_VERSION}, {hashlib.blake2b(words.encode(), digest_size=8).hexdigest()}"


class _Dice:
    """Draws from tables, seeded by labels."""

    def __init__(self, *labels: object) -> None:
        self.left = derive(0, "reviews", *labels, 0) * 2**63 + derive(0, "reviews", *labels, 1)

    def pick(self, table: Sequence[str]) -> str:
        self.left, index = divmod(self.left, len(table))
        return table[index]


def _written(dice: _Dice) -> LabelledText:
    positive, form = dice.pick("ny") == "y", dice.pick(_FORMS)
    if form != "turned":
        clause = _clause(dice, positive=positive, negated=form == "negated")
    else:
        main, other = (
            _clause(dice, positive=side, negated=dice.pick("nyy") == "n") for side in (positive, not positive)
        )
        turn = dice.pick(TURNS)
        clause = f"{other} {turn} {main}" if turn in ("but", "yet") else _subordinate(dice, turn, main, other)
    words = " ".join([dice.pick(_BEFORE), clause, dice.pick(_AFTER)])
    return LabelledText(" ".join(words.split()), _LABELS[positive], form)


def _subordinate(dice: _Dice, turn: str, main: str, other: str) -> str:
    """Write the main clause before or after the other one."""
    return f"{turn} {other} , {main}" if dice.pick("ny") == "n" else f"{main} , {turn} {other}"


def _clause(dice: _Dice, *, positive: bool, negated: bool) -> str:
    quality = dice.pick(GOOD if positive != negated else BAD)
    denied, degree, thing = dice.pick(NEGATIONS) if negated else "", dice.pick(_DEGREES), dice.pick(_THINGS)
    degree = "" if denied == "anything but" else degree
    if dice.pick("nny") == "y":
        before = "did not find" if negated else "found"
        return f"i {before} the {thing} {degree} {quality}"
    return f"the {thing} {dice.pick(_VERBS)} {denied} {degree} {quality}"
