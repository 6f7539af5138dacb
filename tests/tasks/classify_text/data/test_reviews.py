import pytest

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.reviews import GOOD, Reviews

REVIEWS = Reviews()


def some(split, count=500):
    return [REVIEWS.example(split, index) for index in range(count)]


def test_labels_and_forms_are_about_in_balance():
    for split in ("train", "validation", "test"):
        found = some(split)
        assert 0.4 < sum(example.label == "positive" for example in found) / len(found) < 0.6
        shares = {group: sum(example.group == group for example in found) / len(found) for group in ("plain", "turned")}
        assert 0.4 < shares["plain"] < 0.6 and 0.15 < shares["turned"] < 0.35


def test_no_sentence_is_in_two_splits_and_all_repeat():
    texts = {split: {example.text for example in some(split)} for split in ("train", "validation", "test")}
    assert not (
        texts["train"] & texts["test"] or texts["train"] & texts["validation"] or texts["test"] & texts["validation"]
    )
    assert some("train") == some("train") and len(texts["train"]) > 450


def test_a_negation_turns_the_label():
    for example in some("train"):
        if example.group == "turned":
            continue
        good = any(word in example.text.split() for word in GOOD)
        assert (example.label == "positive") == (good != (example.group == "negated")), example.text


def test_the_clause_after_but_counts():
    seen = 0
    for example in some("train", 2000):
        _, turn, main = example.text.partition(" but ")
        negations = ("not", "never", "hardly", "anything")
        if turn and not any(word in example.text.split() for word in negations) and example.group == "turned":
            good = any(word in main.split() for word in GOOD)
            assert (example.label == "positive") == good
            seen += 1
    assert seen > 20


@pytest.mark.parametrize(("split", "index"), [("test", 2000), ("train", -1), ("dev", 0)])
def test_missing_examples_are_rejected(split, index):
    with pytest.raises(ArgumentError, match="expected"):
        REVIEWS.example(split, index)
