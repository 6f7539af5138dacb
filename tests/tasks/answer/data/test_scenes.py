"""Scenes with questions: the same ones always, and the boxes of what their answers depend on."""

from collections import Counter

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.answer.data.scenes import Scenes


def test_an_example_follows_from_split_and_number():
    data = Scenes()
    for split in ("train", "validation", "test"):
        one, again = data.example(split, 7), Scenes().example(split, 7)
        assert one.posed == again.posed == data.posed(split, 7) and bool((one.image == again.image).all())
    assert data.posed("train", 1) != Scenes(seed=1).posed("train", 1) and data.size("test") == 2000
    assert Scenes(4, 5).fingerprint != data.fingerprint
    with pytest.raises(ArgumentError, match="index"):
        data.example("test", 2000)


def test_boxes_are_of_things_that_are_bright():
    data, kinds = Scenes(), Counter()
    for index in range(60):
        one = data.example("train", index)
        kinds[one.posed.group] += 1
        for left, top, right, bottom in one.boxes:
            inside = one.image[:, top:bottom, left:right].float()
            assert inside.amax(0).mean() > 60 > one.image.float().amax(0).median()
    assert set(kinds) == {"existence", "colour", "counting", "relation", "place"}


def test_questions_of_one_scene_are_adjacent():
    data = Scenes()
    for split, count in (("train", 5), ("validation", 1), ("test", 1)):
        for image in (0, 5):
            about = data.about(split, image)
            found = [data.example(split, index) for index in about]
            assert [*about] == [*range(image * count, (image + 1) * count)]
            assert {one.name for one in found} == {f"{split}-{image}"}
            assert all(bool((one.image == found[0].image).all()) for one in found)
            assert found[0].image.data_ptr() != data.example(split, about[0]).image.data_ptr()
    assert data.images("test") == data.size("test") == 2000 and data.images("train") is None
    both = Scenes(seed=2), Scenes(seed=2)
    assert both[0].posed("train", 0) == both[1].posed("train", 0) and both[0] == both[1]  # what was asked is no matter


def test_things_are_those_that_answer_depends_on_and_others():
    data = Scenes()
    for index in range(40):
        one, made = data.example("test", index), data.described("test", index)[0]
        assert Counter(one.boxes + one.others) == Counter(thing.box for thing in made.scene.things)
        assert not set(one.boxes) & set(one.others)
