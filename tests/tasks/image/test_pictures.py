import pytest

from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError
from saccade.tasks.image.pictures import refuse_features


@pytest.mark.parametrize("data", ["scenes", OBJECTS, "photos.parquet"])
def test_features_of_images_without_files_name_are_refused(data):
    with pytest.raises(ArgumentError) as caught:
        refuse_features(data, {"scenes": ""})
    assert str(caught.value).startswith(f"--features: expected none for {data}, whose images have no file's name")


def test_images_of_files_may_have_features(tmp_path):
    (tmp_path / "train.tsv").write_text("a.png\ta\n")
    for path in (tmp_path, tmp_path / "train.tsv", tmp_path / "gone"):
        refuse_features(str(path), {"scenes": ""})
