import pytest

from saccade.data import Column, Examples, open_rows
from saccade.data.columns import words
from saccade.errors import ArgumentError
from tiers import every

COLUMNS = (Column("text", ("words",), words), Column("tags", ("tags",), words))
GOOD = [{"words": ["to", f"Rome{n}"], "tags": ["O", "PLACE"]} for n in range(20)]


def matched(row):
    if len(row["text"].split()) != len(row["tags"].split()):
        raise ValueError("expected a tag for each word")


def opened(rows):
    settings = {"labels": lambda row: row["tags"].split(), "check": matched, "what": "sentences"}
    return open_rows("objects", {}, COLUMNS, lambda rows: Examples(rows, dict), objects=rows, **settings)


@every(
    ("rows", "message"),
    [
        ([*GOOD, {"words": "to Rome", "tags": "O"}], "data: train, row 21: expected a tag for each word"),
        ([{**row, "tags": "O O"} for row in GOOD], "data: expected two labels or more to train on, got 'O' alone"),
        (
            {"train": GOOD, "test": [{"words": "in Rome", "tags": "O CITY"}]},
            "data: test, row 1: the label 'CITY' of the test split is in no row to train on; leave it out, or add sent",
        ),
        (
            [{"words": f"to Rome{n}", "tags": f"O{n} P{n}"} for n in range(20)],
            "data: expected labels that several sentences have, got 28 different ones for 14 sentences",
        ),
    ],
)
def test_labels_that_cannot_be_learned_are_rejected(rows, message):
    with pytest.raises(ArgumentError, match=message):
        opened(rows)


def test_lists_and_texts_are_the_same_rows():
    texts = [{name: " ".join(cell) for name, cell in row.items()} for row in GOOD]
    assert opened(texts).fingerprint == opened(GOOD).fingerprint
