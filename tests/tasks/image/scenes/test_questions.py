import re
from collections import Counter, defaultdict
from functools import cache
from math import comb

import pytest

from saccade.tasks.image.scenes.grammar import RELATIONS
from saccade.tasks.image.scenes.questions import ANSWERS, BLIND, KINDS, PLACES, WORDS, ask, ask_more, askable, chance
from saccade.tasks.image.scenes.scene import COLOURS, SHAPES, SIDE
from saccade.train.randomness import generator

DRAWN = 20_000


@cache
def asked():
    return [ask(generator(0, "asked", index)) for index in range(DRAWN)]


def looked_up(text, scene):
    """The answer that a scene gives to a question, and the things that it depends on: read off the scene."""
    things = list(enumerate(scene.things))
    if match := re.fullmatch(r"is there a (\w+) (\w+) \?", text):
        found = [number for number, thing in things if thing[:2] == match.groups()]
        return "yes" if found else "no", found
    if match := re.fullmatch(r"what colour is the (\w+) \?", text):
        (found,) = [number for number, thing in things if thing.shape == match[1]]
        return scene.things[found].colour, [found]
    if match := re.fullmatch(r"how many (\w+) things are there \?|how many (\w+) are there \?", text):
        shape = {"circles": "circle", "squares": "square", "triangles": "triangle", "crosses": "cross"}.get(match[2])
        found = [number for number, thing in things if match[1] == thing.colour or shape == thing.shape]
        return str(len(found)), found
    if match := re.fullmatch(r"where is the (\w+) (\w+) \?", text):
        (found,) = [number for number, thing in things if thing[:2] == match.groups()]
        left, top, right, bottom = scene.things[found].box
        across, down = (left + right) / 2 < SIDE / 2, (top + bottom) / 2 < SIDE / 2
        return f"{'top' if down else 'bottom'} {'left' if across else 'right'}", [found]
    match = re.fullmatch(r"is the (\w+) (\w+) (left of|right of|above|below) the (\w+) (\w+) \?", text)
    (one,) = [number for number, thing in things if thing[:2] == (match[1], match[2])]
    (other,) = [number for number, thing in things if thing[:2] == (match[4], match[5])]
    a, b = scene.things[one].box, scene.things[other].box
    true = {
        "left of": a.right <= b.left,
        "right of": a.left >= b.right,
        "above": a.bottom <= b.top,
        "below": a.top >= b.bottom,
    }[match[3]]
    return "yes" if true else "no", sorted((one, other))


def unlikely(counts, kinds):
    """Whether some evenly drawn counts of so many kinds would hardly ever be so uneven: chi-square, 4 deviations."""
    expected, freedom = sum(counts) / kinds, kinds - 1
    statistic = sum((count - expected) ** 2 for count in counts) / expected + expected * (kinds - len(counts))
    return statistic > freedom + 4 * (2 * freedom) ** 0.5 + 4


@pytest.mark.slow
def test_answers_are_right_and_things_are_what_they_depend_on():
    for scene, question in asked():
        answer, things = looked_up(question.text, scene)
        assert (question.answer, question.things) == (answer, tuple(things)), question
        assert set(question.text.split()) <= set(WORDS) and answer in ANSWERS and question.kind in KINDS


def test_answers_kinds_and_words_are_all_there_are():
    assert set(ANSWERS) == {"yes", "no", *COLOURS, *"01234"} and tuple(sorted(ANSWERS)) == ANSWERS
    assert {question.answer for _, question in asked()} == set(ANSWERS)
    assert {word for _, question in asked() for word in question.text.split()} == set(WORDS)
    assert {question.kind for _, question in asked()} == set(KINDS)
    texts = Counter(question.kind for question in {question.text: question for _, question in asked()}.values())
    looks = len(COLOURS) * len(SHAPES)
    assert texts["existence"] == looks and texts["colour"] == len(SHAPES)
    assert texts["counting"] == len(COLOURS) + len(SHAPES)
    assert texts["relation"] > 0.8 * looks * (looks - 1) * len(RELATIONS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_and_the_number_of_things_tell_nothing_of_the_answer(kind):
    answers = round(1 / chance(kind))
    together = defaultdict(Counter)
    for scene, question in asked():
        if question.kind == kind:
            together["all"][question.answer] += 1
            together[len(scene.things)][question.answer] += 1
            if kind == "relation":  # its texts are too many to count one by one: by relation, colour and shape
                for at, word in enumerate(question.text.replace(" of", "").split()):
                    together[at, word][question.answer] += 1
            else:
                together[question.text][question.answer] += 1
                together[question.text, len(scene.things)][question.answer] += 1
    for what, counts in together.items():
        assert not unlikely(counts.values(), answers), (what, counts)


def test_kinds_questions_and_numbers_of_things_are_drawn_evenly():
    assert not unlikely(Counter(question.kind for _, question in asked()).values(), 4)
    for kind in KINDS:
        counts = Counter(len(scene.things) for scene, question in asked() if question.kind == kind)
        assert set(counts) == {4, 5, 6} and not unlikely(counts.values(), 3)
    for kind, texts in (("existence", 24), ("colour", 4), ("counting", 10)):
        counts = Counter(question.text for _, question in asked() if question.kind == kind)
        assert len(counts) == texts and not unlikely(counts.values(), texts)


def test_places_and_sizes_tell_nothing_of_answers():
    placed = defaultdict(Counter)
    for scene, question in asked():
        for number, thing in enumerate(scene.things):
            meant = number in question.things
            if question.kind != "relation":
                placed[question.kind, question.answer, meant][thing.box.left // 12] += 1
            placed[question.kind, meant, "down"][thing.box.top // 12] += 1
            placed[question.kind, question.answer, meant, "side"][thing.box.right - thing.box.left] += 1
    for what, counts in placed.items():
        assert not unlikely(counts.values(), 4 if what[-1] == "side" else 8), (what, counts)


def test_other_things_look_as_they_do_at_random():
    """What else is there has every look that it may have, evenly, whatever the answer."""
    looks = defaultdict(Counter)
    for scene, question in asked():
        if question.kind == "counting" and "red" in question.text:
            for number, thing in enumerate(scene.things):
                looks[number in question.things][thing[:2]] += 1
        if question.text == "what colour is the circle ?":
            rest = [thing for number, thing in enumerate(scene.things) if number not in question.things]
            looks["circle"].update(thing[:2] for thing in rest)
    for what, kinds in ((True, 4), (False, 20), ("circle", 18)):
        assert len(looks[what]) == kinds and not unlikely(looks[what].values(), kinds)


def test_what_exists_does_so_as_often_as_in_scene_at_random():
    counts = Counter(
        len(question.things) for _, question in asked() if (question.kind, question.answer) == ("existence", "yes")
    )
    more = sum(count for found, count in counts.items() if found > 1) / counts.total()
    # of 5 things with one of 24 looks each: P(2 or more) / P(1 or more), near enough to the mean over 4, 5 and 6
    one, none = 5 / 24 * (23 / 24) ** 4, (23 / 24) ** 5
    expected = (1 - one - none) / (1 - none)
    assert abs(more - expected) < 4 * (expected / counts.total()) ** 0.5 and 0 not in counts


def likely(scene):
    """How likely the scene makes each answer of each kind, by Bayes' rule: a question's share of its kind, over how
    likely a scene at random has this answer to it.
    """
    n, looks = len(scene.things), [thing[:2] for thing in scene.things]
    weights = {kind: Counter() for kind in KINDS}
    kinds = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    for look in kinds:
        share = (23 / 24) ** n
        answer, share = ("yes", 1 - share) if look in looks else ("no", share)
        weights["existence"][answer] += 1 / 24 / 2 / share
    for shape in SHAPES:
        found = [look[0] for look in looks if look[1] == shape]
        if len(found) == 1:
            weights["colour"][found[0]] += 1 / 4 / 6 / (n / 24 * (18 / 24) ** (n - 1))
    for word in (*COLOURS, *SHAPES):
        count, share = sum(word in look for look in looks), 1 / 6 if word in COLOURS else 1 / 4
        if count <= 4:
            weights["counting"][str(count)] += 1 / 10 / 5 / (comb(n, count) * share**count * (1 - share) ** (n - count))
    once = sum(looks.count(look) == 1 for look in kinds)
    for answer in ("yes", "no"):  # of any two things two relations hold and two do not
        share = n * (n - 1) / 24**2 * (22 / 24) ** (n - 2) / 2
        weights["relation"][answer] += once * (once - 1) * 2 / (24 * 23 * 4) / 2 / share
    return weights


def test_guessing_from_images_is_right_as_documented():
    right, within, total = 0, Counter(), Counter()
    for scene, question in asked()[:6000]:
        weights = likely(scene)
        over_all = sum(weights.values(), Counter())
        right += max(over_all, key=over_all.get) == question.answer
        of_kind = weights[question.kind]
        within[question.kind] += max(of_kind, key=of_kind.get) == question.answer
        total[question.kind] += 1
    assert abs(right / 6000 - 0.30) < 0.02
    assert set(BLIND) == set(KINDS)
    for kind, share in BLIND.items():
        assert abs(within[kind] / total[kind] - share) < 0.045, kind


def test_a_question_is_a_function_of_the_generator():
    assert [ask(generator(index)) for index in range(12)] == [ask(generator(index)) for index in range(12)]


def test_further_questions_are_right_and_of_all_kinds():
    found = [
        (scene, one)
        for number, (scene, _) in enumerate(asked()[:500])
        for one in ask_more(generator(1, "more", number), scene, 4)
    ]
    for scene, question in found:
        assert (question.answer, list(question.things)) == looked_up(question.text, scene), question
        words, answers = ({*WORDS, "where"}, PLACES) if question.kind == "place" else (set(WORDS), ANSWERS)
        assert set(question.text.split()) <= words and question.answer in answers
    kinds = Counter(question.kind for _, question in found)
    every = {*KINDS, "place"}
    assert set(kinds) == every and not unlikely(list(kinds.values()), len(every))  # all scenes have all kinds
    assert {question.answer for _, question in found if question.kind == "place"} == set(PLACES)
    scene, _ = asked()[0]
    one, other = (ask_more(generator(2, "more"), scene, 5) for _ in range(2))
    assert one == other


def test_all_questions_about_a_scene_are_about_what_is_there_and_have_one_answer():
    kinds = Counter()
    for index in range(200):
        scene, _ = ask(generator(0, "askable", index))
        for kind, questions in askable(scene).items():
            kinds[kind] += len(questions)
            assert len({question.text for question in questions}) == len(questions)
            for question in questions[:3]:
                if kind != "neighbour":
                    assert looked_up(question.text, scene) == (question.answer, list(question.things))
                assert (
                    question.things
                    and question.kind == kind
                    and question.answer not in ("no", "0")[: kind != "relation"]
                )
    assert set(kinds) == {*KINDS, "place", "neighbour"} and min(kinds.values()) > 200


def test_a_neighbour_is_the_only_thing_on_its_side():
    for index in range(200):
        scene, _ = ask(generator(0, "neighbours", index))
        for question in askable(scene)["neighbour"]:
            match = re.fullmatch(r"what is (left of|right of|above|below) the (\w+) (\w+) \?", question.text)
            (own,) = [thing for thing in scene.things if thing[:2] == (match[2], match[3])]
            side, sign = {"left of": (0, 1), "right of": (0, -1), "above": (1, 1), "below": (1, -1)}[match[1]]
            (other,) = [thing for thing in scene.things if sign * (own.box[side] - thing.box[side]) > 0]
            assert question.answer == f"a {other.colour} {other.shape}"
            assert {scene.things.index(own), scene.things.index(other)} == set(question.things)
