"""The built-in corpus: sentences about films, out of a small grammar in which the order of words decides.

    the plot was not very good                          -> negative
    although the cast was brilliant , the film is dull  -> negative
    the music seemed weak but i found the story moving  -> positive

A sentence is of one clause, or of two that contradict each other, of which the main one counts: what follows "but", or
what follows the clause with "although". A quarter of the sentences are of one clause that is negated, and a quarter of
two, of which each may be: what they mean, no word says by itself.
"""

import hashlib
from collections.abc import Sequence
from itertools import count

from saccade.data.dataset import check_index, check_split
from saccade.data.rows import text_hash
from saccade.tasks.classify_text.data.corpus import Example
from saccade.train.randomness import derive

__all__ = ["HELD_OUT", "Reviews"]

HELD_OUT = 2000  # examples of validation, and of test
_LABELS = ("negative", "positive")
_GOOD = ("good", "great", "brilliant", "moving", "funny", "clever", "charming", "gripping", "fresh", "wonderful")
_BAD = ("bad", "dull", "weak", "boring", "silly", "clumsy", "tedious", "flat", "lifeless", "awful")
_THINGS = (
    "film",
    "movie",
    "plot",
    "story",
    "cast",
    "music",
    "script",
    "ending",
    "dialogue",
    "acting",
    "pacing",
    "humour",
)
_VERBS = ("was", "is", "seemed", "felt")
_DEGREES = ("", "", "very", "really", "truly", "so")
_NEGATIONS = ("not", "never", "hardly", "anything but")
_BEFORE = ("", "", "", "honestly ,", "to me", "in the end", "i must say", "as a fan of the book i say")
_AFTER = ("", "", "", ".", "!", "from start to finish", "on the whole", "for a first film")
_TURNS = ("but", "although", "yet", "even though")
_FORMS = ("plain", "plain", "negated", "turned")
_VERSION = 1  # of the grammar: another one makes other data


class Reviews:
    """Reviews of a sentence each; the group of an example is what makes it hard: "plain", "negated" or "turned".

    Training is endless; validation and test hold 2,000 sentences each. Which split a sentence may be in follows from
    its hash: none is in two.

    Example:
        >>> Reviews().example("test", 0) == Reviews().example("test", 0)
        True
        >>> Reviews().size("validation"), Reviews().size("train")
        (2000, None)
    """

    note = ""
    labels: Sequence[str] = _LABELS
    GOOD: Sequence[str] = _GOOD
    """Words of praise."""

    def example(self, split: str, index: int) -> Example:
        """Return example number `index` of a split: always the same one.

        Args:
            split: "train", "validation" or "test".
            index: from 0 on; below `size(split)` where that is a number.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        for attempt in count():
            found = _written(_Dice(split, index, attempt))
            if _split(found.text) == split:
                return found
        raise AssertionError("some sentence is in every split")

    def size(self, split: str) -> int | None:
        """Return the number of examples in a split, None where it is endless.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return None if split == "train" else HELD_OUT

    @property
    def fingerprint(self) -> str:
        """What the examples are made of, in one string."""
        words = " ".join([*_GOOD, *_BAD, *_THINGS, *_VERBS, *_DEGREES, *_NEGATIONS, *_BEFORE, *_AFTER, *_TURNS])
        return f"reviews {_VERSION}, {hashlib.blake2b(words.encode(), digest_size=8).hexdigest()}"


class _Dice:
    """Draws that follow from what they are for."""

    def __init__(self, *labels: object) -> None:
        self.left = derive(0, "reviews", *labels, 0) * 2**63 + derive(0, "reviews", *labels, 1)

    def pick(self, table: Sequence[str]) -> str:
        """Return one of a table."""
        self.left, place = divmod(self.left, len(table))
        return table[place]


def _split(text: str) -> str:
    """The split that a sentence is in."""
    return {0: "validation", 1: "test"}.get(text_hash(text) % 20, "train")


def _written(dice: _Dice) -> Example:
    positive, form = dice.pick("ny") == "y", dice.pick(_FORMS)
    if form != "turned":
        clause = _clause(dice, positive=positive, negated=form == "negated")
    else:
        main, other = (
            _clause(dice, positive=side, negated=dice.pick("nyy") == "n") for side in (positive, not positive)
        )
        turn = dice.pick(_TURNS)
        clause = f"{other} {turn} {main}" if turn in ("but", "yet") else _subordinate(dice, turn, main, other)
    words = " ".join([dice.pick(_BEFORE), clause, dice.pick(_AFTER)])
    return Example(" ".join(words.split()), _LABELS[positive], form)


def _subordinate(dice: _Dice, turn: str, main: str, other: str) -> str:
    """The clause that counts before or behind the one that does not."""
    return f"{turn} {other} , {main}" if dice.pick("ny") == "n" else f"{main} , {turn} {other}"


def _clause(dice: _Dice, *, positive: bool, negated: bool) -> str:
    quality = dice.pick(_GOOD if positive != negated else _BAD)
    denied, degree, thing = dice.pick(_NEGATIONS) if negated else "", dice.pick(_DEGREES), dice.pick(_THINGS)
    degree = "" if denied == "anything but" else degree
    if dice.pick("nny") == "y":
        before = "did not find" if negated else "found"
        return f"i {before} the {thing} {degree} {quality}"
    return f"the {thing} {dice.pick(_VERBS)} {denied} {degree} {quality}"
