import pytest

from saccade.data.layouts.conll import conll
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.runs import options
from saccade.tasks.tag_words import TAG_WORDS

TEXT = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\r\nrejects VBZ B-VP O\n\n\nPeter\tNNP\tI-PER\n"


def test_sentences_have_the_first_and_the_last_column(tmp_path):
    (tmp_path / "a.conll").write_text(TEXT)
    table = conll(tmp_path / "a.conll", SplitNames())[""]
    assert table.rows == [
        {"words": ["EU", "rejects"], "tags": ["B-ORG", "O"]},
        {"words": ["Peter"], "tags": ["I-PER"]},
    ]
    assert table.where(1) == f"line 7 of {tmp_path / 'a.conll'}"


def test_a_folder_has_a_file_of_each_split(tmp_path):
    for name, count in (("train", 3), ("valid", 2), ("test", 1)):
        (tmp_path / f"{name}.txt").write_text("".join(f"Ada B-PER\nmet O\n{name}{n} O\n\n" for n in range(count)))
    data = TAG_WORDS.open(options(TAG_WORDS, str(tmp_path), "self-attention", {}), None)
    assert [data.size(split) for split in ("train", "validation", "test")] == [3, 2, 1]
    assert data.example("test", 0)[:2] == ("Ada met test0", "B-PER O O")


def test_a_table_is_no_file_of_sentences(tmp_path):
    for rows in ("Ada met\tB-PER O\n", "Ada met\tB-PER O\n\nBo left\tB-PER O\n"):
        (tmp_path / "a.txt").write_text(f"words\ttags\n{rows}")
        assert conll(tmp_path / "a.txt", SplitNames()) is None
    assert conll(tmp_path / "a.csv", SplitNames()) is None and conll(tmp_path, SplitNames()) is None


def test_a_word_without_a_tag_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("Ada B-PER\n\nmet\n")
    with pytest.raises(ArgumentError, match=r"a\.txt: line 3: expected a word and its tag, got 'met' alone"):
        conll(tmp_path / "a.txt", SplitNames())
