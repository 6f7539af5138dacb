"""Scenes with questions: each is about things that are there, and has exactly one answer."""

import pytest
import torch

from saccade.tasks.caption.data import open_corpus
from saccade.tasks.caption.data.questions import Questions
from saccade.tasks.caption.data.scenes import Scenes
from saccade.tasks.image.scenes.questions import askable

DATA = Questions(1, 5, seed=3)


@pytest.mark.parametrize("split", ["train", "test"])
def test_references_are_all_questions_about_a_scene(split):
    for index in range(30):
        made, *_ = DATA.described(split, index)
        every = {question.text for questions in askable(made.scene).values() for question in questions}
        example = DATA.example(split, index)
        assert set(example.references) == every and len(example.references) == len(every)
        assert example.caption == DATA.text(split, index) and example.caption in every
        assert example.scene is None and example.group == str(len(made.scene.things))


def test_the_questions_of_a_training_scene_are_of_different_kinds():
    for image in range(30):
        indices = DATA.about("train", image)
        kinds = askable(DATA.described("train", indices[0])[0].scene)
        of = {question.text: kind for kind, questions in kinds.items() for question in questions}
        assert len({of[DATA.text("train", index)] for index in indices}) == min(4, sum(map(bool, kinds.values()))) == 4


def test_an_index_is_always_the_same_and_the_data_are_no_sentences():
    one, again = (Questions().example("train", 7) for _ in range(2))
    assert torch.equal(one.image, again.image) and one[1:] == again[1:]
    assert open_corpus("scenes-questions").fingerprint == Questions().fingerprint != Scenes().fingerprint
