"""Sheets of pictures have the numbers of the pictures' JSON."""

import base64
import json
from io import BytesIO
from threading import Thread

import numpy as np
import pytest
import torch
from PIL import Image

from saccade import look
from saccade.look._explorer.pictures import sheets_of_pictures
from saccade.look._explorer.sheets import Book, MatrixIndex
from saccade.look._figure import collected
from saccade.nn import Retina
from saccade.tasks.experts import Taken, draw_taken

pytestmark = pytest.mark.usefixtures("figures")
ROUNDED = 5.01e-7  # half of the last decimal of the JSON


@pytest.fixture
def both(tmp_path):
    """Collect a picture, and draw it: its sheets, and its JSON."""

    def pair(draw):
        with collected() as pictures:
            assert draw(tmp_path / "collected") == []
        assert not list(tmp_path.iterdir())
        [path] = [path for path in draw(tmp_path / "drawn") if path.suffix == ".json"]
        return sheets_of_pictures(pictures), json.loads(path.read_text(encoding="utf-8"))

    return pair


def matrix(sheet, **place):
    """Numbers of a sheet, as it has them."""
    return torch.as_tensor(sheet.matrix(MatrixIndex(**place)))


def is_behind(values, told):
    """Numbers are those of the JSON, but not rounded."""
    told = torch.tensor(told, dtype=torch.float64)
    assert values.shape == told.shape
    torch.testing.assert_close(values.double(), told, rtol=0, atol=ROUNDED)


def pixels(address):
    """The pixels of a data URL in [0, 1]."""
    head, content = address.split(",")
    assert head == "data:image/png;base64"
    with Image.open(BytesIO(base64.b64decode(content))) as image:
        return torch.from_numpy(np.array(image)).double() / 255


def test_alignments(both):
    weights, source, target = torch.rand(2, 3).double(), ["a", "b", "c"], ["x", "y"]
    [sheet], told = both(lambda path: look.alignment(weights, source, target, path, title="T", json=True))
    assert (sheet.kind, sheet.rows, sheet.columns) == ("attention", told["rows"], told["columns"])
    assert sheet.title == told["title"] and sheet.title.startswith("T: ")
    assert matrix(sheet).equal(weights)
    is_behind(matrix(sheet), told["values"])


def test_mixtures_of_experts_are_layers(tmp_path):
    parts = [Taken(f"encoder.{layer}", torch.rand(4, 3)) for layer in range(2)]
    with collected() as pictures:
        list(draw_taken(parts, ["a", "b", "c"], tmp_path / "p", "Source", json=True))
    [sheet] = sheets_of_pictures(pictures, "an input")
    assert (sheet.kind, sheet.rows, sheet.columns) == ("experts", ["a", "b", "c"], ["#1", "#2", "#3"])
    assert sheet.layers == ["encoder.0", "encoder.1"] and sheet.title == "an input: Source, experts"
    for layer, part in enumerate(parts):
        assert matrix(sheet, layer=layer).equal(part.weights[:3].double())


def test_alignments_over_other_tokens_are_sheets_of_their_own(tmp_path):
    with collected() as pictures:
        for tokens in (["a", "b"], ["a", "c"], ["a", "c"]):
            look.alignment(torch.eye(2), tokens, tokens, tmp_path / "p", title=f"of {''.join(tokens)}", json=True)
    assert [(sheet.columns, len(sheet.layers)) for sheet in sheets_of_pictures(pictures)] == [
        (["a", "b"], 1),
        (["a", "c"], 2),
    ]


@pytest.mark.parametrize("names", [(), ("one", "two")])
def test_words(both, names):
    values = torch.randn(2, 3).double()
    tokens = ["not", "so", "good"]
    [sheet], told = both(lambda path: look.highlights(values, tokens, path, names=names, scale="logit", json=True))
    assert (sheet.kind, sheet.columns, sheet.extra["scale"]) == ("words", told["columns"], "logit")
    assert sheet.rows == (told["rows"] or ["1", "2"])
    assert matrix(sheet).equal(values)
    is_behind(matrix(sheet), told["values"])


def test_an_even_share_of_words(both):
    [sheet], told = both(lambda path: look.highlights(torch.full((1, 4), 0.25), [*"abcd"], path, json=True))
    assert sheet.rows == [""] and sheet.extra["even"] == told["even_share"] == 0.25


def test_maps_are_heads_over_the_cells_of_an_image(both):
    image, maps = torch.rand(3, 6, 9), torch.rand(2, 2, 3).double() / 6
    marks, answers = [(1, 2), None], [("yes", 2 / 3), ("no", 1 / 3)]

    def draw(path):
        return look.overlays(
            image, maps, path, captions=["hop 1", "hop 2"], marks=marks, question=["is", "it"],
            words=torch.tensor([1 / 3, 2 / 3]), answers=answers, even=1 / 6, json=True,
        )  # fmt: skip

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.heads, len(sheet.rows), len(sheet.columns)) == ("maps", 2, 2, 3)
    assert sheet.extra["captions"] == told["rows"] and sheet.extra["top"] == told["darkest"]
    is_behind(torch.stack([matrix(sheet, head=head) for head in range(2)]), told["values"])
    assert matrix(sheet, head=1).equal(maps[1])
    assert sheet.extra["marks"] == marks and sheet.extra["boxes"] == [(2 / 3, 0.5, 1.0, 1.0), None]
    is_behind(torch.tensor(sheet.extra["words"]), told["words"])
    assert [tuple(each.values()) for each in sheet.extra["answers"]] == answers
    seen = pixels(sheet.extra["image"])
    assert sheet.extra["size"] == [9, 6] and seen.shape == (6, 9, 3)
    torch.testing.assert_close(seen, image.permute(1, 2, 0).double(), rtol=0, atol=0.5 / 255 + 1e-9)


def test_answers_without_a_map_are_words(both):
    def draw(path):
        return look.overlays(
            torch.rand(3, 4, 4), torch.zeros(0, 1, 1), path, captions=[], question=["what", "?"],
            words=torch.tensor([0.25, 0.75]), answers=[("a cat", 0.5)], json=True,
        )  # fmt: skip

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.rows, sheet.columns) == ("words", ["words"], ["what", "?"])
    is_behind(matrix(sheet), told["values"])
    assert sheet.extra["answers"] == [{"answer": "a cat", "probability": 0.5}] == told["answers"]


def test_paths_have_their_patches(both):
    image = torch.randint(256, (1, 8, 8), dtype=torch.uint8)
    location, shares = torch.tensor([[0.0, 0.0], [0.5, -0.5], [-1.0, 1.0]]), torch.rand(3, 2).double()

    def draw(path):
        return look.glimpses(
            image, location, [2, 4], path, probabilities=shares, labels=["a", "b"], said={1: "a"}, json=True
        )

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.rows, sheet.columns) == ("path", told["rows"], told["columns"])
    is_behind(matrix(sheet), told["values"])
    assert sheet.extra["location"] == told["location"] and sheet.extra["said"] == {"1": "a"}
    assert [[side for *_, side in glimpse] for glimpse in sheet.extra["boxes"]] == [[2, 4]] * 3
    expected = Retina(2, 2)(image.double()[None] / 255, location.double()[None])[0]  # (glimpses, scales, 1, 2, 2)
    strip = pixels(sheet.extra["patches"])[..., 0]
    for glimpse in range(3):
        for scale in range(2):
            part = strip[2 * glimpse : 2 * glimpse + 2, 2 * scale : 2 * scale + 2]
            torch.testing.assert_close(part, expected[glimpse, scale, 0], rtol=0, atol=0.5 / 255 + 1e-9)


def test_bands_share_their_steps(both):
    said = look.Band.along("said", torch.rand(2, 2), torch.tensor([False, True, True]))
    read, links = look.Band("read", torch.randn(4, 3)), look.Band("links", torch.rand(4, 4), square=True)

    def draw(path):
        return look.traces([said, read, links], path, steps=["a", "b", "c"], title="T", json=True)

    [sheet, square], told = both(draw)
    assert (sheet.kind, sheet.rows, sheet.columns) == ("bands", told["rows"], told["columns"])
    values = matrix(sheet)
    is_behind(values.nan_to_num(), told["values"])
    assert values.isnan().sum() == 2 and bool(values[:2, 0].isnan().all())
    names = {band["name"]: (band["from"], band["to"], band["top"]) for band in sheet.extra["bands"]}
    assert names == {"said": (0, 2, told["darkest"]["said"]), "read": (2, len(values), told["darkest"]["read"])}
    assert (square.kind, square.title) == ("attention", "T: links")
    assert square.rows == square.columns == [f"cell {cell}" for cell in told["links"]["places"]]
    is_behind(matrix(square), told["links"]["values"])


def test_bands_without_numbers_have_a_scale():
    nothing = look.Band.along("said", torch.rand(1, 2) / 4 + 0.6, torch.tensor([False, True]))
    with collected() as pictures:
        look.traces([nothing], "p", json=True)
    about, _ = Book("b", sheets_of_pictures(pictures)).piece({"sheet": 0, "piece": "row", "at": 0})
    assert about["top"] == 1 and about["low"] == 0
    json.dumps(about, allow_nan=False)


def test_sound_has_its_seconds(both):
    weights, frames = torch.rand(2, 5).double(), torch.randn(20, 3)

    def draw(path):
        return look.spectrogram(weights, frames, ["one", "two"], (0.2, 0.05), path, start=1.5, json=True)

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.rows) == ("sound", told["rows"])
    is_behind(matrix(sheet), told["values"])
    names = {"start": "start_seconds", "seconds": "seconds", "step": "step_seconds"}
    assert {name: sheet.extra[name] for name in names} == {name: told[other] for name, other in names.items()}
    assert sheet.columns == ["1.50 s", "1.55 s", "1.60 s", "1.65 s", "1.70 s"]
    spectrum = pixels(sheet.extra["image"])[..., 0]
    assert spectrum.shape == (3, 20)
    low, high = np.percentile(frames.numpy(), (2, 98))
    grey = ((frames.T.flip(0).double() - low) / (high - low)).clamp(0, 1)
    torch.testing.assert_close(spectrum, grey, rtol=0, atol=0.5 / 255 + 1e-6)


def test_bars_may_lack_numbers(both):
    series = [look.Dots("score", [0.5, None], [0.1, 0.0]), look.Dots("other", [-1.0, 2.0])]

    def draw(path):
        return look.dots(["a", "b"], series, path, label="x", title="t", note="a note", json=True)

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.rows, sheet.columns) == ("bars", told["columns"], told["rows"])
    assert (sheet.note, sheet.extra["label"], sheet.extra["errors"]) == ("a note", "x", told["errors"])
    values = matrix(sheet).T.tolist()
    assert [[None if value != value else value for value in row] for row in values] == told["values"]


def test_curves_of_other_places_have_gaps(both):
    lines = [look.Curve("a", [1, 2], [0.5, 0.25]), look.Curve("b", [2, 4], [3.0, 1 / 3])]

    def draw(path):
        return look.curves(lines, path, labels=("x", "y"), title="t", log="x", mark=(2, "taken"), json=True)

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.rows, sheet.extra["x"]) == ("curve", told["rows"], [1, 2, 4])
    assert sheet.extra["log"] and list(sheet.extra["mark"]) == told["mark"]
    for values, line, heights in zip(matrix(sheet), told["x"], told["values"], strict=True):
        where = [[1, 2, 4].index(x) for x in line]
        is_behind(values[where], heights)
        assert values.isfinite().sum() == len(line)


@pytest.mark.parametrize("weighted", [True, False])
def test_fits_have_their_points(both, weighted):
    x = torch.linspace(0, 1, 5).double()
    curve = look.Fit(x, x**2, x - 1, x + 1, torch.tensor([[0.5, 0.4], [0.25, 1 / 3]]).double())
    below = {"weights": torch.tensor([0.25, 0.75])} if weighted else {"slope": 2 * x}

    def draw(path):
        return look.fit(
            curve, look.Prediction(0.5, 0.25, -0.5, 1.5), path, labels=("x", "y"), title="t", json=True, **below
        )

    [sheet], told = both(draw)
    assert (sheet.kind, sheet.rows) == ("curve", told["rows"])
    is_behind(matrix(sheet), told["values"])
    assert matrix(sheet).equal(torch.stack([curve.mean, curve.lower, curve.upper]))
    for name in ("x", "points", *below):
        is_behind(torch.tensor(sheet.extra[name], dtype=torch.float64), told[name])
    assert sheet.extra["slope" if weighted else "weights"] is None
    assert sheet.extra["predicted"] == [0.5, 0.25, -0.5, 1.5]


def test_only_the_block_and_its_thread_collect(tmp_path):
    def draw(name):
        return look.alignment(torch.eye(2), ["a", "b"], ["a", "b"], tmp_path / name)

    with collected() as outer:
        with collected() as inner:
            assert draw("inside") == []
        thread = Thread(target=draw, args=("beside",))
        thread.start()
        thread.join()
    assert (len(outer), len(inner)) == (0, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside.png", "beside.svg"]
    assert [path.name for path in draw("after")] == ["after.png", "after.svg"]
