from types import SimpleNamespace

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate import vocabulary
from saccade.tasks.translate.data import open_corpus
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.vocabulary import Vocabulary, learn
from saccade.train.files import read_json, write_json


class Few:
    """Ten pairs, the last of them long."""

    def example(self, split, index):
        return Pair("ein Hund", "a dog" * (20 if index == 9 else 1), "")

    def size(self, split):
        return 10


def options(**given):
    return SimpleNamespace(**{"tokenizer": "characters", "vocabulary_size": 400, "max_length": 50, **given})


def test_byte_pairs_are_joint_characters_and_words_are_not():
    joint, apart, words = (learn(Few(), options(tokenizer=kind))[0] for kind in ("bpe", "characters", "words"))
    assert words.source.units == ("Hund", "ein") and set(words.target.units) > {"a", "dog"} and not words.joint
    assert joint.source is joint.target and apart.source is not apart.target and joint.joint and not apart.joint
    assert apart.source.decode(apart.source.encode("Hund dog")) == "Hund d\ufffd\ufffd"


def test_longest_target_is_the_longest_that_is_trained_on():
    learned, note = learn(Few(), options())
    assert learned.longest == 5
    assert note.startswith("1 of 10 training pairs looked at have a side of more than 50 tokens")
    learned, note = learn(Few(), options(max_length=100))
    assert (learned.longest, note) == (100, "")


def test_nothing_to_train_on_is_refused():
    with pytest.raises(ArgumentError, match="--max-length: each training pair has a side of more than 4 tokens"):
        learn(Few(), options(max_length=4))


def test_endless_data_are_sampled(monkeypatch):
    monkeypatch.setattr(vocabulary, "_ENDLESS", 500)
    learned, _ = learn(open_corpus("dates"), options())
    assert learned.longest == len("2025-06-18") and learned.target.decode(learned.target.encode("2025-06-18"))


@pytest.mark.parametrize("kind", ["bpe", "characters", "words"])
def test_what_is_saved_is_read_back(tmp_path, kind):
    learned, _ = learn(Few(), options(tokenizer=kind))
    learned.save(tmp_path)
    again = Vocabulary.restore(tmp_path)
    assert (again.longest, again.joint) == (learned.longest, kind == "bpe") and again.joint == learned.joint
    for text in ("ein Hund", "a dog", "💥"):
        assert again.source.encode(text) == learned.source.encode(text)
        assert again.target.encode(text) == learned.target.encode(text)


WRONG = (
    {"longest_target": -1},
    {"longest_target": True},
    {"longest_target": 2**40},
    {"source": 3},
    {"source": {"kind": "characters"}},
    {"target": {"kind": "syllables"}},
    {"target": None},
)


@pytest.mark.parametrize("change", WRONG)
def test_what_is_no_vocabulary_is_named(tmp_path, change):
    learn(Few(), options())[0].save(tmp_path)
    write_json(tmp_path / "tokenizer.json", {**read_json(tmp_path / "tokenizer.json"), **change})
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        Vocabulary.restore(tmp_path)


@pytest.mark.parametrize("content", [None, "{", "[]", "3", '{"joint": 3, "longest_target": 2}'])
def test_a_file_that_is_damaged_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected .* of this run|tokenizer\.json"):
        Vocabulary.restore(tmp_path)


@pytest.mark.parametrize("kind", ["bpe", "characters", "words"])
def test_a_tokenizer_learns_from_the_front_of_a_text(kind, monkeypatch):
    monkeypatch.setattr(Few, "example", lambda self, split, index: Pair("ab " * 5000 + "z", "a dog", ""))
    with pytest.raises(ArgumentError, match="each training pair has a side of more than 50 tokens"):
        learn(Few(), options(tokenizer=kind))
    source, _ = vocabulary._tokenizers([Pair("ab " * 5000 + "z", "a dog", "")], options(tokenizer=kind))
    assert "z" not in getattr(source, "units", ()) and source.encode("ab")
