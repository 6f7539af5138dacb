import json
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from saccade.errors import ArgumentError, ShapeError
from saccade.look.overlays import overlays


def draw(folder, image=None, maps=None, **options):
    image = torch.rand(3, 32, 32) if image is None else image
    maps = torch.rand(2, 8, 8) if maps is None else maps
    return overlays(image, maps, folder / "a", **{"captions": [f"map {n}" for n in range(len(maps))], **options})


def test_a_picture_says_where_each_map_is_largest(tmp_path):
    maps = torch.zeros(2, 4, 5)
    maps[0, 3, 1], maps[1, 0, 4] = 0.75, 0.25
    png, svg = draw(tmp_path, maps=maps, captions=["head 1", "head 2"], marks=[(1, 2), None], title="a < b")
    assert png.read_bytes()[:4] == b"\x89PNG"
    text = svg.read_text()
    assert "<title>a &lt; b</title>" in text
    said = "head 1 from row 2, column 3: most at row 4, column 2 (0.75); head 2: most at row 1, column 5 (0.25)"
    assert f"<desc>{said}</desc>" in text


def test_the_same_picture_is_the_same_files(tmp_path):
    image, maps = torch.rand(3, 8, 8), torch.rand(1, 4, 4)
    for _ in range(2):
        draw(tmp_path, image, maps)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg"]
    draw(tmp_path, image, maps.flip(2))
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(
    ("image", "maps"),
    [((1, 8, 8), (11, 3, 5)), ((3, 700, 1300), (1, 8, 8)), ((1, 2000, 9), (1, 3, 5)), ((3, 1, 1), (1, 8, 8))],
)
def test_images_and_maps_of_any_size_can_be_drawn(tmp_path, image, maps):
    png, svg = draw(tmp_path, torch.rand(image), torch.rand(maps) * 3, title="t" * 300)
    with Image.open(png) as picture:
        assert max(picture.size) < 3000
    assert svg.stat().st_size < 4_000_000


def test_an_attended_cell_is_lighter_than_the_others(tmp_path):
    maps = torch.zeros(1, 2, 2)
    maps[0, 0, 1] = 1.0
    image = torch.zeros(3, 8, 8)
    plain, _ = draw(tmp_path / "plain", image, maps)
    marked, _ = draw(tmp_path / "marked", image, maps, marks=[(1, 0)])
    with Image.open(plain) as picture, Image.open(marked) as other:
        pixels = picture.convert("L")
        width, height = pixels.size
        bright = sum(pixels.getpixel((x, height // 2 - 40)) > 120 for x in range(width // 2, width * 3 // 4))
        assert bright > 20
        assert picture.tobytes() != other.tobytes()


def test_bytes_are_drawn_as_numbers_in_0_to_1(tmp_path):
    image, maps = torch.randint(0, 256, (3, 8, 8), dtype=torch.uint8), torch.rand(1, 4, 4)
    first, _ = draw(tmp_path / "bytes", image, maps)
    second, _ = draw(tmp_path / "floats", image.double() / 255, maps)
    assert first.read_bytes() == second.read_bytes()


def test_a_narrow_pictures_title_has_a_second_line(tmp_path, monkeypatch):
    shown = Mock(side_effect=Figure.text)
    monkeypatch.setattr(Figure, "text", lambda *given, **style: shown(*given, **style))
    title = "triangle 0.95: how much each pixel moves it (gradient), the most as 1"
    draw(tmp_path, maps=torch.rand(1, 4, 4), captions=["triangle"], marks=[None], title=title)
    assert title in [" ".join(call.args[3].split()) for call in shown.call_args_list]


def test_captions_and_titles_of_any_script_are_drawn(tmp_path):
    png, _ = draw(tmp_path, captions=["猫" * 40, "قطة $x$"], title="จับ\n\x00")
    assert png.is_file()


def test_shapes_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ShapeError, match=r"image: expected shape \(1 or 3, height, width\), got \(2, 8, 8\)"):
        draw(tmp_path, torch.rand(2, 8, 8))
    for options in ({"captions": ["one"]}, {"marks": [None]}):
        with pytest.raises(ShapeError, match="maps: expected shape"):
            draw(tmp_path, **options)
    with pytest.raises(ShapeError, match="maps: expected shape"):
        draw(tmp_path, maps=torch.rand(2, 8), captions=["a", "b"])


@pytest.mark.parametrize(
    ("image", "maps", "message"),
    [
        (torch.rand(3, 0, 8), torch.rand(1, 2, 2), "expected pixels, and from 1 to 100 maps"),
        (torch.rand(3, 8, 8), torch.rand(0, 2, 2), "expected pixels, and from 1 to 100 maps"),
        (torch.rand(3, 8, 8), torch.rand(101, 2, 2), "expected pixels, and from 1 to 100 maps"),
        (torch.rand(3, 8, 8), -torch.rand(1, 2, 2), "maps: expected finite numbers of at least 0"),
        (torch.rand(3, 8, 8), torch.full((1, 2, 2), float("nan")), "maps: expected finite numbers of at least 0"),
        (torch.full((3, 8, 8), float("inf")), torch.rand(1, 2, 2), "and finite pixels"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(tmp_path, image, maps, message):
    with pytest.raises(ArgumentError, match=message):
        draw(tmp_path, image, maps)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mark", [(8, 0), (0, 8), (-1, 0)])
def test_a_mark_outside_its_map_is_refused(tmp_path, mark):
    with pytest.raises(ArgumentError, match=r"marks: expected a row and a column of a map 8 × 8, got"):
        draw(tmp_path, marks=[mark, None])


def test_maps_are_smooth_if_asked_for_and_boxes_are_framed(tmp_path):
    image, maps = torch.full((3, 40, 40), 0.5), torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])
    told = {"captions": ["word"]}
    flat, *_ = overlays(image, maps, tmp_path / "flat", **told)
    smooth, *_ = overlays(image, maps, tmp_path / "smooth", smooth=True, **told)
    boxed, _, numbers = overlays(image, maps, tmp_path / "boxed", boxes=[(0.0, 0.0, 0.5, 0.5)], json=True, **told)
    colours = [len(Image.open(path).convert("RGB").getcolors(1 << 24)) for path in (flat, smooth)]
    assert colours[1] > colours[0]  # between the parts of a map lie its steps
    assert Path(boxed).read_bytes() != Path(flat).read_bytes()
    assert json.loads(Path(numbers).read_text())["boxes"] == [[0.0, 0.0, 0.5, 0.5]]
    for boxes, said in (([], "each of 1 maps, got 0"), ([(0.5, 0.0, 0.2, 1.0)], "shares of the image")):
        with pytest.raises((ShapeError, ArgumentError), match=said):
            overlays(image, maps, tmp_path / "bad", boxes=boxes, **told)
