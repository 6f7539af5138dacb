import json

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.classes import Classes
from saccade.tasks.image.shapes import Shapes

KNOWN = Classes(("bad", "good"), (3, 8, 11), (0.5, 0.25, 0.125), (1.0, 0.5, 0.25))


def test_what_is_saved_is_read_back(tmp_path):
    KNOWN.save(tmp_path)
    assert Classes.restore(tmp_path) == KNOWN


def test_shapes_are_learned_once_and_alike():
    known = Classes.learn(Shapes())
    assert known == Classes.learn(Shapes()) and known.shape == (3, 32, 32) and len(known.labels) == 4
    assert all(0 < mean < 1 for mean in known.mean) and bool((torch.tensor(known.std) > 0).all())


@pytest.mark.parametrize(
    "change", [{"labels": ["one"]}, {"labels": "ab"}, {"height": 0}, {"channels": True}, {"mean": None}, {"std": ["x"]}]
)
def test_a_file_that_is_not_whole_is_named(tmp_path, change):
    KNOWN.save(tmp_path)
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ArgumentError, match=r"labels\.json: expected the labels of this run, got"):
        Classes.restore(tmp_path)


def test_a_file_that_is_gone_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"labels\.json"):
        Classes.restore(tmp_path)
