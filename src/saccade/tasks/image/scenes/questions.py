"""Questions about scenes. Answers depend on both the question and the image.

    existence   is there a red circle ?                      yes, no
    colour      what colour is the circle ?                  a colour; the scene has one circle
    counting    how many red things are there ?              0 to 4
                how many circles are there ?
    relation    is the red circle left of the blue square ?  yes, no; the scene has one of each
    place       where is the red circle ?                    top left, ...; the scene has one; in training only
    neighbour   what is left of the red circle ?             one thing; the scene has one of each; see `askable`

The kind and the question are drawn evenly. Then the answer and the number of things are drawn evenly and independently,
so the question and the number of things favour no answer. The scene is drawn at random, given the number of things and
the answer. Things are in the order from left to right. Questions about places occur in training only. From them a model
learns to use positions. Only then it learns from relations where to look.

A scene has the things of its question, for example one circle or four red things. So the image alone has information on
the question and its answer. With 4 to 6 things, the best guess from the image alone is right in 30% of all questions,
and always "yes" in 25%. `BLIND` has the accuracy if the kind is given too. For example, if the question is "is there a
red circle ?", a scene with a red thing and with a circle has a red circle more often than not.
"""

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, permutations
from math import comb
from typing import NamedTuple, TypeVar

import torch

from saccade.tasks.image.scenes.grammar import RELATIONS, related
from saccade.tasks.image.scenes.scene import COLOURS, MOST, SHAPES, SIDE, Scene, Thing, boxes_at_random

__all__ = ["ANSWERS", "BLIND", "KINDS", "PLACES", "WORDS", "Question", "ask", "ask_more", "askable", "chance"]

_MOST_COUNTED = 4
_EXISTENCE, _COLOUR = "is there a {} {} ?", "what colour is the {} ?"
_COUNTING, _RELATION = "how many {} are there ?", "is the {} {} {} the {} {} ?"
_POSITION, _NEIGHBOUR = "where is the {} {} ?", "what is {} the {} {} ?"
_BY_KIND = {
    "existence": ("no", "yes"),
    "colour": tuple(COLOURS),
    "counting": tuple(map(str, range(_MOST_COUNTED + 1))),
    "relation": ("no", "yes"),
}
KINDS = tuple(_BY_KIND)
"""Kinds of questions in evaluation."""
BLIND = {"existence": 0.53, "colour": 0.65, "counting": 0.56, "relation": 0.50}
"""Accuracy of the best guess from the image and the kind alone, of 4 to 6 things."""
ANSWERS = tuple(sorted({answer for answers in _BY_KIND.values() for answer in answers}))
"""Answers to these kinds, sorted."""
PLACES = ("top left", "top right", "bottom left", "bottom right")
"""Answers about places: the quarter of the image with the middle of a thing."""
_PLURALS = {shape: "crosses" if shape == "cross" else f"{shape}s" for shape in SHAPES}
WORDS = tuple(
    sorted(
        {"?", "a", "are", "colour", "how", "is", "many", "the", "there", "things", "what"}
        | {*COLOURS, *SHAPES, *_PLURALS.values(), *" ".join(RELATIONS).split()}
    )
)
"""Words of questions of these kinds, sorted."""

_T = TypeVar("_T")
_NUMBERS = 6 + MOST  # most random numbers of a question and the looks of its scene
_Look = tuple[str, str]  # a colour and a shape
_Numbers = Mapping[str | _Look, tuple[int, ...]]
_LOOKS: tuple[_Look, ...] = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)


class Question(NamedTuple):
    """A question about a scene, and its answer.

    >>> Question("is there a red circle ?", "yes", "existence", (2,)).answer
    'yes'
    """

    text: str
    """Words with spaces, the question mark too."""
    answer: str
    kind: str
    things: tuple[int, ...]
    """Numbers of the things that the answer depends on, from left to right."""


def chance(kind: str) -> float:
    """Return the accuracy of guessing an answer to a kind of question.

    >>> chance("relation"), chance("counting")
    (0.5, 0.2)
    """
    return 1 / len(_BY_KIND[kind])


def ask(generator: torch.Generator, least: int = 4, most: int = 6) -> tuple[Scene, Question]:
    """Return a scene and a question about it. All random numbers are drawn at once.

    Args:
        generator: of random numbers.
        least, most: numbers of things, from 4 to 8.

    Example:
        >>> scene, question = ask(torch.Generator().manual_seed(5))
        >>> question
        Question(text='how many yellow things are there ?', answer='1', kind='counting', things=(0,))
        >>> [f"{thing.colour} {thing.shape}" for thing in scene.things]
        ['yellow square', 'cyan square', 'blue cross', 'magenta triangle', 'cyan circle']
    """
    numbers = torch.rand(_NUMBERS + 5 * MOST, generator=generator, dtype=torch.float64).tolist()
    draws = iter(numbers[:_NUMBERS])
    kind = _choose(KINDS, draws)
    answer, count = _choose(_BY_KIND[kind], draws), _choose(range(least, most + 1), draws)
    plan = _PLANS[kind](answer, count, draws)
    boxes = boxes_at_random(count, numbers[_NUMBERS:])
    if plan.relation and related(boxes[0], boxes[1])[plan.relation] != (answer == "yes"):
        boxes[:2] = boxes[1], boxes[0]  # one of the two orders has the answer, and both are equally likely
    looks = [*plan.looks, *(_choose(plan.others, draws) for _ in range(count - len(plan.looks)))]
    order = sorted(range(count), key=lambda index: boxes[index].left)
    scene = Scene(tuple(Thing(*looks[index], boxes[index]) for index in order))
    things = tuple(number for number, index in enumerate(order) if index < len(plan.looks))
    return scene, Question(plan.text, answer, kind, things)


def ask_more(generator: torch.Generator, scene: Scene, count: int) -> list[Question]:
    """Return training questions about a scene, of all kinds and of places.

    A kind, one of its answers in this scene, and a question with this answer are drawn evenly. Answers are not
    balanced: a scene rarely has four of anything.

    Example:
        >>> drawn = torch.Generator().manual_seed(5)
        >>> scene, _ = ask(drawn)
        >>> [(question.text, question.answer) for question in ask_more(drawn, scene, 2)]
        [('what colour is the triangle ?', 'magenta'), ('where is the yellow square ?', 'top left')]
    """
    draws = iter(torch.rand(3 * count, generator=generator, dtype=torch.float64).tolist())
    numbers = _numbers(scene)
    kinds = [kind for kind, every in _ASKABLE.items() if next(every(scene.things, numbers), None)]
    by_kind: dict[str, dict[str, list[_Form]]] = {}
    questions = []
    for _ in range(count):
        kind = _choose(kinds, draws)
        if kind not in by_kind:
            by_kind[kind] = {}
            for answer, form in _ASKABLE[kind](scene.things, numbers):
                by_kind[kind].setdefault(answer, []).append(form)
        answer = _choose(tuple(by_kind[kind]), draws)
        text, words, things = _choose(by_kind[kind][answer], draws)
        questions.append(Question(text.format(*words), answer, kind, things))
    return questions


def askable(scene: Scene) -> dict[str, list[Question]]:
    """Return all questions about things of a scene with exactly one answer, by kind.

    No question is about a thing that the scene has not, so no existence is denied and no count is 0.

    Example:
        >>> from saccade.tasks.image.scenes.scene import Box
        >>> scene = Scene((Thing("red", "circle", Box(0, 0, 9, 9)), Thing("blue", "cross", Box(40, 30, 52, 42))))
        >>> {kind: len(questions) for kind, questions in askable(scene).items()}
        {'existence': 2, 'colour': 2, 'counting': 4, 'relation': 8, 'place': 2, 'neighbour': 4}
        >>> askable(scene)["neighbour"][0][:2]
        ('what is right of the red circle ?', 'a blue cross')
    """
    numbers = _numbers(scene)
    return {
        kind: [
            Question(form.text.format(*form.words), answer, kind, form.things)
            for answer, form in every(scene.things, numbers)
            if form.things
        ]
        for kind, every in {**_ASKABLE, "neighbour": _all_neighbours}.items()
    }


class _Form(NamedTuple):
    """A question about a scene, as a form and its words."""

    text: str
    words: Sequence[str]
    things: tuple[int, ...]


def _all_existence(_: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Form]]:
    for look in _LOOKS:
        matching = numbers.get(look, ())
        yield "yes" if matching else "no", _Form(_EXISTENCE, look, matching)


def _all_colour(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Form]]:
    for shape in SHAPES:
        matching = numbers.get(shape, ())
        if len(matching) == 1:
            yield things[matching[0]].colour, _Form(_COLOUR, (shape,), matching)


def _all_counting(_: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Form]]:
    for word in (*COLOURS, *SHAPES):
        matching = numbers.get(word, ())
        if len(matching) <= _MOST_COUNTED:
            yield str(len(matching)), _Form(_COUNTING, (_many(word),), matching)


def _all_relation(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Form]]:
    only = [number for number, thing in enumerate(things) if len(numbers[thing[:2]]) == 1]
    for first, second in permutations(only, 2):
        subject, other, pair = things[first], things[second], (min(first, second), max(first, second))
        for relation, holding in related(subject.box, other.box).items():
            yield "yes" if holding else "no", _Form(_RELATION, (*subject[:2], relation, *other[:2]), pair)


def _all_places(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Form]]:
    for look in _LOOKS:
        matching = numbers.get(look, ())
        if len(matching) == 1:
            left, top, right, bottom = things[matching[0]].box
            corner = PLACES[2 * (top + bottom >= SIDE) + (left + right >= SIDE)]
            yield corner, _Form(_POSITION, look, matching)


def _all_neighbours(things: Sequence[Thing], numbers: _Numbers) -> Iterator[tuple[str, _Form]]:
    for number, thing in enumerate(things):
        if len(numbers[thing[:2]]) > 1:
            continue
        others = [other for other in range(len(things)) if other != number]
        for relation in RELATIONS:
            neighbours = [other for other in others if related(things[other].box, thing.box)[relation]]
            if len(neighbours) == 1:
                answer = "a {} {}".format(*things[neighbours[0]][:2])
                yield answer, _Form(_NEIGHBOUR, (relation, *thing[:2]), tuple(sorted((number, *neighbours))))


_ASKABLE: dict[str, Callable[[Sequence[Thing], _Numbers], Iterator[tuple[str, _Form]]]] = {
    "existence": _all_existence,
    "colour": _all_colour,
    "counting": _all_counting,
    "relation": _all_relation,
    "place": _all_places,
}


def _numbers(scene: Scene) -> _Numbers:
    """Numbers of the things of each colour, shape and look."""
    numbers: dict[str | _Look, tuple[int, ...]] = {}
    for number, thing in enumerate(scene.things):
        for named in (thing.colour, thing.shape, thing[:2]):
            numbers[named] = (*numbers.get(named, ()), number)
    return numbers


def _many(word: str) -> str:
    return f"{word} things" if word in COLOURS else _PLURALS[word]


class _Plan(NamedTuple):
    """A question, and the things of a scene with its answer."""

    text: str
    looks: list[_Look]  # of the things that the answer depends on
    others: Sequence[_Look]  # equally likely looks of all other things
    relation: str = ""  # of the first two things


def _existence(answer: str, count: int, draws: Iterator[float]) -> _Plan:
    look = _choose(_LOOKS, draws)
    hits = 0
    if answer == "yes":  # one or more things, as likely as in a scene of things with any looks
        share = 1 / len(_LOOKS)
        ways = [comb(count, hits) * share**hits * (1 - share) ** (count - hits) for hits in range(1, count + 1)]
        sums = list(accumulate(ways))
        hits = min(1 + bisect(sums, next(draws) * sums[-1]), count)
    others = [other for other in _LOOKS if other != look]
    return _Plan(_EXISTENCE.format(*look), [look] * hits, others)


def _colour(answer: str, _: int, draws: Iterator[float]) -> _Plan:
    shape = _choose(SHAPES, draws)
    return _Plan(_COLOUR.format(shape), [(answer, shape)], [look for look in _LOOKS if look[1] != shape])


def _counting(answer: str, _: int, draws: Iterator[float]) -> _Plan:
    word = _choose((*COLOURS, *SHAPES), draws)
    counted = [look for look in _LOOKS if word in look]
    looks = [_choose(counted, draws) for _ in range(int(answer))]
    return _Plan(_COUNTING.format(_many(word)), looks, [look for look in _LOOKS if word not in look])


def _relation(_: str, __: int, draws: Iterator[float]) -> _Plan:
    first = _choose(_LOOKS, draws)
    other = _choose([look for look in _LOOKS if look != first], draws)
    relation = _choose(RELATIONS, draws)
    others = [look for look in _LOOKS if look not in (first, other)]
    return _Plan(_RELATION.format(*first, relation, *other), [first, other], others, relation)


_PLANS: dict[str, Callable[[str, int, Iterator[float]], _Plan]] = {
    "existence": _existence,
    "colour": _colour,
    "counting": _counting,
    "relation": _relation,
}


def _choose(choices: Sequence[_T], draws: Iterator[float]) -> _T:
    return choices[int(next(draws) * len(choices))]
