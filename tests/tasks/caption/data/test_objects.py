import numpy as np
import pytest
import torch
from PIL import Image

from image_files import packed, plain
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.caption.data import open_corpus
from tiers import every


def array(number):
    return np.full((10, 12, 3), (number, 100, 50), np.uint8)


FORMS = {
    "array": array,
    "channels first": lambda number: np.ascontiguousarray(array(number).transpose(2, 0, 1)),
    "floats": lambda number: array(number) / 255,
    "tensor": lambda number: torch.from_numpy(array(number)),
    "pillow": lambda number: Image.fromarray(array(number)),
    "bytes": lambda number: packed(Image.fromarray(array(number))),
    "packed": lambda number: {"bytes": packed(Image.fromarray(array(number))), "path": None},
}


@pytest.mark.parametrize("form", [*FORMS, "path", "named"])
def test_every_form_is_the_same_image(tmp_path, form):
    def image(number):
        if form in FORMS:
            return FORMS[form](number)
        path = tmp_path / f"{number}.png"
        path.write_bytes(packed(Image.fromarray(array(number))))
        return str(path) if form == "path" else {"path": str(path)}

    rows = {split: [(image(number), [f"photo {number}", "x"]) for number in (3, 4)] for split in SPLITS}
    data = open_corpus("objects", size=8, objects=rows)
    assert data.size("train") == 4
    one = data.example("train", 3)
    assert one.image.shape == data.shape == (3, 8, 8)
    assert one.image[:, 4, 4].tolist() == [4, 100, 50]
    assert one.references == ("photo 4", "x")
    assert one.caption == data.text("train", 3) == "x"


def test_rows_of_one_image_are_its_references():
    rows = [(array(number), f"photo {number} {n}") for n in range(2) for number in range(40)]
    data = open_corpus("objects", size=8, objects=rows)
    assert data.size("test") == data.size("validation") == 6
    assert data.size("train") == 56
    for index in range(2):
        one = data.example("test", index)
        assert one.references == (f"photo {one.image[0, 0, 0]} 0", f"photo {one.image[0, 0, 0]} 1")


def test_columns_and_what_coco_has_in_them():
    rows = [{"image": array(number), "sentences": {"raw": ["a", "b"]}, "id": 3} for number in range(9)]
    assert open_corpus("objects", size=8, objects=rows).example("test", 0).references == ("a", "b")


BAD = {
    "no caption": ((array(1), None), "expected a caption, got an empty cell"),
    "no captions": ((array(1), []), r"expected a caption or a list of captions, got \[\]"),
    "an empty one": ((array(1), ["a", " "]), "expected a caption, got an empty cell"),
    "no image": ((None, "a"), "expected an image, got an empty cell"),
    "one alone": ("a", "expected image and caption"),
    "a sound": ((np.zeros(100), "a"), "expected an image of one or three channels"),
    "an empty mapping": (({"bytes": None, "path": None}, "a"), "expected an image, got an empty cell"),
}


@every("what", BAD)
def test_a_bad_row_is_named(what):
    row, message = BAD[what]
    with pytest.raises(ArgumentError, match=f"data: train, row 2: {message}"):
        open_corpus("objects", size=8, objects=[(array(0), "a"), row])


def test_a_table_of_images(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [{"image": {"bytes": plain((number, 9, 9)), "path": None}, "caption": ["a", "b"]} for number in range(8)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train-00000-of-00001.parquet")
    data = open_corpus(str(tmp_path), size=8)
    assert data.size("train") == 12
    assert data.example("test", 0).references == ("a", "b")
    with pytest.raises(ArgumentError, match="--features: expected none for"):
        open_corpus(str(tmp_path), known=lambda name: True)
