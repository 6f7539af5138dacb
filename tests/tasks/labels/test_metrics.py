import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.labels.metrics import HEADLINE, accuracy, confusion, f1, measured

ANSWERS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(["", "x", "y"])), min_size=1)


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    found, wanted = [0, 1, 1, 2, 1, 0], [0, 1, 2, 1, 1, 2]
    for label in range(3):
        right = sum(a == b == label for a, b in zip(found, wanted, strict=True))
        precision, recall = right / max(1, found.count(label)), right / wanted.count(label)
        expected = 2 * precision * recall / (precision + recall) if right else 0.0
        assert f1(found, wanted, label) == pytest.approx(expected)
    assert f1([], [], 0) == 0 == f1([1], [1], 0)


def test_accuracy_is_a_share():
    assert accuracy([], []) == 0 and accuracy([1], [1]) == 1
    with pytest.raises(ValueError, match="argument"):
        accuracy([1], [])


@given(ANSWERS)
def test_classes_add_up_to_the_whole_and_groups_are_measured_alone(rows):
    found, wanted, groups = (list(column) for column in zip(*rows, strict=True))
    metrics, parts = measured(found, wanted, ("a", "b", "c"), groups)
    assert metrics[HEADLINE] == accuracy(found, wanted)
    sizes = {"abc"[label]: wanted.count(label) for label in set(wanted)}
    mean = sum(parts[HEADLINE][name] * size for name, size in sizes.items()) / len(wanted)
    assert mean == pytest.approx(metrics[HEADLINE])
    for group in set(groups) - {""}:
        own = [(a, b) for a, b, name in rows if name == group]
        assert parts[HEADLINE][group] == pytest.approx(sum(a == b for a, b in own) / len(own))
    assert set(parts["macro_f1"]) == {"abc"[label] for label in {*found, *wanted}}
    assert metrics["macro_f1"] == pytest.approx(sum(parts["macro_f1"].values()) / len(parts["macro_f1"]))


@given(ANSWERS, st.randoms())
def test_the_order_is_no_matter(rows, random):
    def all_of(rows):
        found, wanted, groups = (list(column) for column in zip(*rows, strict=True))
        return measured(found, wanted, ("a", "b", "c"), groups)

    other = [*rows]
    random.shuffle(other)
    assert all_of(other)[0] == pytest.approx(all_of(rows)[0])


@given(ANSWERS)
def test_a_confusion_matrix_counts_every_example(rows):
    labels = ["a", "b", "c"]
    targets, predictions = ([labels[row[part]] for row in rows] for part in (1, 0))
    counts = confusion(targets, predictions, labels)
    pairs = list(zip(targets, predictions, strict=True))
    assert {(t, p): n for t, row in counts.items() for p, n in row.items()} == {
        pair: pairs.count(pair) for pair in pairs
    }
    assert all(names == sorted(names) for names in map(list, (counts, *counts.values())))


def test_many_labels_have_their_most_frequent_confusions():
    labels = [f"{number:03}" for number in range(101)]
    targets = [label for number, label in enumerate(labels) for _ in range(number)]
    counts = confusion(targets, ["000"] * len(targets), labels)
    assert {label: row["000"] for label, row in counts.items()} == {f"{number:03}": number for number in range(51, 101)}
    assert confusion(labels, labels, labels) == {}
