import os
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.dataset import (
    SPLITS,
    Lazy,
    check_index,
    check_split,
    inventory,
    no_such_data,
    take,
    training_sample,
)
from saccade.errors import ArgumentError
from saccade.tasks.answer.data import open_corpus as questions
from saccade.tasks.caption.data import open_corpus as captions
from saccade.tasks.classify_text.data import open_corpus as texts
from saccade.tasks.image.sources import open_files as images
from saccade.tasks.memorize.data import open_corpus as symbols
from saccade.tasks.regress.data import open_numbers as numbers
from saccade.tasks.transcribe.data import open_corpus as speech
from saccade.tasks.translate.data import open_corpus as pairs
from tiers import every


class Numbers:
    """Numbers as examples, so many of each split."""

    def __init__(self, **sizes):
        self.sizes = sizes

    def size(self, split):
        return self.sizes[split]

    def example(self, split, index):
        check_index(split, index, self.size(split))
        return index


def test_value_is_made_once_and_not_before_it_is_asked_for():
    made = []
    lazy = Lazy(lambda: made.append(1) or None)
    assert made == [] and lazy.get() is None and lazy.get() is None and made == [1]


def test_what_cannot_be_made_is_tried_again():
    """A folder that was not there may be there the next time."""
    tries = iter([ValueError("gone"), 7])

    def make():
        found = next(tries)
        if isinstance(found, Exception):
            raise found
        return found

    lazy = Lazy(make)
    with pytest.raises(ValueError, match="gone"):
        lazy.get()
    assert lazy.get() == 7


@given(st.integers(0, 50), st.none() | st.integers(0, 60))
def test_at_most_so_many_are_taken_in_their_order(size, limit):
    found = list(take(Numbers(test=size), "test", limit))
    most = size if limit is None else min(size, limit)
    assert found == sorted({*found} & {*range(size)})
    assert len(found) == most


@every("kinds", [2, 3, 5, 8])
@every("order", ["sorted", "in turns"])
def test_what_is_taken_is_of_all_kinds(kinds, order):
    size, limit = 1000, 100
    found = Counter(place * kinds // size if order == "sorted" else place % kinds for place in take_of(size, limit))
    assert len(found) == kinds and max(found.values()) <= 3 * min(found.values())


def take_of(size, limit):
    return take(Numbers(test=size), "test", limit)


def test_of_an_endless_split_a_limit_is_taken():
    assert list(take(Numbers(train=None), "train", 3)) == [0, 1, 2]


@given(st.integers(1, 300), st.integers(1, 40))
def test_learning_samples_are_spread_over_the_data(size, most):
    found = training_sample(Numbers(train=size), 5, most)
    assert len(found) <= most and found[0] == 0 and found == sorted(set(found))
    assert size <= most or size - found[-1] <= -(-size // most)
    assert training_sample(Numbers(train=None), 5, most) == [0, 1, 2, 3, 4]


@every("split", ["dev", "", "Train", None, 3])
def test_what_is_no_split_is_refused(split):
    with pytest.raises(ArgumentError, match="split: expected one of train, validation, test, got "):
        check_split(split)
    assert [check_split(name) for name in SPLITS] == [None] * 3


@pytest.mark.parametrize(("index", "size", "expected"), [(-1, None, "0 <= index in"), (5, 5, "0 <= index < 5 in")])
def test_an_index_that_is_not_there_is_refused(index, size, expected):
    with pytest.raises(ArgumentError, match=f"index: expected {expected} train, got {index}"):
        check_index("train", index, size)
    check_index("train", 4, 5)
    check_index("train", 10**12, None)


def test_data_that_are_not_there_have_a_hint():
    assert "did you mean dates?" in str(no_such_data("dtaes", ["dates", "reviews"]))
    assert str(no_such_data("x", ["dates", "reviews"], "folder")).endswith("no folder; built in: dates, reviews")


def test_a_folder_that_is_there_is_told_what_it_lacks(tmp_path):
    got = str(no_such_data(str(tmp_path), ["dates"], holds="tables"))
    assert got == f"--data: expected in the folder {tmp_path} tables, got an empty folder"
    (tmp_path / "corpus.zip").touch()
    got = str(no_such_data(str(tmp_path), ["dates"], holds="tables"))
    assert "got corpus.zip; this unpacks or converts it: unzip" in got
    assert "no data set" in str(no_such_data(str(tmp_path / "gone"), ["dates"], holds="tables"))


def test_a_long_list_of_names_is_counted():
    assert inventory([]) == "" and inventory(["a"]) == "a" and inventory("abcde") == "a, b, c, d, e"
    assert inventory("abcdefgh") == "a, b, c, d, e and 3 more" and inventory(range(6)) == "0, 1, 2, 3, 4 and 1 more"


def test_a_pipe_is_one_error_for_every_kind_of_data(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    opens = (speech, questions, captions, texts, pairs, numbers, symbols, lambda data: images(data, None, None, None))
    for open_data in opens:
        with pytest.raises(ArgumentError, match="--data: expected a file or a folder, got a pipe or device at .*pipe;"):
            open_data(str(tmp_path / "pipe"))
