"""Which files of a folder are tables, by their splits, and which of their lines count."""

import gzip

import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.tables import is_table, tables, told_rows

NAMES = SplitNames()


def test_a_file_alone_is_all_splits_wherever_it_is_named(tmp_path):
    path = tmp_path / "all.tsv.gz"
    path.write_bytes(gzip.compress(b"a.jpg\ta dog\n"))
    assert is_table(tmp_path, NAMES, "all") and is_table(path, NAMES, "other")
    assert not is_table(tmp_path, NAMES, "other")
    assert tables(tmp_path, NAMES, "all") == tables(path, NAMES, "other") == {"": path}
    with pytest.raises(ArgumentError, match="--test-split: .*got odd"):
        list(told_rows(path, ("image", "caption"), "a row", SplitNames({"test": "odd"})))


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
    rows = told_rows(path, ("image", "caption"), "an image and a caption", NAMES)
    found = [(where.rpartition(" ")[2], cells) for where, cells, _ in (next(rows), next(rows))]
    assert found == [("3", ["a.jpg", "a dog"]), ("5", ["image", "caption"])]
    with pytest.raises(ArgumentError, match=r"line 6: expected an image and a caption, got no tab"):
        next(rows)
    assert next(told_rows(path, ("image", "text"), "", NAMES))[:2] == (f"{path}: line 1", ["Image", "Caption"])


def test_a_column_says_the_split_of_each_row(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text('caption,split,image\n"a dog, asleep",dev,a.jpg\na cat,train,b.jpg\n')
    rows = [(cells, split) for _, cells, split in told_rows(path, ("image", "caption"), "", NAMES)]
    assert rows == [(["a.jpg", "a dog, asleep"], "validation"), (["b.jpg", "a cat"], "train")]
    with pytest.raises(ArgumentError, match=r"line 2: column split: expected test, .* got 'dev'"):
        list(told_rows(path, ("image", "caption"), "", NAMES, "test"))
    late = SplitNames({"test": "late"})
    with pytest.raises(ArgumentError, match="--test-split: .*got late; there is train, validation"):
        list(told_rows(path, ("image", "caption"), "", late))
    path.write_text(path.read_text() + "a bird,late,c.jpg\n")
    assert [split for *_, split in told_rows(path, ("image", "caption"), "", late)] == ["validation", "train", "test"]
