import torch

from saccade.tasks.text.tokenizer import Characters, SpacedWords
from saccade.tasks.translate.batches import Encoded, encode_fitting, pad
from saccade.tasks.translate.batches import encode as encode_pairs
from saccade.tasks.translate.data.corpus import Pair


def test_padding_begin_and_end():
    batch = pad([Encoded([7, 8], [9]), Encoded([], [4, 5, 6])]).to(torch.device("cpu"))
    assert batch.source.values.tolist() == [[7, 8, 2], [2, 0, 0]] and batch.source.lengths.tolist() == [3, 1]
    assert batch.target.tolist() == [[1, 9, 2, 0, 0], [1, 4, 5, 6, 2]]


def test_pairs_are_encoded_side_by_side():
    source, target = Characters("ab"), Characters("bc")
    assert encode_pairs([Pair("ab", "c", ""), Pair("", "b", "")], source, target) == [([4, 5], [5]), ([], [4])]


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
