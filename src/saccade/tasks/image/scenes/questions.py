"""Questions about scenes, of which neither the question nor the image alone tells the answer.

    existence   is there a red circle ?                      yes, no
    colour      what colour is the circle ?                  a colour; the scene has one circle
    counting    how many red things are there ?              0 to 4
                how many circles are there ?
    relation    is the red circle left of the blue square ?  yes, no; the scene has one of each
    place       where is the red circle ?                    top left, ...; the scene has one; in training only

Questions about places are no part of what is balanced, and no measure: they are asked to learn from, because a relation
teaches where to look only once it is known what to do with what is seen there.

What is balanced: the kind and the question are drawn evenly; then, whatever the question, its answer and the number of
things are drawn evenly and independently. Who knows the question and the number of things knows nothing of the answer.
The scene is drawn as one at random, given that it has so many things and that the question can be asked and has this
answer: scenes for two answers differ by nothing but what the answer says. Things stand in the order from left to right,
which the image tells as well.

What is not, as it cannot be: a scene has what its question is about (one circle, four red things), so that the image
alone tells something of what was asked, and thereby of the answer. With 4 to 6 things, the best guess from the image
alone is right in 30% of all questions, where always "yes" is in 25%; told the kind too (`BLIND`), in 53% (existence),
65% (colour), 56% (counting) and 50% (relation). And half of an answer helps: where "is there a red circle ?" is asked,
a scene with a red thing and with a circle has a red circle more often than not.
"""

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, permutations
from math import comb
from typing import NamedTuple, TypeVar

import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.scenes.grammar import RELATIONS, holds, related
from saccade.tasks.image.scenes.scene import COLOURS, MOST, SHAPES, SIDE, Scene, Thing, boxes_at_random

__all__ = ["ANSWERS", "BLIND", "KINDS", "PLACES", "WORDS", "Question", "ask", "ask_more", "chance"]

_MOST_COUNTED = 4
_EXISTENCE, _COLOUR = "is there a {} {} ?", "what colour is the {} ?"
_COUNTING, _RELATION = "how many {} are there ?", "is the {} {} {} the {} {} ?"
_PLACE = "where is the {} {} ?"
_BY_KIND = {
    "existence": ("no", "yes"),
    "colour": tuple(COLOURS),
    "counting": tuple(map(str, range(_MOST_COUNTED + 1))),
    "relation": ("no", "yes"),
}
_NEEDED = {"existence": 1, "colour": 1, "counting": _MOST_COUNTED, "relation": 2}  # things that any answer may take
#: The kinds of questions that are measured.
KINDS = tuple(_BY_KIND)
#: By kind, how often the best guess is right that knows the image and the kind, but not the question: of 4 to 6 things.
BLIND = {"existence": 0.53, "colour": 0.65, "counting": 0.56, "relation": 0.50}
#: All answers to these, sorted.
ANSWERS = tuple(sorted({answer for answers in _BY_KIND.values() for answer in answers}))
#: The answers to questions about places: the quarter of the image that a thing's middle lies in.
PLACES = ("top left", "top right", "bottom left", "bottom right")
_PLURALS = {shape: "crosses" if shape == "cross" else f"{shape}s" for shape in SHAPES}
#: All words of these, sorted.
WORDS = tuple(
    sorted(
        {"?", "a", "are", "colour", "how", "is", "many", "the", "there", "things", "what"}
        | {*COLOURS, *SHAPES, *_PLURALS.values(), *" ".join(RELATIONS).split()}
    )
)

_T = TypeVar("_T")
_NUMBERS = 6 + MOST  # random ones that a question and the looks of its scene take at most
_Look = tuple[str, str]  # a colour and a shape
_Numbers = Mapping[str | _Look, tuple[int, ...]]
_LOOKS: tuple[_Look, ...] = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)


class Question(NamedTuple):
    """A question about a scene, and its answer.

    >>> Question("is there a red circle ?", "yes", "existence", (2,)).answer
    'yes'
    """

    text: str
    """Words with a space between, the question mark one of them."""
    answer: str
    kind: str
    things: tuple[int, ...]
    """The numbers of the things that the answer depends on, where a model should look: those that are asked for or
    counted, from left to right; none if there are none."""


def chance(kind: str) -> float:
    """Return the accuracy of guessing, whatever is guessed: 1 / how many answers a question of a kind has.

    Args:
        kind: one of `KINDS`.

    Raises:
        ArgumentError: if there is no such kind.

    Example:
        >>> chance("relation"), chance("counting")
        (0.5, 0.2)
    """
    _check_kinds((kind,))
    return 1 / len(_BY_KIND[kind])


def ask(
    generator: torch.Generator, least: int = 4, most: int = 6, kinds: Sequence[str] = KINDS
) -> tuple[Scene, Question]:
    """Return a scene and a question about it: question, answer and number of things are drawn first, each evenly.

    Args:
        generator: gives all random numbers, in one draw.
        least, most: how many things there may be: at least 4 where things are counted, 2 where they are related, else
            1, so that every answer is possible in every number of things; at most 8.
        kinds: of questions, each as likely.

    Raises:
        ArgumentError: if there are no such kinds, or not such numbers of things.

    Example:
        >>> scene, question = ask(torch.Generator().manual_seed(5))
        >>> question
        Question(text='how many yellow things are there ?', answer='1', kind='counting', things=(0,))
        >>> [f"{thing.colour} {thing.shape}" for thing in scene.things]
        ['yellow square', 'cyan square', 'blue cross', 'magenta triangle', 'cyan circle']
    """
    _check_kinds(kinds)
    needed = max(_NEEDED[kind] for kind in kinds)
    if not needed <= least <= most <= MOST:
        raise ArgumentError(f"least, most: expected {needed} ≤ least ≤ most ≤ {MOST}, got {least} and {most}")
    numbers = torch.rand(_NUMBERS + 5 * MOST, generator=generator, dtype=torch.float64).tolist()
    draws = iter(numbers[:_NUMBERS])
    kind = _one(kinds, draws)
    answer, count = _one(_BY_KIND[kind], draws), _one(range(least, most + 1), draws)
    wanted = _WANTED[kind](answer, count, draws)
    boxes = boxes_at_random(count, numbers[_NUMBERS:])
    if wanted.relation and holds(wanted.relation, boxes[0], boxes[1]) != (answer == "yes"):
        boxes[:2] = boxes[1], boxes[0]  # just one of the two orders has the answer, and both are as likely
    looks = [*wanted.looks, *(_one(wanted.others, draws) for _ in range(count - len(wanted.looks)))]
    places = sorted(range(count), key=lambda place: boxes[place].left)
    scene = Scene(tuple(Thing(*looks[place], boxes[place]) for place in places))
    things = tuple(number for number, place in enumerate(places) if place < len(wanted.looks))
    return scene, Question(wanted.text, answer, kind, things)


def ask_more(generator: torch.Generator, scene: Scene, count: int) -> list[Question]:
    """Return questions about a scene: a kind, an answer that it has there, and a question with this answer are drawn.

    Beside the kinds of `ask` there are questions about places.

    Each is drawn evenly from what the scene has, which is not even: a scene rarely has four of anything. They are there
    to learn from, beside the question that a scene was made for, as seeing takes most of the time.

    Args:
        generator: gives all random numbers, in one draw.
        scene: what is asked about.
        count: how many questions are wanted.

    Example:
        >>> drawn = torch.Generator().manual_seed(5)
        >>> scene, _ = ask(drawn)
        >>> [(question.text, question.answer) for question in ask_more(drawn, scene, 2)]
        [('what colour is the triangle ?', 'magenta'), ('where is the yellow square ?', 'top left')]
    """
    draws = iter(torch.rand(3 * count, generator=generator, dtype=torch.float64).tolist())
    things, numbers = scene.things, _numbers(scene.things)
    kinds = [kind for kind, every in _ASKABLE.items() if next(every(things, numbers), None)]
    known: dict[str, dict[str, list[_Asked]]] = {}
    found = []
    for _ in range(count):
        kind = _one(kinds, draws)
        if kind not in known:
            known[kind] = _askable(kind, things, numbers)
        answer = _one(tuple(known[kind]), draws)
        text, words, asked = _one(known[kind][answer], draws)
        found.append(Question(text.format(*words), answer, kind, asked))
    return found


class _Asked(NamedTuple):
    """A question that a scene has, written once it is drawn."""

    text: str
    words: Sequence[str]  # that stand in it
    things: tuple[int, ...]


def _askable(kind: str, things: Sequence[Thing], numbers: _Numbers) -> dict[str, list[_Asked]]:
    """All questions of a kind that can be asked about things, by their answers."""
    found: dict[str, list[_Asked]] = {}
    for answer, asked in _ASKABLE[kind](things, numbers):
        found.setdefault(answer, []).append(asked)
    return found


def _all_existence(_: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Asked]]:
    for look in _LOOKS:
        found = numbers.get(look, ())
        yield "yes" if found else "no", _Asked(_EXISTENCE, look, found)


def _all_colour(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Asked]]:
    for shape in SHAPES:
        found = numbers.get(shape, ())
        if len(found) == 1:
            yield things[found[0]].colour, _Asked(_COLOUR, (shape,), found)


def _all_counting(_: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Asked]]:
    for word in (*COLOURS, *SHAPES):
        found = numbers.get(word, ())
        if len(found) <= _MOST_COUNTED:
            yield str(len(found)), _Asked(_COUNTING, (_many(word),), found)


def _all_relation(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Asked]]:
    only = [number for number, thing in enumerate(things) if len(numbers[thing[:2]]) == 1]
    for first, second in permutations(only, 2):
        one, other, pair = things[first], things[second], (min(first, second), max(first, second))
        for relation, holding in related(one.box, other.box).items():
            yield "yes" if holding else "no", _Asked(_RELATION, (*one[:2], relation, *other[:2]), pair)


def _all_places(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Asked]]:
    for look in _LOOKS:
        found = numbers.get(look, ())
        if len(found) == 1:
            left, top, right, bottom = things[found[0]].box
            place = PLACES[2 * (top + bottom >= SIDE) + (left + right >= SIDE)]
            yield place, _Asked(_PLACE, look, found)


_ASKABLE: dict[str, Callable[[Sequence[Thing], _Numbers], Iterator[tuple[str, _Asked]]]] = {
    "existence": _all_existence,
    "colour": _all_colour,
    "counting": _all_counting,
    "relation": _all_relation,
    "place": _all_places,
}


def _numbers(things: Sequence[Thing]) -> _Numbers:
    """The numbers of the things of each colour, each shape and each look that there is."""
    found: dict[str | _Look, tuple[int, ...]] = {}
    for number, thing in enumerate(things):
        for named in (thing.colour, thing.shape, thing[:2]):
            found[named] = (*found.get(named, ()), number)
    return found


def _many(word: str) -> str:
    return f"{word} things" if word in COLOURS else _PLURALS[word]


class _Wanted(NamedTuple):
    """A question, and what a scene has that has its answer."""

    text: str
    looks: list[_Look]  # of what the answer depends on
    others: Sequence[_Look]  # that all other things may have, each as likely
    relation: str = ""  # that holds, or does not, of the first two


def _existence(answer: str, count: int, draws: Iterator[float]) -> _Wanted:
    look = _one(_LOOKS, draws)
    found = _found(count, next(draws)) if answer == "yes" else 0
    others = [other for other in _LOOKS if other != look]
    return _Wanted(_EXISTENCE.format(*look), [look] * found, others)


def _colour(answer: str, _: int, draws: Iterator[float]) -> _Wanted:
    shape = _one(SHAPES, draws)
    return _Wanted(_COLOUR.format(shape), [(answer, shape)], [look for look in _LOOKS if look[1] != shape])


def _counting(answer: str, _: int, draws: Iterator[float]) -> _Wanted:
    word = _one((*COLOURS, *SHAPES), draws)
    counted = [look for look in _LOOKS if word in look]
    looks = [_one(counted, draws) for _ in range(int(answer))]
    return _Wanted(_COUNTING.format(_many(word)), looks, [look for look in _LOOKS if word not in look])


def _relation(_: str, __: int, draws: Iterator[float]) -> _Wanted:
    one = _one(_LOOKS, draws)
    other = _one([look for look in _LOOKS if look != one], draws)
    relation = _one(RELATIONS, draws)
    others = [look for look in _LOOKS if look not in (one, other)]
    return _Wanted(_RELATION.format(*one, relation, *other), [one, other], others, relation)


_WANTED: dict[str, Callable[[str, int, Iterator[float]], _Wanted]] = {
    "existence": _existence,
    "colour": _colour,
    "counting": _counting,
    "relation": _relation,
}


def _one(choices: Sequence[_T], draws: Iterator[float]) -> _T:
    """One of some, each as likely."""
    return choices[int(next(draws) * len(choices))]


def _found(count: int, draw: float) -> int:
    """How many of so many things have a look, one or more, as likely as in a scene of things with any looks."""
    share = 1 / len(_LOOKS)
    ways = [comb(count, found) * share**found * (1 - share) ** (count - found) for found in range(1, count + 1)]
    sums = list(accumulate(ways))
    return min(1 + bisect(sums, draw * sums[-1]), count)


def _check_kinds(kinds: Sequence[str]) -> None:
    if not kinds or not set(kinds) <= set(KINDS):
        raise ArgumentError(f"expected some of {', '.join(KINDS)}, got {', '.join(kinds) or 'none'}", "kinds")
