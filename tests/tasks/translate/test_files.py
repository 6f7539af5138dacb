from pathlib import Path

import numpy as np
import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.corpus import Pair
from saccade.tasks.translate.files import Files, Split, fingerprint, keep, read_filled

FILES = Files({"train": Split([("a", "b"), ("c", "d"), ("e", "f")], np.array([0, 2]))}, "print", "")


def test_examples_are_the_lines_of_their_split():
    assert [FILES.example("train", index) for index in range(2)] == [Pair("a", "b", ""), Pair("e", "f", "")]


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_that_is_not_there_is_refused(index):
    with pytest.raises(ArgumentError, match=f"expected 0 <= index < 2 in train, got {index}"):
        FILES.example("train", index)
    with pytest.raises(ArgumentError, match="split: expected one of train, got 'valid'"):
        FILES.size("valid")


def test_blank_pairs_are_left_out_and_counted():
    assert keep(np.zeros(3, bool), Path("x")) == (range(3), "")
    with pytest.raises(ArgumentError, match="x: .*empty corpus"):
        keep(np.ones(3, bool), Path("x"))


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "train.de").write_text("")
    with pytest.raises(ArgumentError, match=r"train\.de: expected a sentence a line, got an empty file"):
        read_filled(tmp_path / "train.de")


def test_a_fingerprint_knows_contents_and_counts(tmp_path):
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "b").write_text("two\n")
    one, two = read_filled(tmp_path / "a"), read_filled(tmp_path / "b")
    found = {fingerprint(FILES.splits, files) for files in ([one], [two], [one, two], [two, one])}
    assert len(found) == 4 and all(text.startswith("train 2, contents ") for text in found)
