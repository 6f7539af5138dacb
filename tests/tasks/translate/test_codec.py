from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade._system.files import read_json, write_json
from saccade.errors import ArgumentError
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters, SpacedWords
from saccade.tasks.translate.codec import Encoded, Pairs, encode_fitting, encode_sources, pad
from saccade.tasks.translate.data.corpus import Pair

LETTERS = Characters("abc ")
BPE = BytePairs.learn(["ein Mann fährt Fahrrad", "der Mann sieht ein Fahrrad"] * 5, 400)


@pytest.mark.parametrize(("text", "ids", "whole"), [("abc", 3, True), ("abcabc", 5, False), ("  abc \n", 3, True)])
def test_a_text_is_cut_to_what_a_model_takes(text, ids, whole):
    [source] = encode_sources([text], LETTERS, 5)
    assert (len(source.ids), source.whole, source.text) == (ids, whole, text)
    assert source.pieces(LETTERS) == list(text.strip()[:5])


def test_of_text_of_any_length_only_the_front_is_looked_at():
    [source] = encode_sources(["a" * 10**6], LETTERS, 5)
    assert source.ids == [4] * 5 and not source.whole and len(source.part) == 64 * 5 and len(source.text) == 10**6
    [narrow] = encode_sources(["ab" + " " * 10**4 + "c"], LETTERS, 5)
    assert not narrow.whole  # what lies beyond is not known, so that it may be some


@given(st.lists(st.text(max_size=20), max_size=5), st.integers(1, 9))
def test_many_are_each_as_alone(texts, most):
    together = encode_sources(texts, BPE, most)
    assert together == [encode_sources([text], BPE, most, number)[0] for number, text in enumerate(texts, 1)]
    for source in together:
        assert len(source.ids) <= most and len(source.pieces(BPE)) == len(source.ids)
        assert source.whole == (BPE.encode(source.text.strip())[:most] == BPE.encode(source.text.strip()))


def test_padding_begin_and_end():
    batch = pad([Encoded([7, 8], [9]), Encoded([], [4, 5, 6])]).to(torch.device("cpu"))
    assert batch.source.values.tolist() == [[7, 8, 2], [2, 0, 0]] and batch.source.lengths.tolist() == [3, 1]
    assert batch.target.tolist() == [[1, 9, 2, 0, 0], [1, 4, 5, 6, 2]]


def test_pairs_with_a_long_side_are_left_out():
    source, target = Characters("ab"), Characters("bc")
    pairs = [Pair("ab", "c", ""), Pair("abb", "b", ""), Pair("b", "bcb", "")]
    assert encode_fitting(pairs, source, target, 2) == [([4, 5], [5])]


def test_a_huge_side_is_left_out_without_a_look(monkeypatch):
    words, read = SpacedWords(["b"]), []
    monkeypatch.setattr(SpacedWords, "split", staticmethod(lambda text: read.append(text) or text.split()))
    pairs = [Pair("b" * 129, "b", ""), Pair("b", "b" * 129, ""), Pair("b", "b" * 128, "")]
    assert encode_fitting(pairs, words, words, 2) == [([4], [3])] and max(map(len, read)) == 128


def test_the_longer_side_counts_with_its_end():
    assert Encoded([4] * 3, [5] * 7).size == 8 == Encoded([4] * 7, []).size
    assert sorted([Encoded([4, 4], [5]), Encoded([4], [5, 5])], key=lambda pair: pair.order)[0].source == [4]


class Few:
    """Ten pairs, the last of them long."""

    def example(self, split, index):
        return Pair("ein Hund", "a dog" * (20 if index == 9 else 1), "")

    def size(self, split):
        return 10


def options(**given):
    return SimpleNamespace(**{"tokenizer": "characters", "vocabulary_size": 400, "max_length": 50, **given})


def test_byte_pairs_are_joint_characters_and_words_are_not():
    joint, apart, words = (Pairs.fit(Few(), options(tokenizer=kind))[0] for kind in ("bpe", "characters", "words"))
    assert words.source.units == ("Hund", "ein") and set(words.target.units) > {"a", "dog"} and not words.joint
    assert joint.source is joint.target and apart.source is not apart.target and joint.joint and not apart.joint
    assert apart.source.decode(apart.source.encode("Hund dog")) == "Hund d\ufffd\ufffd"


def test_longest_target_is_the_longest_that_is_trained_on():
    learned, [note] = Pairs.fit(Few(), options())
    assert learned.longest == 5
    assert note.startswith("1 of 10 training pairs looked at have a side of more than 50 tokens")
    learned, [note] = Pairs.fit(Few(), options(max_length=100))
    assert (learned.longest, note) == (100, "")


def test_nothing_to_train_on_is_refused():
    with pytest.raises(ArgumentError, match="--max-length: each training pair has a side of more than 4 tokens"):
        Pairs.fit(Few(), options(max_length=4))


@pytest.mark.parametrize("kind", ["bpe", "characters", "words"])
def test_what_is_saved_is_read_back(tmp_path, kind):
    learned, _ = Pairs.fit(Few(), options(tokenizer=kind))
    learned.save(tmp_path)
    again = Pairs.restore(tmp_path, None)
    assert (again.longest, again.joint) == (learned.longest, kind == "bpe") and again.joint == learned.joint
    for text in ("ein Hund", "a dog", "💥"):
        assert again.source.encode(text) == learned.source.encode(text)
        assert again.target.encode(text) == learned.target.encode(text)


@pytest.mark.parametrize(
    "change",
    [
        *({"longest_target": number} for number in (-1, True, 2**40)),
        *({"source": side} for side in (3, {"kind": "characters"})),
        *({"target": side} for side in ({"kind": "syllables"}, None)),
        {"joint": 3},
        *(None, "{", "[]", "3"),
    ],
)
def test_what_is_no_vocabulary_is_named(tmp_path, change):
    path = tmp_path / "tokenizer.json"
    if isinstance(change, dict):
        Pairs.fit(Few(), options())[0].save(tmp_path)
        write_json(path, {**read_json(path), **change})
    elif change is not None:
        path.write_text(change)
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        Pairs.restore(tmp_path, None)


@pytest.mark.parametrize("kind", ["bpe", "characters", "words"])
def test_a_tokenizer_learns_from_the_front_of_a_text(kind, monkeypatch):
    texts = ["ab " * 5000 + "z", "ab"]
    monkeypatch.setattr(Few, "example", lambda self, split, index: Pair(texts[index % 2], "a dog", ""))
    learned, _ = Pairs.fit(Few(), options(tokenizer=kind))
    assert "z" not in getattr(learned.source, "units", ()) and learned.source.encode("ab")
