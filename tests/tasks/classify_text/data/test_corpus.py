from itertools import chain

import numpy as np
import pytest

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.corpus import Corpus, Example, Files, WithoutMarkup
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


def marked(splits):
    """A corpus of texts in markup, "good" and "bad" in turn, unless a text comes with its label."""
    rows = [
        text if isinstance(text, tuple) else (text, ("good", "bad")[place % 2])
        for place, text in enumerate(chain(*splits.values()))
    ]
    ends = np.cumsum([0, *map(len, splits.values())])
    parts = {name: Split(rows, np.arange(*ends[n : n + 2])) for n, name in enumerate(splits)}
    return WithoutMarkup(Files(parts, "print", "noted", ("bad", "good")))


@pytest.mark.slow
def test_texts_of_markup_alone_are_left_out_and_said():
    corpus = marked(
        {"train": ["<p>a", "<br /> <!-- b -->", "c"], "validation": ["d"], "test": ["&nbsp;", "<i>e</i>", "f"]}
    )
    assert {split: corpus.size(split) for split in corpus.corpus.splits} == {"train": 2, "validation": 1, "test": 2}
    assert [corpus.example("train", n) for n in range(2)] == [Example(" a", "good", ""), Example("c", "good", "")]
    assert [corpus.example("test", n).text.strip() for n in range(2)] == ["e", "f"]
    said = "left out, as nothing is left of them without markup: 1 of 3 texts of train, 1 of 3 texts of test"
    assert corpus.note == f"noted; {said}" and corpus.fingerprint == "print, without markup, 2 left out"
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 2 in test, got 2"):
        corpus.example("test", 2)
    with pytest.raises(ArgumentError, match="without markup: no text of test is left, of 1; leave --strip-markup out"):
        marked({"train": ["a"], "validation": ["b"], "test": ["<p>"]}).size("train")
    assert WithoutMarkup(Reviews()).size("train") is None and WithoutMarkup(Reviews()).note == ""


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (["a", "<br>", "c"], ["d"], "without markup: expected two labels or more to train on, got 'good' alone"),
        (["a", "<br>", "c", "<br>", "e", ("f", "fair")], [("g", "bad")], "the label 'bad' of the test split is in no"),
    ],
)
def test_labels_of_texts_that_are_left_out_are_none(train, test, message):
    corpus = marked({"train": train, "validation": ["d"], "test": test})
    with pytest.raises(ArgumentError, match=message):
        corpus.labels
    assert corpus.example("test", 0).text  # what was trained before is still measured


def test_labels_are_those_of_the_texts_that_are_left():
    corpus = marked(
        {"train": ["a", "b", ("<p>", "fair"), "c", "d"], "validation": ["e"], "test": [("<p>", "fair"), "f"]}
    )
    assert list(corpus.labels) == ["bad", "good"]
