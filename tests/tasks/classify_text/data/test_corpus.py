import pytest

from saccade.data.rows import rows_of
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data import open_corpus
from saccade.tasks.classify_text.data.corpus import Corpus, Example, Texts
from saccade.tasks.classify_text.data.reviews import Reviews

SPLITS = {"train": [("a fine film", "good"), ("dull", "bad")], "dev": [("fine", "good")], "test": [("dull", "bad")]}


def named(row, labels):
    return dict(zip(("text", "label"), row, strict=True))


def test_examples_are_rows_without_a_group():
    corpus = Texts(rows_of(SPLITS, named, dict.items), "data")
    assert [corpus.example("train", n) for n in (0, 1)] == [Example(*row, "") for row in SPLITS["train"]]
    assert corpus.labels == ("bad", "good") and corpus.size("test") == 1
    for split, index in (("train", 2), ("test", -1), ("dev", 0)):
        with pytest.raises(ArgumentError, match="index: expected|split: expected"):
            corpus.example(split, index)


def test_corpora_have_all_that_one_must_have():
    members = {name for name in dir(Corpus) if not name.startswith("_")}
    assert members == {"example", "size", "fingerprint", "note", "labels"}
    for corpus in (Reviews(), open_corpus("objects", SPLITS)):
        assert all(hasattr(corpus, name) for name in members)


def marked(**splits):
    """A corpus of texts in markup, "good" and "bad" in turn, unless a text comes with its label."""
    given = {
        split: [text if isinstance(text, tuple) else (text, ("good", "bad")[n % 2]) for n, text in enumerate(texts)]
        for split, texts in splits.items()
    }
    return open_corpus("objects", given, strip_markup=True)


def test_texts_of_markup_alone_are_left_out():
    corpus = marked(
        train=["<p>a", "b", "<br /> <!-- c -->", "d"], validation=["<i>e</i>"], test=["&nbsp;", "f &amp; g"]
    )
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [3, 1, 1]
    assert corpus.example("train", 0).text == " a" and corpus.example("test", 0).text == "f & g"
    said = "left out 1 of 2 texts, which are blank without markup; the first is row 1"
    assert corpus.note.endswith(f"data: test: {said}") and corpus.fingerprint.endswith(", without markup")
    with pytest.raises(ArgumentError, match="data: test: left out 1 of 1 texts, which are blank without markup"):
        marked(train=["a", "b"], validation=["c"], test=["<p>"])


def test_labels_of_texts_that_are_left_out_are_none():
    with pytest.raises(ArgumentError, match="expected two labels or more to train on, got 'good' alone"):
        marked(train=["a", "<br>", "c"], validation=["d"], test=["d"])
    with pytest.raises(ArgumentError, match="the label 'fair' of the test split is in no text to train on"):
        marked(train=["a", "b", ("<p>", "fair")], validation=["d"], test=[("e", "fair")])
    assert marked(train=["a", "b", ("<p>", "fair")], validation=["d"], test=["e", ("<p>", "fair")]).size("test") == 1
