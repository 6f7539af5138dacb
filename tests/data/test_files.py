import pytest

from saccade.data import Column
from saccade.data.files import open_tables, split_files
from saccade.data.splits import SplitNames
from saccade.data.tables import read_table
from saccade.errors import ArgumentError


def opened(path, names=None):
    return open_tables(path, names or SplitNames(), lambda file: read_table(file, [Column("text", ("text",))]))


def test_a_file_is_one_table_and_a_folder_one_a_split(tmp_path):
    for name in ("train.csv", "Dev.jsonl", "notes.csv", "README.txt"):
        (tmp_path / name).write_text('{"text": "a"}' if name.endswith("l") else "text\na\n")
    assert list(opened(tmp_path / "train.csv")) == [""]
    assert list(opened(tmp_path)) == ["train", "dev"]
    assert opened(tmp_path / "nowhere") is None
    (tmp_path / "train.csv").unlink()
    assert opened(tmp_path) is None


def test_a_plain_file_goes_before_the_same_packed(tmp_path):
    for name in ("train.csv", "train.csv.gz", "test.tsv.gz"):
        (tmp_path / name).write_text("")
    files = split_files(tmp_path, SplitNames(), (".csv", ".tsv"))
    assert {name: file.name for name, file in files.items()} == {"train": "train.csv", "test": "test.tsv.gz"}


def test_two_files_of_a_split_are_an_error(tmp_path):
    for name in ("train.csv", "train.tsv"):
        (tmp_path / name).write_text("")
    with pytest.raises(ArgumentError, match="expected one file of train, got train.csv and train.tsv; move away all"):
        split_files(tmp_path, SplitNames(), (".csv", ".tsv"))


def test_names_may_begin_alike(tmp_path):
    for name in ("a.train", "a.dev", "b.train"):
        (tmp_path / name).write_text("")
    assert list(split_files(tmp_path, SplitNames(), ("",), "a.")) == ["train", "dev"]
    assert list(split_files(tmp_path, SplitNames({"test": "dev"}), ("",), "a.")) == ["train", "dev"]


def test_tables_of_arrow_beside_text_are_one_kind(tmp_path):
    (tmp_path / "train.csv").write_text("text\na\n")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/tmp.parquet").touch()
    assert list(opened(tmp_path)) == ["train"]
    (tmp_path / "train.parquet").touch()
    with pytest.raises(ArgumentError, match=r"expected one file of train, got train\.csv and train\.parquet"):
        opened(tmp_path)
