"""Which files of a folder are tables, by their splits, and which of their lines count."""

import gzip

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.image.tables import is_table, tables, told_lines
from saccade.tasks.splits import SplitNames

NAMES = SplitNames()


def test_a_file_alone_is_all_splits_wherever_it_is_named(tmp_path):
    path = tmp_path / "all.tsv.gz"
    path.write_bytes(gzip.compress(b"a.jpg\ta dog\n"))
    assert is_table(tmp_path, NAMES, "all") and is_table(path, NAMES, "other")
    assert not is_table(tmp_path, NAMES, "other")
    assert tables(tmp_path, NAMES, "all") == tables(path, NAMES, "other") == {"": path}
    with pytest.raises(ArgumentError, match="--test-split: .*got odd"):
        tables(path, SplitNames({"test": "odd"}), "all")


def test_folder_has_a_file_for_each_split_before_one_of_all(tmp_path):
    for name in ("all", "train", "dev", "odd"):
        (tmp_path / f"{name}.tsv").write_text(f"a.jpg\t{name}\n")
    found = tables(tmp_path, NAMES, "all")
    assert {split: path.stem for split, path in found.items()} == {"train": "train", "validation": "dev"}
    assert tables(tmp_path, SplitNames({"test": "odd"}), "all")["test"].stem == "odd"
    with pytest.raises(ArgumentError, match=r"--test-split: .*there is all.tsv, dev.tsv, odd.tsv, train.tsv"):
        tables(tmp_path, SplitNames({"test": "none"}), "all")
    (tmp_path / "val.tsv").write_text("a.jpg\tanother\n")
    with pytest.raises(ArgumentError, match="say which by --validation-split"):
        tables(tmp_path, NAMES, "all")


def test_lines_are_named_by_number(tmp_path):
    path = tmp_path / "all.tsv"
    path.write_text("Image\tCaption\n\na.jpg\ta dog\n \nimage\tcaption\nb\n")
    found = [(where.rpartition(" ")[2], line) for where, line in told_lines(path, ("image", "caption"))]
    assert found == [("3", "a.jpg\ta dog"), ("5", "image\tcaption"), ("6", "b")]
    assert next(told_lines(path, ("image", "text"))) == (f"{path}: line 1", "Image\tCaption")
