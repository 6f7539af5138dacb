"""The built-in trees: one for each sentence, by a parser that knows the grammar alone."""

import re
import subprocess
from collections import Counter
from functools import cache
from itertools import product
from random import Random

import pytest

from saccade.tasks.translate.data.trees import _DEEPEST, GRAMMAR, LENGTHS, WORDS, Trees, draw
from tiers import rest_slow
from tiny import environment, python

TREES = Trees()


def trees_of(words):
    """All trees that the grammar has for a sentence, by trying every way of every symbol on every stretch."""

    @cache
    def of_symbol(symbol, first, last):
        shown = symbol.partition(":")[0]
        if symbol in WORDS:
            return [shown] if last == first + 1 and words[first] in WORDS[symbol] else []
        inside = [tree for _, way in GRAMMAR[symbol] for tree in of_way(tuple(way.split()), first, last)]
        return [f"({shown} {tree} ){shown}" if shown else tree for tree in inside]

    @cache
    def of_way(way, first, last):
        if len(way) == 1:
            return of_symbol(way[0], first, last)
        ends = range(first + 1, last - len(way) + 2)
        pairs = (product(of_symbol(way[0], first, end), of_way(way[1:], end, last)) for end in ends)
        return [f"{head} {rest}" for each in pairs for head, rest in each]

    return of_symbol("S", 0, len(words))


@pytest.mark.parametrize("split", rest_slow(["train", "validation", "test"]))
def test_sentence_has_one_tree_by_grammar_and_it_is_that(split):
    pairs = [pair for pair in (TREES.example(split, index) for index in range(25)) if len(pair.source.split()) < 20]
    assert len(pairs) > 10
    for pair in pairs:
        assert trees_of(pair.source.split()) == [pair.target]


def test_of_ambiguous_sentence_parser_would_find_all_trees():
    """With a rule more, by which a man's dog may be a king's."""
    assert trees_of(["he", "sees", "her", "cat", "."]) and not trees_of(["he", "sees", "her", "cat", "cat", "."])
    words = ["he", "sees", "the", "dog", "of", "the", "man", "of", "the", "king", "."]
    assert len(trees_of(words)) == 1
    more = {**GRAMMAR, "NP:short": ((1, ":short"), (1, "NP:short PP:of"))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "GRAMMAR", more)
        assert len(trees_of(words)) > 1


def test_brackets_match_and_each_word_has_its_tag():
    tags = {tag.partition(":")[0] for tag in WORDS}
    for index in range(300):
        pair, stack, read = TREES.example("train", index), [], 0
        for token in pair.target.split(" "):
            if token[0] == "(":
                stack.append(token[1:])
            elif token[0] == ")":
                assert stack.pop() == token[1:]
            else:
                assert token in tags
                read += 1
        assert not stack and read == len(pair.source.split(" "))


@pytest.mark.slow  # a process of its own
def test_an_example_is_the_same_in_any_process():
    code = (
        "from saccade.tasks.translate.data.trees import Trees\n"
        "print(Trees().example('train', 7), Trees().example('train', 2**63), Trees().fingerprint)"
    )
    settings = {"env": {**environment(), "PYTHONHASHSEED": "123"}, "capture_output": True, "text": True}
    done = subprocess.run(python("-c", code), check=True, **settings)
    again = Trees()
    assert done.stdout.strip() == f"{TREES.example('train', 7)} {again.example('train', 2**63)} {again.fingerprint}"


def test_no_test_sentence_is_trained_on_or_repeated():
    sentences = {split: [TREES.example(split, index).source for index in range(1000)] for split in ("train", "test")}
    assert len(set(sentences["test"])) == 1000 and not {*sentences["train"]} & {*sentences["test"]}
    assert TREES.size("test") == TREES.size("validation") == 1000 and TREES.size("train") is None


def test_groups_are_lengths_and_none_is_rare():
    pairs = [TREES.example("test", index) for index in range(1000)]
    for most, least in (("8", 0), ("13", 9), ("19", 14), ("", 20)):
        lengths = [len(pair.source.split()) for pair in pairs if pair.group == most]
        assert len(lengths) > 100 and min(lengths) >= least and max(lengths) <= int(most or 60)
        assert re.match(rf"up to {most}|{least} ", LENGTHS[most])


def test_every_rule_is_drawn_and_depth_is_bounded():
    drawn = Counter(token for index in range(600) for token in draw(Random(index))[0])
    assert set(drawn) == {word for words in WORDS.values() for word in words}

    def depth(tree):
        depths = [0]
        for token in tree:
            depths.append(depths[-1] + (token[0] == "(") - (token[0] == ")"))
        return max(depths)

    deep = [depth(draw(Random(index))[1]) for index in range(600)]
    assert 8 <= max(deep) <= _DEEPEST and max(depth(draw(Random(index), deepest=5)[1]) for index in range(200)) < 6
