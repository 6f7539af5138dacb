import os

import pytest

from saccade.data.classes import divided, find_classes, list_names, read_list
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError


def found(files, names=None, **more):
    return find_classes(files, "folder", "texts", names or SplitNames(), **more)


def test_splits_have_other_names_by_options():
    names = SplitNames({"train": "20news-bydate-train", "test": "20news-bydate-test"})
    files = [f"20news-bydate-{split}/{label}/1" for split in ("train", "test") for label in ("alt.atheism", "sci.med")]
    assert {split: len(members) for split, members in found(files, names).splits.items()} == {"train": 2, "test": 2}
    assert found(files, names).missing == ["validation"]


def test_lists_name_the_held_out_files():
    files = [f"{word}/{n}.wav" for word in ("yes", "no") for n in range(3)]
    lists = {"validation": ["yes/0.wav", "gone/0.wav"], "test": ["no/1.wav"]}
    result = found(files, lists=lists)
    assert [one.name for one in result.splits["validation"]] == ["yes/0.wav"]
    assert len(result.splits["train"]) == 4 and result.missing == []
    assert result.note == "folder: 1 of 3 files that the lists name are not there"
    assert list_names(SplitNames())["validation_list.txt"] == "validation"


def test_names_in_lists_have_spaces_and_accents():
    listed = read_list("\ufeffhot dog/1.jpg\r\ncafe\u0301/2.jpg\n\n".encode())
    assert listed == ["hot dog/1.jpg", "cafe\u0301/2.jpg"]
    result = found(["hot dog/1.jpg", "hot dog/3.jpg", "caf\u00e9/2.jpg", "caf\u00e9/4.jpg"], lists={"test": listed})
    assert [one.name for one in result.splits["test"]] == ["hot dog/1.jpg", "caf\u00e9/2.jpg"] and result.note == ""


def test_what_has_no_label_is_left_out_and_said():
    files = ["train/pos/1.txt", "train/neg/2.txt", "train/unsup/3.txt", "train/urls_pos.txt", "README"]
    result = found(files, beside=True)
    assert [one.label for one in result.splits["train"]] == ["pos", "neg"]
    assert "left out 1 texts without a label (such as train/unsup/3.txt)" in result.note
    assert "left out train/urls_pos.txt, README, in no folder of a label" in result.note
    with pytest.raises(ArgumentError, match=r"train/urls_pos.txt: expected SPLIT/LABEL/FILE"):
        found(files)


def test_a_folder_deep_in_another_is_no_label_beside_others():
    result = found(["pos/1.txt", "neg/1.txt", "docs/notes/1.txt"], beside=True)
    assert [one.label for one in result.splits["train"]] == ["pos", "neg"]
    assert result.note == "folder: left out docs/notes/1.txt, in no folder of a label"
    whole = found(["20news/pos/1", "20news/neg/1", "20news/README", "LICENSE"], beside=True)
    assert [one.label for one in whole.splits["train"]] == ["pos", "neg"]


def test_labels_in_another_encoding_name_the_command():
    name = os.fsdecode(b"caf\xe9")
    with pytest.raises(ArgumentError, match=r"folders in UTF-8, got 'caf\ufffd'; .* convmv -f latin1 -t utf-8"):
        found([f"{name}/1.txt", "tea/1.txt"])


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ArgumentError, match="--validation-split: .* got dev2; there is test, train"):
        found(["train/a/1", "train/b/2", "test/a/1"], SplitNames({"validation": "dev2"}))


def test_missing_splits_are_held_out():
    result = found(["a/1", "a/2", "a/3", "b/1"])

    def divide(train, missing):
        assert len(train) == 4 and missing == ["validation", "test"]
        places = {"validation": [0], "test": [1], "train": [2, 3]}
        return {split: [place in inside for place in range(4)] for split, inside in places.items()}

    splits = divided(result, "x", "texts", divide)
    assert [[one.name for one in members] for members in splits.values()] == [["a/3", "b/1"], ["a/1"], ["a/2"]]
    assert list(splits) == ["train", "validation", "test"]
