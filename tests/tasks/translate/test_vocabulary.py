from types import SimpleNamespace

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.data import open_corpus
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.vocabulary import learn


class Few:
    """Ten pairs, the last of them long."""

    def example(self, split, index):
        return Pair("ein Hund", "a dog" * (20 if index == 9 else 1), "")

    def size(self, split):
        return 10


def options(**given):
    return SimpleNamespace(**{"tokenizer": "characters", "vocabulary_size": 400, "max_length": 50, **given})


def test_byte_pairs_serve_both_sides_and_characters_one_each():
    joint, apart = (learn(Few(), options(tokenizer=kind)) for kind in ("bpe", "characters"))
    assert joint.source is joint.target and apart.source is not apart.target
    assert apart.source.decode(apart.source.encode("Hund dog")) == "Hund d\ufffd\ufffd"


def test_the_longest_target_is_the_longest_that_is_trained_on():
    learned = learn(Few(), options())
    assert learned.longest == 5
    assert learned.note.startswith("1 of 10 training pairs looked at have a side of more than 50 tokens")
    assert learn(Few(), options(max_length=100)).longest == 100 and not learn(Few(), options(max_length=100)).note


def test_nothing_to_train_on_is_refused():
    with pytest.raises(ArgumentError, match="--max-length: each training pair has a side of more than 4 tokens"):
        learn(Few(), options(max_length=4))


def test_endless_data_are_sampled():
    learned = learn(open_corpus("dates"), options())
    assert learned.longest == len("2025-06-18") and learned.target.decode(learned.target.encode("2025-06-18"))
