from dataclasses import FrozenInstanceError

import pytest

from saccade.tasks.translate.data import BUILTIN, open_corpus
from saccade.tasks.translate.data.corpus import Pair


def test_pairs_are_values():
    assert Pair("18 juin", "06-18", "fr") == Pair("18 juin", "06-18", "fr") != Pair("18 juin", "06-18", "de")
    with pytest.raises(FrozenInstanceError):
        Pair("18 juin", "06-18", "fr").source = "19 juin"


@pytest.mark.parametrize("name", list(BUILTIN))
def test_an_example_is_a_pair_and_always_the_same(name):
    assert isinstance(open_corpus(name).example("train", 3), Pair)
    assert open_corpus(name).example("train", 3) == open_corpus(name).example("train", 3)
