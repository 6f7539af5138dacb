"""What is refused of images by where they come from."""

import pytest

from image_files import plain
from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.sources import open_files, refuse_features


@pytest.mark.parametrize("data", ["scenes", OBJECTS, "photos.parquet"])
def test_features_of_images_without_files_name_are_refused(data):
    with pytest.raises(ArgumentError) as caught:
        refuse_features(data, {"scenes": ""})
    assert str(caught.value).startswith(f"--features: expected none for {data}, whose images have no file's name")


def test_images_of_files_may_have_features(tmp_path):
    (tmp_path / "train.tsv").write_text("a.png\ta\n")
    for path in (tmp_path, tmp_path / "train.tsv", tmp_path / "gone"):
        refuse_features(str(path), {"scenes": ""})


def test_a_size_holds_for_python_objects():
    packed = [(plain((6 * level, 0, 0)), level % 2) for level in range(40)]
    assert open_files(OBJECTS, 16, packed, SplitNames()).shape == (3, 16, 16)
