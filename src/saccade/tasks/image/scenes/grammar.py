"""Sentences about a scene: their grammar, their truth, and the thing of each word.

    sentence = mention, {relation, mention}
    mention  = "a", colour, shape
    relation = "left of" | "right of" | "above" | "below"

A relation is between the mention before it and the mention behind it. A thing is left of another if its middle is left
of the other middle, whatever their heights, and likewise for the other relations. Things of a scene share neither row
nor column, so two relations hold between any two: one across, one down.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from saccade.tasks.image.scenes.scene import COLOURS, SHAPES, Box, Scene, Thing

__all__ = ["RELATIONS", "WORDS", "Mention", "Reading", "named", "read", "references", "related"]

RELATIONS = ("left of", "right of", "above", "below")
WORDS = tuple(sorted({"a", *COLOURS, *SHAPES, *" ".join(RELATIONS).split()}))
"""All words of sentences, sorted."""

_Look = tuple[str, str]  # a colour and a shape
_State = tuple[int, int]  # a bit for each thing of a mention so far, and the thing of the last mention
_Score = tuple[int, int]  # numbers of mentions with a thing, and of relations that hold


class Mention(NamedTuple):
    """The words of a mention, as `first` and exclusive `last`, and its thing.

    The number of the thing is -1 if the scene has no such thing, or other mentions name all such things.

    >>> Mention(0, 3, -1).thing
    -1
    """

    first: int
    last: int
    thing: int


class Reading(NamedTuple):
    """The mentions of a sentence, and whether it names every thing once and is true.

    >>> Reading((Mention(0, 3, -1),), exact=False).exact
    False
    """

    mentions: tuple[Mention, ...]
    exact: bool


def related(box: Box, other: Box) -> dict[str, bool]:
    """Return of each of `RELATIONS` whether it holds between two boxes.

    >>> related(Box(0, 50, 9, 59), Box(12, 0, 21, 9))
    {'left of': True, 'right of': False, 'above': False, 'below': True}
    """
    right = other.left + other.right - box.left - box.right  # between the middles, in half pixels
    down = other.top + other.bottom - box.top - box.bottom
    return {"left of": right > 0, "right of": right < 0, "above": down > 0, "below": down < 0}


def references(scene: Scene) -> tuple[str, ...]:
    """Return the different sentences that name all things of a scene.

    They name things from left to right, from right to left, from the top down and from the bottom up, each with its
    relation to the next one.

    Example:
        >>> one, other = Thing("red", "circle", Box(0, 0, 9, 9)), Thing("blue", "cross", Box(40, 30, 52, 42))
        >>> references(Scene((one, other)))[:3]
        ('a red circle left of a blue cross', 'a blue cross right of a red circle', 'a red circle above a blue cross')
        >>> references(Scene((one,)))
        ('a red circle',)
    """
    sentences = []
    for side, relations in ((0, ("left of", "right of")), (1, ("above", "below"))):
        names = [f"a {thing.colour} {thing.shape}" for thing in sorted(scene.things, key=lambda thing: thing.box[side])]
        sentences += [f" {relations[0]} ".join(names), f" {relations[1]} ".join(names[::-1])]
    return tuple(dict.fromkeys(filter(None, sentences)))


def read(sentence: str, scene: Scene) -> Reading | None:
    """Parse a sentence about a scene, None outside the grammar.

    If things look alike, the reading has the most mentions with a thing of their own, and among such readings the most
    true relations. A mention that repeats a thing has -1.

    Example:
        >>> scene = Scene((Thing("red", "circle", Box(0, 0, 9, 9)), Thing("blue", "cross", Box(40, 30, 52, 42))))
        >>> read("a blue cross below a red circle", scene)
        Reading(mentions=(Mention(first=0, last=3, thing=1), Mention(first=4, last=7, thing=0)), exact=True)
        >>> read("a blue cross above a red circle", scene).exact, read("a blue cross", scene).exact
        (False, False)
        >>> read("a blue square", scene).mentions[0].thing, read("a cross blue", scene)
        (-1, None)
    """
    parsed = _parsed(sentence.split())
    if parsed is None:
        return None
    looks, relations, starts = parsed
    things, held = _assigned(looks, relations, scene.things)
    complete = -1 not in things and len(things) == len(scene.things) and held == len(relations)
    mentions = tuple(Mention(start, start + 3, thing) for start, thing in zip(starts, things, strict=True))
    return Reading(mentions, complete)


def named(sentence: str, scene: Scene) -> int:
    """Return the number of things of a scene that a text names, whatever its grammar.

    A colour with a shape behind it names one thing of this look that is left.

    Example:
        >>> scene = Scene((Thing("red", "circle", Box(0, 0, 9, 9)), Thing("blue", "cross", Box(40, 30, 52, 42))))
        >>> named("a red circle and a red circle", scene), named("blue cross above a a red circle", scene)
        (1, 2)
    """
    mentions = Counter(pairwise(sentence.split()))
    return sum(min(mentions[look], count) for look, count in Counter(thing[:2] for thing in scene.things).items())


def _parsed(words: list[str]) -> tuple[list[_Look], list[str], list[int]] | None:
    """The looks of all mentions, their relations, and their first words."""
    looks: list[_Look] = []
    relations: list[str] = []
    starts: list[int] = []
    at = 0
    while True:
        article, colour, shape = (words[at : at + 3] + [""] * 3)[:3]
        if article != "a" or colour not in COLOURS or shape not in SHAPES:
            return None
        looks.append((colour, shape))
        starts.append(at)
        at += 3
        if at == len(words):
            return looks, relations, starts
        length = 2 if words[at] in ("left", "right") else 1
        relations.append(" ".join(words[at : at + length]))
        if relations[-1] not in RELATIONS:
            return None
        at += length


def _assigned(looks: list[_Look], relations: list[str], things: Sequence[Thing]) -> tuple[tuple[int, ...], int]:
    """The best things of all mentions, -1 for none, and the number of true relations.

    This is dynamic programming over the mentions. A state has the things of the mentions so far, and the last thing.
    """
    alike: dict[_Look, list[int]] = {look: [] for look in looks}
    for number, (colour, shape, _) in enumerate(things):
        alike.get((colour, shape), []).append(number)
    counts = Counter(looks)
    ways: dict[_State, tuple[_Score, tuple[int, ...]]] = {(0, -1): ((0, 0), ())}
    for look, relation in zip(looks, ["", *relations], strict=True):
        # a mention goes without a thing only if there are too few for all, which keeps the states few
        choices = alike[look] if len(alike[look]) >= counts[look] else [*alike[look], -1]
        following: dict[_State, tuple[_Score, tuple[int, ...]]] = {}
        for (named, last), ((matched, held), path) in ways.items():
            for thing in choices:
                if thing >= 0 and named >> thing & 1:
                    continue
                true = last >= 0 and thing >= 0 and related(things[last].box, things[thing].box)[relation]
                state = (named if thing < 0 else named | 1 << thing, thing)
                score = (matched + (thing >= 0), held + true)
                if state not in following or score > following[state][0]:
                    following[state] = score, (*path, thing)
        ways = following
    (_, held), path = max(ways.values(), key=lambda way: way[0])
    return path, held
