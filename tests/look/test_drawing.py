import json
from xml.etree import ElementTree

import matplotlib
import pytest
import torch

from bench.fake import row
from saccade.bench._plot import draw as draw_ratios
from saccade.bench.row import Result
from saccade.look import curves, dot_plot, spectrogram
from saccade.look.answered import answered
from saccade.look.drawing import full_scale, numbers
from saccade.look.highlights import highlights
from saccade.look.overlays import overlays
from saccade.look.paths import path_pictures
from saccade.look.pictures import alignment

THEIRS = {
    "text.usetex": True,
    "font.size": 30.0,
    "axes.facecolor": "red",
    "savefig.facecolor": "green",
    "svg.fonttype": "none",
    "image.interpolation": "bicubic",
    "lines.linestyle": "--",
}


DRAWN = {
    "alignment": lambda path: alignment(torch.eye(2), ["a", "b"], ["x", "_$"], path, title="a_b"),
    "highlights": lambda path: highlights(torch.tensor([[0.1, 0.9]]), ["not", "goo_d"], path, title="50%"),
    "overlays": lambda path: overlays(torch.zeros(1, 4, 4), torch.eye(2)[None], path, captions=["a_b"]),
    "spectrogram": lambda path: spectrogram.draw(torch.eye(2), torch.eye(4), ["o_ne", "two"], (0.04, 0.02), path),
    "curves": lambda path: curves.draw(
        [curves.Curve("a_b", [1, 2], [1.0, 2.0], [0, 0], [False, True])],
        path,
        ticks=[(1, "1")],
        labels=("x", "y"),
        title="%",
    ),
    "dots": lambda path: dot_plot.draw(["a_b"], [dot_plot.Dots("s", [1.0], [0.1])], path, label="x", title="t"),
    "bench": lambda path: draw_ratios([Result(row(), ratio=2.0)], path, title="t"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_users_matplotlibrc_changes_no_picture(name, tmp_path, monkeypatch):
    plain = [path.read_bytes() for path in DRAWN[name](tmp_path / "plain")]
    for key, value in THEIRS.items():
        monkeypatch.setitem(matplotlib.rcParams, key, value)
    assert [path.read_bytes() for path in DRAWN[name](tmp_path / "theirs")] == plain
    assert all(matplotlib.rcParams[key] == value for key, value in THEIRS.items())  # which stays the user's


ODD = "\x00\x0b\ud800\ufffe"  # what XML forbids, half a pair of surrogates among it
WORDED = {
    "alignment": lambda path: alignment(torch.ones(1, 1), [ODD], ["y" + ODD], path, title="t" + ODD, json=True),
    "answered": lambda path: answered(
        torch.zeros(1, 4, 4), torch.zeros(0, 1, 1), ["what" + ODD], path, answers=[("red" + ODD, 0.5)], json=True
    ),
    "paths": lambda path: path_pictures(
        torch.zeros(1, 8, 8, dtype=torch.uint8),
        torch.zeros(1, 2),
        [4],
        path,
        probabilities=torch.ones(1, 1),
        labels=["cat" + ODD],
        said={0: "cat" + ODD},
        json=True,
    ),
}


@pytest.mark.parametrize("name", WORDED)
def test_any_text_makes_xml_and_json_that_can_be_read(name, tmp_path, recwarn):
    for path in WORDED[name](tmp_path / "a"):
        if path.suffix == ".svg":
            [told] = [part.text for part in ElementTree.parse(path).iter() if part.tag.endswith("}desc")]
            assert told and not set(told) & set(ODD)
        elif path.suffix == ".json":
            assert any(ODD in text for part in ("rows", "columns") for text in json.loads(path.read_text())[part])


def test_an_even_share_is_never_dark():
    for count in (5, 14, 400):
        assert full_scale(1 / count, 1 / count) >= 3.9 / count or count < 4
    assert full_scale(0.0, 0.5) == 1.0 and full_scale(1.0, 1.0) == 1.0
    assert full_scale(1.0, 1.0, float("inf")) == 4.0  # in times of an even share


def test_numbers_are_json():
    told = numbers("t", ["r"], ["c"], torch.tensor([[[1 / 3]]], dtype=torch.float64), step_seconds=0.04)
    assert json.loads(json.dumps(told)) == told
    assert told == {"title": "t", "rows": ["r"], "columns": ["c"], "values": [[[0.333333]]], "step_seconds": 0.04}
