import pytest
import torch

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.caption.data import open_corpus
from saccade.tasks.caption.data.scenes import Scenes
from saccade.tasks.image.scenes.grammar import read, references


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_every_reference_is_exact_and_the_captions_are_among_them(split):
    data = Scenes(1, 5, seed=3)
    counts, first = set(), 0
    for index in range(60):
        one = data.example(split, index)
        assert one.image.shape == data.shape
        assert one.references == references(one.scene) == data.references(split, index)
        assert one.caption == data.text(split, index)
        assert all(read(sentence, one.scene).exact for sentence in one.references)
        assert one.caption in one.references
        assert one.group == str(len(one.scene.things))
        counts.add(one.group)
        first += one.caption == one.references[0]
    assert counts == set("12345")
    assert (first == 60) == (split != "train")


def test_index_is_always_same_scene_and_others_are_others():
    one, again = (Scenes().example("train", 7) for _ in range(2))
    assert torch.equal(one.image, again.image)
    assert one[1:] == again[1:]
    others = [Scenes().example("train", 8), Scenes().example("test", 7), Scenes(seed=1).example("train", 7)]
    assert all(other.scene != one.scene for other in others)
    assert Scenes().size("train") is None
    assert Scenes().size("validation") == Scenes().size("test") == 1000
    assert len({data.fingerprint for data in (Scenes(), Scenes(seed=1), Scenes(2), Scenes(1, 5))}) == 4


def test_numbers_of_things_are_those_that_are_asked_for():
    data = open_corpus("scenes", things=(3, 3), seed=5)
    assert {data.example("test", index).group for index in range(9)} == {"3"}
    assert data.fingerprint == Scenes(3, 3, 5).fingerprint


@pytest.mark.parametrize("things", [(0, 4), (5, 4), (1, 9), (1, 0)])
def test_numbers_that_no_scene_has_are_refused(things):
    with pytest.raises(ArgumentError, match=r"--(least|most): expected a number of things from 1 to"):
        open_corpus("scenes", things=things)


def test_what_means_nothing_for_scenes_is_refused():
    with pytest.raises(ArgumentError, match="--size: expected none for scenes"):
        open_corpus("scenes", size=64)
    with pytest.raises(ArgumentError, match="--test-split: expected none for scenes"):
        open_corpus("scenes", names=SplitNames({"test": "x"}))
    with pytest.raises(ArgumentError, match="--features: expected none for scenes"):
        open_corpus("scenes", known=lambda name: True)
    with pytest.raises(ArgumentError, match="index"):
        Scenes().text("test", 1000)
