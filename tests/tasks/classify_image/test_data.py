import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.classify_image.data import BUILTIN, open_images
from saccade.tasks.image.images import encode_png
from tiers import every

LEVELS = [(np.full((8, 9), 6 * level, np.uint8), f"class {level % 3}") for level in range(40)]


@pytest.mark.parametrize("name", list(BUILTIN))
def test_built_in_data_have_three_splits_and_a_fingerprint(name):
    data = open_images(name)
    for split in ("train", "validation", "test"):
        image, label, _ = data.example(split, 0)
        assert image.shape == data.shape and image.dtype == torch.uint8 and label in data.labels
    assert data.size("test") and data.fingerprint == open_images(name).fingerprint


def test_data_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ArgumentError, match="no data set no/such, and no folder or archive; built in: shapes"):
        open_images("no/such")
    with pytest.raises(ArgumentError, match="did you mean shapes?"):
        open_images("shape")
    (tmp_path / "notes.txt").write_text("no images")
    with pytest.raises(ArgumentError, match=f"--data: expected in {tmp_path} a folder or archive of images") as error:
        open_images(str(tmp_path))
    assert "\n" not in str(error.value)


def test_images_of_one_size_have_no_other():
    with pytest.raises(ArgumentError, match="--size: expected none for shapes, whose images have one size; leave 64"):
        open_images("shapes", 64)


def test_folders_and_objects_of_the_same_images(tmp_path):
    for number, (image, label) in enumerate(LEVELS):
        (tmp_path / label).mkdir(exist_ok=True)
        data = encode_png(torch.from_numpy(image)[None])
        (tmp_path / label / f"{number}.png").write_bytes(data)
    folders, objects = open_images(str(tmp_path)), open_images("objects", None, LEVELS)
    assert tuple(folders.labels) == tuple(objects.labels) == ("class 0", "class 1", "class 2")
    assert sum(folders.size(split) for split in ("train", "validation", "test")) == 40
    assert objects.shape == (1, 8, 9)
    with pytest.raises(ArgumentError, match="expected the Python objects that this run was trained on, got none"):
        open_images("objects")


def test_unlabelled_rows_of_collections_are_refused():
    from types import SimpleNamespace

    class Table(list):
        features = {"label": SimpleNamespace(names=["class 0", "class 1", "class 2"])}  # noqa: RUF012

    rows = Table({"image": image, "label": int(label[-1])} for image, label in LEVELS)
    assert open_images("objects", None, rows).fingerprint == open_images("objects", None, LEVELS).fingerprint
    for wrong in (-1, 3):
        with pytest.raises(ArgumentError, match="data: train, row 41: "):
            open_images("objects", None, Table([*rows, {"image": LEVELS[0][0], "label": wrong}]))


@every(
    "image",
    [
        np.zeros((8, 7), np.uint8),
        np.zeros((2, 8, 9), np.uint8),
        np.zeros((8, 9), np.complex64),
        np.full((8, 9), 1.5),
        np.full((8, 9), np.nan),
        np.full((8, 9), -1),
        np.zeros((0, 0), np.uint8),
        None,
        "a text",
    ],
)
def test_what_is_no_image_is_named_by_its_row(image):
    with pytest.raises(ArgumentError, match="data: train, row 41: ") as error:
        open_images("objects", None, [*LEVELS, (image, "class 0")])
    assert "\n" not in str(error.value)
