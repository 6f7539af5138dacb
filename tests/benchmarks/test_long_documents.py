"""Long documents are made of what they say, split by split."""

import pytest

from scripts import script

PACKAGE = '''
from elsewhere import Bible, Book, Version
bible = Bible(
    Version.KING_JAMES,
    """
1. In the beginning [was] light. 2. And it was good.
1. A second chapter.
1. A gospel.
""",
    {1001001: 1, 1001002: 34, 1002001: 54, 40001001: 75},
    {1001001: 33, 1001002: 53, 1002001: 74, 40001001: 87},
    {Book.GENESIS: "GENESIS"},
    False,
)
'''


@pytest.fixture(name="script")
def program():
    return script("benchmarks/long_documents.py")


def test_chapter_is_its_verses_without_numbers_and_brackets(script, tmp_path):
    (tmp_path / "plain_text_bible.py").write_text(PACKAGE)
    assert list(script.chapters(tmp_path / "plain_text_bible.py")) == [
        ("train", "In the beginning was light. And it was good.", "law"),
        ("test", "A second chapter.", "law"),
        ("train", "A gospel.", "gospels and acts"),
    ]


def test_a_mixture_is_of_its_own_split(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SIZES", {"train": 3, "validation": 1, "test": 1})
    for split, name in (("train", "train"), ("validation", "dev"), ("test", "test")):
        rows = (f"{n % 2} {split}{'ab'[n % 2]}{n}\n" for n in range(60))
        (tmp_path / f"films.{name}").write_text("".join(rows))
    found = list(script.mixtures(str(tmp_path / "films")))
    assert [split for split, *_ in found] == ["train"] * 3 + ["validation", "test"]
    for split, text, label in found:
        sentences = text.split()
        own = f"{split}{'ab'[int(label)]}"
        assert len(set(sentences)) == script.SENTENCES and all(one.startswith(split) for one in sentences)
        assert sum(one.startswith(own) for one in sentences) == script.OF_CLASS
    assert found == list(script.mixtures(str(tmp_path / "films")))
