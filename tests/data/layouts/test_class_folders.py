from pathlib import Path

import pytest

from image_files import COLOURS, folder_of
from saccade.data.dataset import SPLITS
from saccade.data.layouts.class_folders import class_folders
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.sources import open_files


def opened(folder, size=None):
    return open_files(str(folder), size, None, SplitNames())


def every(data):
    return [data.example(split, index) for split in SPLITS for index in range(data.size(split))]


def test_splits_and_labels_are_names_of_folders(tmp_path):
    data = opened(folder_of(tmp_path))
    assert data.labels == ("blue", "green", "red")
    assert {split: data.size(split) for split in SPLITS} == dict.fromkeys(SPLITS, 9)
    assert data.shape == (3, 13, 11)
    assert data.note == ""
    for image, label, group in every(data):
        assert tuple(image[:, 0, 0].tolist()) == COLOURS[label]
        assert group == ""


def labels(files, names=None, **more):
    tables = class_folders(dict.fromkeys(files), Path("x"), "texts", names or SplitNames(), **more)
    parts = {split: [(row["listed"], row["label"]) for row in table.rows] for split, table in tables.items()}
    return parts, next(iter(tables.values())).note


def test_splits_have_other_names_by_options():
    files = ["learn/a/1", "learn/b/2", "late/a/3"]
    parts, _ = labels(files, SplitNames({"train": "learn", "test": "late"}))
    assert parts == {"learn": [("learn/a/1", "a"), ("learn/b/2", "b")], "late": [("late/a/3", "a")]}
    with pytest.raises(ArgumentError, match="--train-split: expected the name of a part"):
        labels(["a/1", "b/2"], SplitNames({"train": "learn"}))


def test_lists_name_held_out_files_with_spaces_and_accents(tmp_path):
    listed = tmp_path / "testing_list.txt"
    listed.write_bytes("\ufeffhot dog/cafe\u0301.png\r\na/gone.png\n".encode())
    files = dict.fromkeys(["hot dog/caf\u00e9.png", "a/1.png", "a/2.png"]) | {"testing_list.txt": listed}
    tables = class_folders(files, Path("x"), "images", SplitNames())
    assert [row["label"] for row in tables["test"].rows] == ["hot dog"]
    assert tables["train"].note == "x: 1 of 2 files that the lists name are not there"


def test_files_without_a_label_are_left_out_and_said():
    parts, note = labels(["train/a/1", "train/b/2", "train/unsup/3", "README", "deep/er/than/4"], beside=True)
    assert [label for _, label in parts["train"]] == ["a", "b"]
    assert "left out 1 texts without a label (such as train/unsup/3)" in note
    assert "left out README, deep/er/than/4, in no folder of a label" in note


def test_labels_in_another_encoding_name_the_command():
    with pytest.raises(ArgumentError, match="convmv -f latin1"):
        labels(["caf\udce9/1", "b/2"])
