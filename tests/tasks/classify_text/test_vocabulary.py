from types import SimpleNamespace

import pytest
import torch

from saccade._system.files import read_json, write_json
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.corpus import Example
from saccade.tasks.classify_text.vocabulary import Vocabulary, learn
from saccade.tasks.text.words import Words
from tiers import every

TEXTS = ["A good film .", "a bad film !", "the cast is good", "the plot is dull , dull"]


class Few:
    labels = ("bad", "good")

    def example(self, split, index):
        return Example(TEXTS[index], self.labels[index % 2], "")

    def size(self, split):
        return len(TEXTS)


def options(**given):
    shared = {"vocabulary_size": 100, "min_count": 1, "max_length": 50, "vectors": None, "embedding_dim": None}
    return SimpleNamespace(**{**shared, **given})


def test_words_and_labels_are_learned():
    learned, notes = learn(Few(), options())
    assert learned.labels == ("bad", "good") and notes == () and learned.dim is None and learned.vectors is None
    assert learned.words.words[0] in {"a", "good", "film", "the", "is", "dull"} and "cast" in learned.words.words
    assert learn(Few(), options(min_count=2))[0].words.words == ["a", "dull", "film", "good", "is", "the"]
    assert len(learn(Few(), options(vocabulary_size=6))[0].words.words) == 2


def test_labels_that_are_alike_but_for_case_are_told(monkeypatch):
    monkeypatch.setattr(Few, "labels", ("Good", "good"))
    assert learn(Few(), options())[1] == ("the labels 'Good' and 'good' are alike but for case or spaces",)


def test_texts_that_are_too_long_are_counted():
    _, notes = learn(Few(), options(max_length=4))
    cut = "1 of 4 training texts looked at have more than 4 words"
    assert notes == (f"{cut}, and what follows these is not read (--max-length)",)


def test_nothing_to_learn_is_refused():
    with pytest.raises(ArgumentError, match="--min-count: no word is 9 times in the training split; lower it"):
        learn(Few(), options(min_count=9))


@every(
    ("text", "most", "tokens", "whole"),
    [
        ("A good film", 3, ["A", "good", "film"], True),
        ("A good film", 2, ["A", "good"], False),
        ("  A good \n", 2, ["A", "good"], True),
        ("", 2, [], True),
        ("x" * 1000, 3, ["x" * 192], False),  # what follows so many characters is not looked at
    ],
)
def test_so_many_words_are_read_and_no_more(text, most, tokens, whole):
    learned, _ = learn(Few(), options())
    assert learned.tokens(text, most) == (tokens, whole)


def test_what_is_saved_is_read_back_with_its_vectors(tmp_path):
    (tmp_path / "v.txt").write_text("good 1 2 3\ndull 4 5 6\nelse 7 8 9\n")
    learned, notes = learn(Few(), options(vectors=str(tmp_path / "v.txt")))
    assert notes == (f"2 of {len(learned.words.words)} words have a vector in {tmp_path / 'v.txt'}, of 3 numbers",)
    assert learned.dim == 3
    learned.save(tmp_path)
    again = Vocabulary.restore(tmp_path, vectors=True)
    assert (again.labels, again.dim, again.words.words) == (learned.labels, 3, learned.words.words)
    assert torch.equal(again.vectors.numbers, learned.vectors.numbers)
    assert torch.equal(again.vectors.values, learned.vectors.values)
    assert Vocabulary.restore(tmp_path, vectors=False).vectors is None
    with pytest.raises(ArgumentError, match="--embedding-dim: expected 3, as .* has, got 4"):
        learn(Few(), options(vectors=str(tmp_path / "v.txt"), embedding_dim=4))


WRONG = ({"labels": ["a"]}, {"labels": "ab"}, {"labels": [1, 2]}, {"embedding_dim": -1}, {"embedding_dim": True})
WRONG = (*WRONG, {"words": {"words": ["a", "a"]}}, {"words": 3}, {"words": {}})


@pytest.mark.parametrize("change", WRONG)
def test_what_is_no_vocabulary_is_named(tmp_path, change):
    learn(Few(), options())[0].save(tmp_path)
    write_json(tmp_path / "tokenizer.json", {**read_json(tmp_path / "tokenizer.json"), **change})
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        Vocabulary.restore(tmp_path, vectors=False)


@pytest.mark.parametrize("content", [None, b"{", b"[]", b'{"words": 3}', b"\xff"])
def test_a_file_that_is_damaged_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected the words and labels of this run"):
        Vocabulary.restore(tmp_path, vectors=False)


@pytest.mark.parametrize("content", [None, b"", b"noise"])
def test_vectors_that_are_damaged_or_gone_are_named(tmp_path, content):
    learn(Few(), options())[0].save(tmp_path)
    if content is not None:
        (tmp_path / "vectors.safetensors").write_bytes(content)
    with pytest.raises(ArgumentError, match=r"vectors\.safetensors: expected the word vectors of this run, got"):
        Vocabulary.restore(tmp_path, vectors=True)


def test_no_more_of_a_long_text_is_cut_into_words_than_is_read(monkeypatch):
    seen, pieces = list[int](), Words.pieces

    def watched(self, text):
        seen.append(len(text))
        return pieces(self, text)

    monkeypatch.setattr(Words, "pieces", watched)
    monkeypatch.setitem(globals(), "TEXTS", ["word " * 100_000, *TEXTS])
    learned, notes = learn(Few(), options(max_length=10))
    learned.tokens(TEXTS[0], 10)
    assert seen and max(seen) <= 64 * 10 + 1
    assert "1 of 5 training texts looked at have more than 10 words" in notes[0]
