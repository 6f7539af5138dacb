from itertools import pairwise, permutations, product

import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.image.scenes.grammar import RELATIONS, WORDS, Mention, named, read, references, related
from saccade.tasks.image.scenes.scene import COLOURS, SHAPES, Box, Scene, Thing, scene_at_random
from tiers import every

FEW = [("red", "circle"), ("red", "cross"), ("blue", "circle")]  # so few that some things look alike


@st.composite
def scenes(draw, least=1, most=6, few=False):
    """Scenes whose things are in any order."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    things = scene_at_random(generator, least, most).things
    if few:
        things = [Thing(*draw(st.sampled_from(FEW)), thing.box) for thing in things]
    return Scene(tuple(draw(st.permutations(list(things)))))


def said(looks, relations):
    """The sentence of some looks and the relations between them."""
    rest = (f" {relation} a {' '.join(look)}" for relation, look in zip(relations, looks[1:], strict=True))
    return f"a {' '.join(looks[0])}" + "".join(rest)


def best(looks, relations, scene):
    """How many mentions can have a thing, how many relations hold then: tried out."""
    scores = []
    for things in product(range(-1, len(scene.things)), repeat=len(looks)):
        used = [thing for thing in things if thing >= 0]
        fits = all(thing < 0 or scene.things[thing][:2] == look for thing, look in zip(things, looks, strict=True))
        if fits and len(used) == len(set(used)):
            scores.append((len(used), held(things, relations, scene)))
    return max(scores)


def held(things, relations, scene):
    return sum(
        one >= 0 and other >= 0 and related(scene.things[one].box, scene.things[other].box)[relation]
        for one, other, relation in zip(things, things[1:], relations, strict=False)
    )


@given(scenes(most=8))
def test_every_reference_is_exact_and_differs_from_others(scene):
    found = references(scene)
    assert len(set(found)) == len(found) == len(dict.fromkeys(found)) and found == references(scene)
    assert 1 <= len(found) <= 4
    for sentence in found:
        assert set(sentence.split()) <= set(WORDS)
        reading = read(sentence, scene)
        assert reading.exact
        assert sorted(mention.thing for mention in reading.mentions) == list(range(len(scene.things)))


def test_references_go_both_ways_across_and_both_ways_down():
    scene = Scene(
        (
            Thing("red", "circle", Box(0, 60, 9, 69)),
            Thing("blue", "square", Box(20, 0, 29, 9)),
            Thing("green", "cross", Box(80, 20, 90, 30)),
        )
    )
    assert references(scene) == (
        "a red circle left of a blue square left of a green cross",
        "a green cross right of a blue square right of a red circle",
        "a blue square above a green cross above a red circle",
        "a red circle below a green cross below a blue square",
    )


@given(scenes(most=8), st.data())
def test_another_colour_or_shape_is_not_exact(scene, data):
    words = data.draw(st.sampled_from(references(scene))).split()
    mentions = read(" ".join(words), scene).mentions
    changed = data.draw(st.sampled_from(range(len(mentions))))
    kind, names = data.draw(st.sampled_from([(1, list(COLOURS)), (2, list(SHAPES))]))
    at = mentions[changed].first + kind
    words[at] = data.draw(st.sampled_from([name for name in names if name != words[at]]))
    reading = read(" ".join(words), scene)
    assert not reading.exact
    assert [mention[:2] for mention in reading.mentions] == [mention[:2] for mention in mentions]
    looks = [thing[:2] for thing in scene.things]
    new = tuple(words[at - kind + 1 : at - kind + 3])
    assert sum(mention.thing < 0 for mention in reading.mentions) >= 1  # one more of a look than there are
    if new not in looks:
        assert reading.mentions[changed].thing == -1


@given(scenes(least=2, most=8), st.data())
def test_omitted_or_repeated_things_are_not_exact(scene, data):
    sentence = data.draw(st.sampled_from(references(scene)))
    mentions = read(sentence, scene).mentions
    short = " ".join(sentence.split()[: mentions[-2].last])
    reading = read(short, scene)
    assert not reading.exact and len(reading.mentions) == len(mentions) - 1
    assert -1 not in [mention.thing for mention in reading.mentions]
    thing = data.draw(st.sampled_from(scene.things))
    longer = read(f"{sentence} above a {thing.colour} {thing.shape}", scene)
    assert not longer.exact and [mention.thing for mention in longer.mentions].count(-1) == 1


@given(scenes(least=2, most=8), st.data())
def test_an_inverted_relation_is_not_exact(scene, data):
    sentence = data.draw(st.sampled_from(references(scene)))
    opposite = {"left": "right", "right": "left", "above": "below", "below": "above"}
    words = sentence.split()
    at = data.draw(st.sampled_from([number for number, word in enumerate(words) if word in opposite]))
    words[at] = opposite[words[at]]
    reading = read(" ".join(words), scene)
    assert -1 not in [mention.thing for mention in reading.mentions]
    if len({thing[:2] for thing in scene.things}) == len(scene.things):
        assert not reading.exact


@given(scenes(least=2, most=5, few=True), st.data())
def test_any_order_with_any_true_relations_is_exact(scene, data):
    chain = data.draw(st.permutations(range(len(scene.things))))
    boxes = [scene.things[thing].box for thing in chain]
    relations = [
        data.draw(st.sampled_from([relation for relation in RELATIONS if related(one, other)[relation]]))
        for one, other in pairwise(boxes)
    ]
    assert read(said([scene.things[thing][:2] for thing in chain], relations), scene).exact


@given(scenes(most=4, few=True), st.data())
def test_the_best_things_are_found_where_they_look_alike(scene, data):
    looks = data.draw(st.lists(st.sampled_from(FEW), min_size=1, max_size=5))
    relations = data.draw(st.lists(st.sampled_from(RELATIONS), min_size=len(looks) - 1, max_size=len(looks) - 1))
    reading = read(said(looks, relations), scene)
    things = [mention.thing for mention in reading.mentions]
    for thing, look in zip(things, looks, strict=True):
        assert thing == -1 or scene.things[thing][:2] == look
    given_away = [thing for thing in things if thing >= 0]
    assert len(given_away) == len(set(given_away))
    assert (len(given_away), held(things, relations, scene)) == best(looks, relations, scene)
    assert reading.exact == exact(looks, relations, scene)


def exact(looks, relations, scene):
    """Whether some order of all things has these looks and relations: tried out."""
    return any(
        [scene.things[thing][:2] for thing in order] == looks and held(order, relations, scene) == len(relations)
        for order in permutations(range(len(scene.things)))
    )


def test_a_relation_chooses_between_things_that_look_alike():
    lower, upper = Thing("red", "circle", Box(0, 60, 9, 69)), Thing("red", "circle", Box(80, 0, 89, 9))
    scene = Scene((lower, Thing("blue", "cross", Box(40, 30, 49, 39)), upper))
    for relation, thing in (("left of", 2), ("right of", 0), ("above", 0), ("below", 2)):
        assert [each.thing for each in read(f"a blue cross {relation} a red circle", scene).mentions] == [1, thing]
    reading = read("a red circle above a blue cross above a red circle", scene)
    assert reading.mentions == (Mention(0, 3, 2), Mention(4, 7, 1), Mention(8, 11, 0)) and reading.exact
    # one of the two holds whichever is which: as many mentions as can be come first, then relations
    assert not read("a red circle above a blue cross below a red circle left of a red circle", scene).exact


@every(
    "text",
    [
        "",
        "a red",
        "a circle red",
        "the red circle",
        "A red circle",
        "a red star",
        "a red circle left",
        "a red circle left a blue cross",
        "a red circle left of of a blue cross",
        "a red circle above of a blue cross",
        "a red circle above a",
        "a red circle a blue cross",
        "above a red circle",
    ],
)
def test_what_is_no_sentence_is_not_read(text):
    scene = Scene((Thing("red", "circle", Box(0, 0, 9, 9)), Thing("blue", "cross", Box(40, 30, 49, 39))))
    assert read(text, scene) is None


@given(scenes(most=3), st.lists(st.sampled_from([*WORDS, "?", "the"]), max_size=12))
def test_any_words_are_read_or_not(scene, words):
    reading = read("  ".join(words), scene)
    assert reading is None or len(reading.mentions) == words.count("a") >= 1


@given(scenes(most=6, few=True), scenes(most=6, few=True))
def test_mentions_name_as_many_things_without_grammar(scene, other):
    for sentence in references(other):
        count = sum(thing >= 0 for _, _, thing in read(sentence, scene).mentions)
        looks = " ".join(f"{thing.colour} {thing.shape}" for thing in other.things)
        assert named(sentence, scene) == named(f"{sentence} left", scene) == named(looks, scene) == count
    assert read("of a", scene) is None and named("of a", scene) == named("", scene) == 0


@given(scenes(least=2, most=2))
def test_of_two_things_two_relations_hold_each_way(scene):
    one, other = (thing.box for thing in scene.things)
    for relation, opposite in (("left of", "right of"), ("above", "below")):
        there, back = related(one, other), related(other, one)
        assert there[relation] == back[opposite] != there[opposite]


def test_eight_things_that_look_alike_are_told_apart():
    boxes = [Box(12 * n, 12 * (5 * n % 8), 12 * n + 9, 12 * (5 * n % 8) + 9) for n in range(8)]
    scene = Scene(tuple(Thing("red", "circle", box) for box in boxes))
    assert all(read(sentence, scene).exact for sentence in references(scene))
    assert read(" left of ".join(["a red circle"] * 8), scene).exact
    assert not read(" left of ".join(["a red circle"] * 9), scene).exact
