import numpy as np
import pytest

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.corpus import Corpus, Example, Files
from saccade.tasks.classify_text.data.reviews import Reviews
from saccade.tasks.text.files import Split

ROWS = [("a fine film", "good"), ("dull", "bad"), ("fine", "good")]
FILES = Files(
    {
        "train": Split(ROWS, np.array([0, 1])),
        "validation": Split(ROWS, np.array([2])),
        "test": Split(ROWS, np.array([1])),
    },
    "print",
    "",
    ("bad", "good"),
)


def test_examples_are_rows_without_a_group():
    assert [FILES.example("train", index) for index in (0, 1)] == [Example(*ROWS[0], ""), Example(*ROWS[1], "")]
    assert FILES.example("validation", 0).text == "fine" and FILES.size("test") == 1


@pytest.mark.parametrize(("split", "index"), [("train", 2), ("test", -1), ("dev", 0)])
def test_what_is_not_there_is_refused(split, index):
    with pytest.raises(ArgumentError, match="index: expected|split: expected"):
        FILES.example(split, index)


def test_corpora_have_all_that_one_must_have():
    members = {name for name in dir(Corpus) if not name.startswith("_")}
    assert members == {"example", "size", "fingerprint", "note", "labels"}
    for corpus in (Reviews(), FILES):
        assert all(hasattr(corpus, name) for name in members)
