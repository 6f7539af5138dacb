from collections import Counter
from pathlib import Path

import pytest
import torch

from image_files import COLOURS, archive_of, folder_of, plain
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.image import folders
from saccade.tasks.image.folders import is_folders, open_folders

CIFAR = Path(__file__).resolve().parents[4] / "shared/data/cifar10_jpg"


def every(data):
    return [data.example(split, index) for split in SPLITS for index in range(data.size(split))]


def test_splits_and_labels_are_names_of_folders(tmp_path):
    data = open_folders(folder_of(tmp_path))
    assert data.labels == ("blue", "green", "red")
    assert {split: data.size(split) for split in SPLITS} == dict.fromkeys(SPLITS, 9)
    assert data.shape == (3, 13, 11)
    assert data.note == ""
    for image, label, group in every(data):
        assert tuple(image[:, 0, 0].tolist()) == COLOURS[label]
        assert group == ""


@pytest.mark.parametrize("root", ["", "./", "cifar10/"])
def test_an_archive_and_a_folder_with_it_are_the_same_data(tmp_path, root):
    folder = folder_of(tmp_path / "data")
    (tmp_path / "packed").mkdir()
    packed = archive_of(folder, tmp_path / "packed" / "a.tar.gz", root=root)
    (tmp_path / "packed" / "README.md").write_text("three colours")
    for path in (packed, packed.parent):
        assert is_folders(path)
        assert open_folders(path).fingerprint == open_folders(folder).fingerprint


def test_labels_alone_have_both_splits_held_out(tmp_path):
    folder = folder_of(tmp_path / "x", splits=("",), count=20)
    data = open_folders(folder)
    assert {split: data.size(split) for split in SPLITS} == {"train": 48, "validation": 6, "test": 6}
    assert Counter(label for _, label, _ in every(data)) == dict.fromkeys(COLOURS, 20)


def test_a_new_image_moves_few_others(tmp_path):
    folder = folder_of(tmp_path / "x", splits=("train", "test"), count=20)
    for number, path in enumerate(sorted((folder / "train").rglob("*.png"))):
        path.write_bytes(plain((number, 0, 0)))
    before = {int(example.image[0, 0, 0]) for example in parts(open_folders(folder), "validation")}
    (folder / "train" / "red" / "new.png").write_bytes(plain((200, 0, 0)))
    after = {int(example.image[0, 0, 0]) for example in parts(open_folders(folder), "validation")}
    assert len(before) == 6
    assert len(before ^ after) <= 2


def parts(data, split):
    return [data.example(split, index) for index in range(data.size(split))]


def test_sizes_are_the_first_images_or_what_is_asked_for(tmp_path):
    folder = folder_of(tmp_path)
    (folder / "train" / "red" / "9.png").write_bytes(plain(COLOURS["red"], (40, 90)))
    data = open_folders(folder)
    assert data.shape == (3, 13, 11)
    assert data.note == f"{folder}: scaled 1 of 28 images to 13 × 11"
    assert open_folders(folder, 16).shape == (3, 16, 16)
    assert torch.equal(open_folders(folder, 16).example("train", 0).image[:, 0, 0], torch.tensor(COLOURS["blue"]))


def test_large_images_are_scaled_to_64(tmp_path):
    assert open_folders(folder_of(tmp_path, count=1, size=(65, 30))).shape == (3, 64, 64)


def test_grey_images_stay_grey_unless_one_is_not(tmp_path):
    for split in SPLITS:
        for label, level in (("dark", 9), ("light", 200)):
            (tmp_path / split / label).mkdir(parents=True)
            (tmp_path / split / label / "1.png").write_bytes(plain(level, mode="L"))
    assert open_folders(tmp_path).shape == (1, 13, 11)
    (tmp_path / "test" / "dark" / "1.png").write_bytes(plain((9, 9, 9)))
    data = open_folders(tmp_path)
    assert data.shape == (3, 13, 11)
    assert data.example("train", 1).image[:, 0, 0].tolist() == [200] * 3


def test_what_is_wrong_is_said_with_the_file(tmp_path):
    with pytest.raises(ArgumentError, match=r"expected images as train/LABEL/\*.png"):
        open_folders(tmp_path)
    folder = folder_of(tmp_path, count=1)
    bad = folder / "train" / "red" / "bad.jpg"
    bad.write_bytes(b"no image")
    with pytest.raises(ArgumentError, match=r"train/red/bad.jpg: expected an image"):
        open_folders(folder)
    bad.unlink()
    (folder / "test" / "purple").mkdir()
    (folder / "test" / "purple" / "1.png").write_bytes(plain((9, 0, 9)))
    with pytest.raises(ArgumentError, match=r"label 'purple' of test/purple/1.png \(test\) is of no image to train"):
        open_folders(folder)
    (folder / "test" / "purple" / "1.png").unlink()
    (folder / "cat").mkdir()
    (folder / "cat" / "1.png").write_bytes(plain((9, 0, 9)))
    with pytest.raises(ArgumentError, match=r"expected all images in splits or none, got cat/1.png and"):
        open_folders(folder)


@pytest.mark.parametrize("path", ["1.png", "train/1.png", "a/b/c/1.png"])
def test_a_path_without_a_label_is_refused(tmp_path, path):
    (folder_of(tmp_path) / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(plain((1, 2, 3)))
    with pytest.raises(ArgumentError, match=f"{path}: expected SPLIT/LABEL/FILE"):
        open_folders(tmp_path)


def test_one_label_and_no_training_images_are_refused(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").write_bytes(plain((1, 2, 3)))
    with pytest.raises(ArgumentError, match="two labels or more, a folder each, got 'cat' alone"):
        open_folders(tmp_path)
    with pytest.raises(ArgumentError, match="expected images to train on"):
        open_folders(folder_of(tmp_path / "x", splits=("test",)))


def test_a_folder_without_images_is_no_label_and_is_named(tmp_path):
    folder_of(tmp_path)
    (tmp_path / "train" / "newt").mkdir()
    found = open_folders(tmp_path)
    assert "newt" not in found.labels and f"{tmp_path}: no image is in" in found.note and "newt" in found.note


def test_more_pixels_than_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_MOST_BYTES", 1000)
    with pytest.raises(ArgumentError, match="expected at most 1 GiB of pixels"):
        open_folders(folder_of(tmp_path))


def test_other_folders_are_not_taken_for_images(tmp_path):
    assert not is_folders(tmp_path)
    assert not is_folders(tmp_path / "none")
    (tmp_path / "a.txt").write_text("a")
    assert not is_folders(tmp_path / "a.txt")
    assert is_folders(folder_of(tmp_path / "x", splits=("",)))
