"""Texts as ids of words: vocabulary, vectors, batches, and what a run saves of them."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade._system.files import read_json, write_json
from saccade.errors import ArgumentError
from saccade.models.bag import Bag
from saccade.models.bag import Options as BagOptions
from saccade.tasks.classify_text.codec import LabelledTexts
from saccade.tasks.labels.labelled import LabelledText
from saccade.tasks.text.codec import Text
from saccade.tasks.text.words import Words
from tiers import every

TEXTS = ["A good film .", "a bad film !", "the cast is good", "the plot is dull , dull"]
VECTORS = "good 1 2 3\ndull 4 5 6\nelse 7 8 9\n"


class Few:
    labels = ("bad", "good")

    def example(self, split, index):
        return LabelledText(TEXTS[index], self.labels[index % 2], "")

    def size(self, split):
        return len(TEXTS)


def options(**more):
    defaults = {"vocabulary_size": 100, "min_count": 1, "max_length": 50, "vectors": None, "embedding_dim": None}
    return SimpleNamespace(**{**asdict(BagOptions()), **defaults, "freeze_vectors": False, **more})


def fit(**more):
    return LabelledTexts.fit(Few(), options(**more))


def noted(**more):
    return [*filter(None, fit(**more)[1])]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "v.txt"
    path.write_text(VECTORS)
    return str(path)


def test_words_and_labels_are_learned():
    codec, _ = fit()
    assert codec.labels == ("bad", "good") and noted() == [] and codec.dim is None and codec.vectors is None
    assert codec.words.words[0] in {"a", "good", "film", "the", "is", "dull"} and "cast" in codec.words.words
    assert fit(min_count=2)[0].words.words == ["a", "dull", "film", "good", "is", "the"]
    assert len(fit(vocabulary_size=6)[0].words.words) == 2


def test_labels_that_differ_by_case_are_noted(monkeypatch):
    monkeypatch.setattr(Few, "labels", ("Good", "good"))
    assert noted() == ["the labels 'Good' and 'good' are alike but for case or spaces"]


def test_too_long_texts_are_counted():
    cut = "1 of 4 training texts looked at have more than 4 words (--max-length), and later words are not read"
    assert noted(max_length=4) == [cut]


def test_a_vocabulary_without_words_is_rejected():
    with pytest.raises(ArgumentError, match="--min-count: no word is 9 times in the training split; lower it"):
        fit(min_count=9)


@every(
    ("text", "most", "tokens", "whole"),
    [
        ("A good film", 3, ["A", "good", "film"], True),
        ("A good film", 2, ["A", "good"], False),
        ("  A good \n", 2, ["A", "good"], True),
        ("", 2, [], True),
        ("x" * 1000, 3, ["x" * 192], False),  # 64 characters a word are cut into words
    ],
)
def test_the_first_words_of_a_text_are_read(text, most, tokens, whole):
    assert fit(max_length=most)[0].tokens(text) == (tokens, whole)


def test_no_more_of_a_long_text_is_cut_than_is_read(monkeypatch):
    lengths, pieces = list[int](), Words.pieces
    monkeypatch.setattr(Words, "pieces", lambda self, text: lengths.append(len(text)) or pieces(self, text))
    monkeypatch.setitem(globals(), "TEXTS", ["word " * 100_000, *TEXTS])
    assert noted(max_length=10)[0].startswith("1 of 5 training texts looked at have more than 10 words")
    assert max(lengths) <= 64 * 10 + 1


def test_each_text_is_cut_once(monkeypatch):
    codec, cut, pieces = fit()[0], [], Words.pieces
    monkeypatch.setattr(Words, "pieces", lambda self, text: cut.append(text) or pieces(self, text))
    examples = [Few().example("train", index) for index in (0, 1, 0)]
    first = codec.encode(examples, "train")
    assert codec.encode(examples, "validation") == first and cut == TEXTS[:2]
    assert [text.labels for text in first] == [[0], [1], [0]] and first[0].ids == codec.words.encode(TEXTS[0])
    with pytest.raises(ArgumentError, match=r"expected labels of the run \(bad, good\), got 'new' in test; correct"):
        codec.encode([LabelledText("film", "new", "")], "test")


@given(st.lists(st.tuples(st.lists(st.integers(4, 99), min_size=1, max_size=9), st.integers(0, 3)), min_size=1))
def test_a_batch_is_padded_ids_with_labels(rows):
    texts = [Text(ids, [label]) for ids, label in rows]
    (values, lengths), labels = LabelledTexts(("a", "b"), Words([])).collate(texts)
    assert values.shape == (len(rows), max(text.size for text in texts))
    assert lengths.tolist() == [text.order for text in texts] and labels.tolist() == [label for _, label in rows]
    for row, text in zip(values.tolist(), texts, strict=True):
        assert row[: text.size] == text.ids and not any(row[text.size :])


def test_initial_vectors_are_saved_with_the_words(tmp_path, vectors):
    codec, _ = fit(vectors=vectors)
    assert noted(vectors=vectors) == [f"2 of {len(codec.words.words)} words have a vector in {vectors}, of 3 numbers"]
    codec.save(tmp_path)
    again = LabelledTexts.restore(tmp_path, options(vectors=vectors))
    assert (again.labels, again.dim, again.words.words) == (codec.labels, 3, codec.words.words)
    embeddings = []
    for member in (codec, again):
        torch.manual_seed(5)
        embeddings.append(member.build(Bag).words.embedding.weight)
    assert torch.equal(*embeddings)
    assert torch.equal(embeddings[0][codec.words.encode("good dull")], torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    assert LabelledTexts.restore(tmp_path, options()).vectors is None
    with pytest.raises(ArgumentError, match="--embedding-dim: expected 3, as .* has, got 4"):
        fit(vectors=vectors, embedding_dim=4)


WRONG = ({"labels": ["a"]}, {"labels": "ab"}, {"labels": [1, 2]}, {"embedding_dim": -1}, {"embedding_dim": True})
WRONG = (*WRONG, {"words": {"words": ["a", "a"]}}, {"words": 3}, {"words": {}})


@every("change", [*WRONG, None, b"{", b"[]", b'{"words": 3}', b"\xff"])
def test_damaged_words_are_named(tmp_path, change):
    fit()[0].save(tmp_path)
    path = tmp_path / "tokenizer.json"
    if change is None:
        path.unlink()
    elif isinstance(change, bytes):
        path.write_bytes(change)
    else:
        write_json(path, {**read_json(path), **change})
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        LabelledTexts.restore(tmp_path, options())


@every("content", [None, b"", b"noise"])
def test_damaged_vectors_are_named(tmp_path, vectors, content):
    fit()[0].save(tmp_path)
    if content is not None:
        (tmp_path / "vectors.safetensors").write_bytes(content)
    with pytest.raises(ArgumentError, match=r"vectors\.safetensors: expected the word vectors of this run, got"):
        LabelledTexts.restore(tmp_path, options(vectors=vectors))


def test_the_regression_is_saved_with_the_words(tmp_path):
    codec, _ = fit(prior="tfidf")
    codec.save(tmp_path)
    again = LabelledTexts.restore(tmp_path, options(prior="tfidf"))
    assert all(map(torch.equal, again.prior, codec.prior)) and codec.prior.weight.shape == (len(codec.words), 2)
    batch = codec.collate(codec.encode([Few().example("train", index) for index in range(4)], "train"))
    assert torch.equal(again.build(Bag).eval()(batch.source).argmax(-1), batch.labels)
    assert fit()[0].prior is None and fit()[0].build(Bag).prior is None
    (tmp_path / "prior.safetensors").write_bytes(b"noise")
    with pytest.raises(ArgumentError, match=r"prior\.safetensors: expected the logistic regression of this run, got"):
        LabelledTexts.restore(tmp_path, options(prior="tfidf"))
