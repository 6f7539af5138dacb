"""Maps over an image: each over its part of the image, which stays bright, and word by word."""

import json
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageSequence

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import overlays
from saccade.look._figure import _own_style
from saccade.look._overlays import _last_lines, animated, draw_map, pixels_of, show_pixels, word_by_word

WORDS = ["what", "colour", "?"]
ANSWERS = [("red", 0.75), ("blue", 0.25)]


def draw(folder, image=None, maps=None, **options):
    image = torch.rand(3, 32, 32) if image is None else image
    maps = torch.rand(2, 8, 8) if maps is None else maps
    return overlays(image, maps, folder / "a", **{"captions": [f"map {n}" for n in range(len(maps))], **options})


def rendered(draw_on):
    figure = Figure(figsize=(1, 1), dpi=80)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xticks=[], yticks=[])
    draw_on(axes)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


def test_svg_describes_where_each_map_is_largest(tmp_path, figures, words):
    maps = torch.zeros(2, 4, 5)
    maps[0, 3, 1], maps[1, 0, 4] = 0.75, 0.25
    _, svg = draw(tmp_path, maps=maps, captions=["head 1", "head 2"], marks=[(1, 2), None], title="a < b")
    said = "head 1 from row 2, column 3: most at row 4, column 2 (0.75); head 2: most at row 1, column 5 (0.25)"
    assert words(svg) == ("a < b", said)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 700, 1300), (1, 2000, 9), (3, 1, 1)])
def test_images_of_any_size_are_drawn(shape, tmp_path):
    png, svg = draw(tmp_path, torch.rand(shape), torch.rand(3, 3, 5) * 3, title="t" * 300)
    with Image.open(png) as picture:
        assert max(picture.size) < 3000
    assert svg.stat().st_size < 4_000_000


def test_eight_maps_are_drawn_and_the_rest_is_named(tmp_path, figures):
    draw(tmp_path, maps=torch.rand(11, 2, 2), scale="times an even share")
    assert len(figures[0].axes) == 10  # the image, eight maps, the colour bar
    assert "8 of 11 maps are drawn, not the last 3: map 8, map 9, map 10" in texts(figures[0])
    assert figures[0].axes[-1].get_ylabel() == "times an even share"


@pytest.mark.parametrize("side", [4, 200])
def test_an_image_fills_its_axes(side):
    image = torch.zeros(side, side, 3, dtype=torch.double)
    image[: side // 2, :, 0] = 1.0
    shown = rendered(lambda axes: show_pixels(axes, image))
    assert (shown[5:35, 5:-5] == [255, 0, 0]).all() and (shown[45:-5, 5:-5] == 0).all()


@pytest.mark.parametrize("brightness", [0.0, 0.5, 1.0])
def test_a_map_is_red_over_a_bright_image(brightness):
    pixels, values = torch.full((8, 8, 3), brightness, dtype=torch.double), torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    shown = rendered(lambda axes: draw_map(axes, pixels, values, 1.0, (0.0, 0.5, 0.5, 1.0)))
    assert (shown[10:30, 50:70, 0] > shown[10:30, 50:70, 2] + 100).all()  # the weighted cell
    assert (shown[10:30, 10:30] >= 100).all() and (np.ptp(shown[10:30, 10:30], axis=-1) <= 1).all()  # another: grey
    assert (shown[40:, 38:42, 2] > shown[40:, 38:42, 0] + 50).any()  # the frame


def test_bytes_are_drawn_as_numbers_in_0_to_1():
    image = torch.randint(0, 256, (3, 8, 8), dtype=torch.uint8)
    assert torch.equal(pixels_of(image), (image.double() / 255).permute(1, 2, 0))
    assert pixels_of(image, finest=4).shape == (4, 4, 3)


def test_maps_are_smooth_if_asked_for_and_boxes_are_framed(tmp_path, figures):
    maps = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])
    draw(tmp_path / "smooth", maps=maps, smooth=True)
    paths = draw(tmp_path / "boxed", maps=maps, boxes=[(0.0, 0.0, 0.5, 0.5)], json=True)
    smooth, boxed = (figure.axes[1] for figure in figures)
    assert smooth.images[1].get_array().shape == (32, 32) and not smooth.patches
    assert boxed.images[1].get_array().tolist() == maps[0].tolist() and boxed.patches[0].get_width() == 16
    assert json.loads(paths[-1].read_text())["boxes"] == [[0.0, 0.0, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"image": torch.rand(2, 8, 8)}, ShapeError, r"image: expected shape \(1 or 3, height, width\), got \(2, 8, 8"),
        ({"image": torch.rand(3, 0, 8)}, ArgumentError, "image: expected finite pixels, got none"),
        ({"image": torch.full((3, 8, 8), torch.inf)}, ArgumentError, "image: expected finite pixels, got others"),
        ({"captions": ["one"]}, ShapeError, r"maps: expected shape \(1, rows, columns\)"),
        ({"maps": torch.rand(0, 2, 2)}, ArgumentError, "maps: expected one number or more"),
        ({"captions": [], "answers": ANSWERS}, ShapeError, r"maps: expected shape \(0, rows, columns\)"),
        (
            {"maps": torch.rand(0, 2, 2), "captions": ["a"], "answers": ANSWERS},
            ShapeError,
            r"maps: expected shape \(1,",
        ),
        ({"question": WORDS, "words": torch.ones(2)}, ShapeError, r"words: expected shape \(3\)"),
        ({"maps": -torch.rand(1, 2, 2)}, ArgumentError, "maps: expected finite numbers of at least 0"),
        ({"marks": [None]}, ShapeError, "marks: expected a cell or None for each of 2 maps, got 1"),
        ({"marks": [(8, 0), None]}, ArgumentError, "marks: expected a row and a column of a map 8 × 8, got"),
        ({"marks": [(-1, 0), None]}, ArgumentError, "marks: expected a row and a column of a map 8 × 8, got"),
        ({"boxes": []}, ShapeError, "boxes: expected a box or None for each of 2 maps, got 0"),
        ({"boxes": [None, (0.5, 0.0, 0.2, 1.0)]}, ArgumentError, "boxes: expected .* as shares of the image"),
    ],
)
def test_what_cannot_be_drawn_is_rejected(options, error, message, tmp_path):
    with pytest.raises(error, match=message):
        draw(tmp_path, **options)
    assert not list(tmp_path.iterdir())


def frames(content):
    with Image.open(BytesIO(content)) as animation:
        assert animation.format == "GIF" and animation.info["loop"] == 0
        return [(frame.convert("RGB"), frame.info["duration"]) for frame in ImageSequence.Iterator(animation)]


def test_every_frame_is_shown_and_the_last_one_longer():
    pictures = [Image.new("RGB", (5, 3), colour) for colour in ("red", "blue", "green")]
    shown = frames(animated(pictures))
    assert [picture.getpixel((0, 0)) for picture, _ in shown] == [each.getpixel((0, 0)) for each in pictures]
    assert [pause for _, pause in shown] == [700, 700, 2000]


def test_each_word_has_a_frame_with_its_map():
    values = torch.zeros(5, 1, 2, dtype=torch.double)
    values[:4, 0, 0], values[4, 0, 1] = 1.0, 1.0
    with _own_style():
        content = word_by_word(torch.full((30, 40, 3), 0.5, dtype=torch.double), values, ["so"] * 5, [None] * 5, 1.0)
    pictures = [picture for picture, _ in frames(content)]
    assert len(pictures) == 5 and len({picture.size for picture in pictures}) == 1
    assert all(first.tobytes() != second.tobytes() for first, second in pairwise(pictures))
    width, height = pictures[0].size
    red = [
        [np.subtract(*picture.getpixel((x, height // 2))[::2]) > 50 for x in (80, width - 80)] for picture in pictures
    ]
    assert red == [[True, False]] * 4 + [[False, True]]


@pytest.mark.parametrize("shape", [(1, 600), (600, 1), (600, 450)])
def test_frames_are_bounded_whatever_the_image_is(shape):
    pixels = torch.rand(*shape, 3, dtype=torch.double)
    with _own_style():
        content = word_by_word(pixels, torch.ones(2, 2, 2, dtype=torch.double), ("猫が", "見る"), [None] * 2, 1.0)
    [(first, _), *_] = shown = frames(content)
    assert len(shown) == 2 and max(first.size) <= 420 and min(first.size) >= 100 and len(content) < 400_000


def test_of_many_lines_the_last_are_seen():
    assert _last_lines(["a", " red", " dog"], 3.0) == "a red dog"
    lines = _last_lines([f"word{number}" for number in range(40)], 3.0).split("\n")
    assert len(lines) == 3 and lines[0].startswith("… word") and lines[-1].endswith("word39")
    assert max(map(len, _last_lines(["猫" * 50], 3.0).split("\n"))) <= 23


def test_an_animation_is_a_file_beside_the_picture(tmp_path):
    paths = draw(
        tmp_path, torch.rand(3, 8, 8), torch.rand(2, 2, 2), animated=True, captions=["猫", "قطة $x$"], json=True
    )
    assert [path.suffix for path in paths] == [".png", ".svg", ".gif", ".json"]
    assert len(frames(paths[2].read_bytes())) == 2


def test_a_question_stands_below_with_its_answers(tmp_path, figures, words):
    maps, scores = torch.tensor([[[0.1, 0.9]], [[0.5, 0.5]]]), torch.tensor([0.2, 0.8, 0.0])
    paths = overlays(
        torch.rand(3, 9, 9),
        maps,
        tmp_path / "a",
        question=WORDS,
        answers=ANSWERS,
        captions=["one", "two"],
        words=scores,
        title="red",
        json=True,
    )
    said = (
        "what colour ?; red 0.75; blue 0.25; one: most at row 1, column 2 (0.90); two: most at row 1, column 1 (0.50)"
    )
    assert words(paths[1]) == ("red", f"{said}; what 0.20, colour 0.80, ? 0.00")
    assert {*WORDS, "red", "blue", "0.75", "one", "two", "weight"} <= set(texts(figures[0]))
    told = json.loads(paths[2].read_text())
    assert told["rows"] == ["one", "two"] and told["words"] == [0.2, 0.8, 0.0] and told["darkest"] == 1.0
    assert told["answers"][1] == {"answer": "blue", "probability": 0.25}


def test_words_against_an_answer_are_orange(tmp_path, figures):
    about = {"captions": [], "question": WORDS, "words": torch.tensor([0.5, -1.0, 0.0]), "answers": ANSWERS}
    overlays(torch.rand(1, 4, 4), torch.zeros(0, 1, 1), tmp_path / "a", **about)
    boxes = [text.get_bbox_patch() for text in figures[0].axes[1].texts if text.get_text() in WORDS]
    favour, against, nothing = (box.get_facecolor() for box in boxes)
    assert favour[2] > favour[0] and against[0] > against[2] and nothing[:3] == pytest.approx((1, 1, 1), abs=0.02)


def test_a_question_from_right_to_left_runs_so(tmp_path, figures):
    question, scores = ["מה", "הצבע"], torch.tensor([0.2, 0.8])
    about = {"captions": [], "question": question, "words": scores, "answers": ANSWERS}
    overlays(torch.rand(1, 4, 4), torch.zeros(0, 1, 1), tmp_path / "a", **about)
    (first, below), (second, _) = zip(figures[0].axes[1].texts[::2], figures[0].axes[1].texts[1::2], strict=True)
    assert (first.get_text(), below.get_text(), second.get_text()) == ("מה", "0.20", "הצבע")
    assert first.get_position()[0] == below.get_position()[0] > second.get_position()[0]


@pytest.mark.parametrize("maps", [torch.zeros(0, 1, 1), torch.zeros(0)])
def test_a_model_that_looks_nowhere_has_words_alone(maps, tmp_path, figures):
    paths = overlays(
        torch.rand(1, 4, 4),
        maps,
        tmp_path / "a",
        captions=[],
        question=WORDS,
        answers=ANSWERS,
        json=True,
    )
    told = json.loads(paths[2].read_text())
    assert told["rows"] == ["words"] and told["columns"] == WORDS and told["values"] == [[0.0] * 3]
    assert len(figures[0].axes) == 3  # the image, words and answers: no colour bar
