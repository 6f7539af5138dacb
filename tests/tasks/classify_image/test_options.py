import pytest

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.classify_image import ClassifyImage
from saccade.tasks.classify_image.options import REQUESTS, LookRequest, Options
from saccade.train.options import check_types
from tiers import every


@every(
    ("name", "value"),
    [
        ("size", 7),
        ("size", 1025),
        ("size", -1),
        ("batch_size", 0),
        ("batch_size", 10**7),
        ("shift", -1),
        ("shift", 1001),
        ("label_smoothing", 1.0),
        ("label_smoothing", float("nan")),
    ],
)
def test_what_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"^--{name.replace('_', '-')}: expected ") as error:
        Options(**{name: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("by", ["nonsense", 3, ["attention"], True])
def test_there_are_three_ways_to_look(by):
    for way in (None, "attention", "gradient", "grad-cam"):
        check_types(LookRequest, {"by": way})
    with pytest.raises(ArgumentError, match="^--by: expected attention or gradient or grad-cam"):
        check_types(LookRequest, {"by": by})


def test_the_built_in_images_are_not_turned_about():
    for model in ClassifyImage.models:
        own, files = (runs.options(ClassifyImage, data, model, {}) for data in ("shapes", "some/folder"))
        assert not own.flip and own.shift == 0 and files.flip and files.label_smoothing == 0.1
    assert list(REQUESTS) == ["predict", "eval", "look"]
