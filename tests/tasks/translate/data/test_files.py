import numpy as np

from saccade.tasks.text.files import Split
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.files import Files


def test_examples_are_the_lines_of_their_split():
    files = Files({"train": Split([("a", "b"), ("c", "d"), ("e", "f")], np.array([0, 2]))}, "print", "")
    assert [files.example("train", index) for index in range(2)] == [Pair("a", "b", ""), Pair("e", "f", "")]
