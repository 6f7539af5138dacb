from pathlib import Path

import numpy as np
import pytest

from saccade.data.rows import divide, text_hash
from saccade.errors import ArgumentError
from saccade.tasks.text.files import Split, Splits, fingerprint, keep, read_filled

FILES = Splits({"train": Split([("a", "b"), ("c", "d"), ("e", "f")], np.array([0, 2]))}, "print", "")


def test_examples_are_the_lines_of_their_split():
    assert [FILES.row("train", index) for index in range(2)] == [("a", "b"), ("e", "f")]


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_that_is_not_there_is_refused(index):
    with pytest.raises(ArgumentError, match=f"expected 0 <= index < 2 in train, got {index}"):
        FILES.row("train", index)
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


@pytest.mark.parametrize("held_out", [("validation", "test"), ("validation",), ("test",)])
def test_equal_texts_are_in_one_split_whatever_their_order(held_out):
    texts = [f"text {number % 90}" for number in range(270)]
    hashes = np.array([text_hash(text) for text in texts], np.uint64)
    found = divide(hashes, Path("x"), "texts", held_out)
    assert list(found) == [*held_out, "train"] and sum(found.values()).tolist() == [1] * 270
    parts = {
        split: {text for text, inside in zip(texts, where, strict=True) if inside} for split, where in found.items()
    }
    assert [len(parts[split]) for split in held_out] == [4] * len(held_out)
    backwards = divide(hashes[::-1], Path("x"), "texts", held_out)
    assert all((backwards[split] == found[split][::-1]).all() for split in found)


def test_too_few_texts_are_refused():
    with pytest.raises(ArgumentError, match="x: expected 2 different texts or more, to test and train, got 1"):
        divide(np.array([3, 3], np.uint64), Path("x"), "texts", ("test",))
