import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.dataset import (
    Lazy,
    check_index,
    check_split,
    data_path,
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


def test_a_value_is_made_once_and_an_error_is_tried_again():
    made = iter([ValueError("gone"), 7])

    def make():
        if isinstance(value := next(made), Exception):
            raise value
        return value

    lazy = Lazy(make)
    with pytest.raises(ValueError, match="gone"):  # a missing folder may be there the next time
        lazy.get()
    assert lazy.get() == lazy.get() == 7


@given(st.integers(0, 50), st.none() | st.integers(0, 60))
def test_at_most_so_many_are_taken_in_their_order(size, limit):
    found = list(take(Numbers(test=size), "test", limit))
    most = size if limit is None else min(size, limit)
    assert found == sorted({*found} & {*range(size)}) and len(found) == most
    assert list(take(Numbers(train=None), "train", 3)) == [0, 1, 2]


@every("kinds", [2, 3, 5, 8])
@every("order", ["sorted", "in turns"])
def test_what_is_taken_is_of_all_kinds(kinds, order):
    places = take(Numbers(test=1000), "test", 100)
    counts = Counter(place * kinds // 1000 if order == "sorted" else place % kinds for place in places).values()
    assert len(counts) == kinds and max(counts) <= 3 * min(counts)


@given(st.integers(1, 300), st.integers(1, 40))
def test_learning_samples_are_spread_over_the_data(size, most):
    found = training_sample(Numbers(train=size), 5, most)
    assert len(found) <= most and found[0] == 0 and found == sorted(set(found))
    assert size <= most or size - found[-1] <= -(-size // most)
    assert training_sample(Numbers(train=None), 5, most) == [0, 1, 2, 3, 4]


@every("split", ["dev", "", "Train", None, 3])
def test_another_split_is_rejected(split):
    with pytest.raises(ArgumentError, match="split: expected one of train, validation, test, got "):
        check_split(split)


@every(("index", "size", "expected"), [(-1, None, "0 <= index in"), (5, 5, "0 <= index < 5 in")])
def test_an_index_outside_a_split_is_rejected(index, size, expected):
    with pytest.raises(ArgumentError, match=f"index: expected {expected} train, got {index}"):
        check_index("train", index, size)
    check_index("train", 4, size)


def test_missing_data_have_a_hint(tmp_path):
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed/corpus.zip").touch()
    (tmp_path / "empty").mkdir()
    for data, holds, message in (
        ("dtaes", None, "did you mean dates?"),
        ("x", None, "--data: no data set x, and no folder; built in: dates, reviews"),
        (str(tmp_path / "gone"), "tables", "no data set"),
        (str(tmp_path / "empty"), "tables", f"in the folder {tmp_path}/empty tables, got an empty folder"),
        (str(tmp_path / "packed"), "tables", "got corpus.zip; this unpacks or converts it: unzip"),
    ):
        assert message in str(no_such_data(data, ["dates", "reviews"], "folder", holds))


def test_a_long_list_of_names_is_counted():
    assert inventory([]) == "" and inventory("abcde") == "a, b, c, d, e"
    assert inventory("abcdefgh") == "a, b, c, d, e and 3 more" and inventory(range(6)) == "0, 1, 2, 3, 4 and 1 more"


def test_a_pipe_is_one_error_for_every_kind_of_data(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    opens = (speech, questions, captions, texts, pairs, numbers, symbols, lambda data: images(data, None, None, None))
    for open_data in opens:
        with pytest.raises(
            ArgumentError, match="--data: expected a file or a folder, got a pipe or device at .*pipe[.] Copy"
        ):
            open_data(str(tmp_path / "pipe"))


def test_standard_input_and_links_that_lead_nowhere_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("gone").symlink_to("nowhere")
    for name in ("loop", "gone"):
        with pytest.raises(ArgumentError, match=f"--data: .*, got a link that leads nowhere: {name}. Name another"):
            data_path(name)
    with pytest.raises(ArgumentError, match="got -; copy standard input into a file and name it"):
        data_path("-")
