"""What is refused of images by where they come from."""

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.image.sources import refuse_features, refuse_size
from saccade.tasks.objects import OBJECTS


@pytest.mark.parametrize("data", ["scenes", OBJECTS, "photos.parquet"])
def test_features_of_images_without_a_files_name_are_refused(data):
    with pytest.raises(ArgumentError) as caught:
        refuse_features(data, {"scenes": ""})
    assert str(caught.value).startswith(f"--features: expected none for {data}, whose images have no file's name")


def test_images_of_files_may_have_features(tmp_path):
    (tmp_path / "train.tsv").write_text("a.png\ta\n")
    for path in (tmp_path, tmp_path / "train.tsv", tmp_path / "gone"):
        refuse_features(str(path), {"scenes": ""})


def test_a_size_of_images_that_have_one_is_refused():
    refuse_size("scenes", None)
    with pytest.raises(ArgumentError, match="--size: expected none for scenes"):
        refuse_size("scenes", 32)
