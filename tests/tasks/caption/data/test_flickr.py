import pytest

from image_files import plain
from saccade.data.splits import SplitNames
from saccade.tasks.caption.data.flickr import read_flickr

_NAMES = (
    "image,caption",
    "Image_Name,Caption",
    '"image","caption"',
    "image_path,caption",
    "images,caption",
    "imageid,caption",
)


@pytest.mark.parametrize("header", ["", *(f"{name}\n" for name in _NAMES), "\nimage,caption\n"])
def test_a_header_is_recognized_by_its_first_column(tmp_path, header):
    for number in range(3):
        (tmp_path / f"image{number}.png").write_bytes(plain((number, 100, 50), (20, 16)))
    lines = [f"image{number}.png,photo {number} ." for number in range(3)]
    (tmp_path / "captions.txt").write_text(header + "\n".join(lines) + "\n")
    listing = read_flickr(tmp_path, SplitNames())
    assert list(listing.images) == ["image0.png", "image1.png", "image2.png"]


def test_an_image_of_the_other_table_may_be_called_image(tmp_path):
    (tmp_path / "results.csv").write_text("image1.jpg| 0| One .\nimage2.jpg| 0| Two .\n")
    assert list(read_flickr(tmp_path, SplitNames()).images) == ["image1.jpg", "image2.jpg"]
