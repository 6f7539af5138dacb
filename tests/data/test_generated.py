from itertools import count

import pytest

from saccade.data.generated import Generated, first_in
from saccade.errors import ArgumentError


class Squares(Generated[int]):
    held_out, fingerprint = 10, "squares 1"

    def make(self, split, index):
        return index**2


def test_training_is_endless_unless_it_has_a_size(monkeypatch):
    data = Squares()
    assert [data.size(split) for split in ("train", "validation", "test")] == [None, 10, 10]
    assert data.example("train", 10**6) == 10**12 and data.note == ""
    monkeypatch.setattr(Squares, "trained_on", 3)
    assert data.size("train") == 3
    for split, index, message in (
        ("tset", 0, "split: expected one of"),
        ("test", 10, "index: expected 0 <= index < 10"),
    ):
        with pytest.raises(ArgumentError, match=message):
            data.example(split, index)


def test_no_key_is_in_two_splits():
    chosen = {split: {first_in(split, count(100 * n), str, 3) for n in range(50)} for split in ("train", "test")}
    assert not chosen["train"] & chosen["test"] and all(chosen.values())
