import json

import pytest
import torch

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import Band, traces


def drawn(bands, folder, **more):
    return traces(bands, folder / "picture", **more)


def test_bands_are_drawn_with_their_numbers(tmp_path, figures):
    bands = [
        Band("read", torch.eye(5)),
        Band("write", torch.rand(40, 5)),
        Band("links", torch.rand(4, 4), square=True),
    ]
    paths = drawn(bands, tmp_path, title="a memory", json=True)
    assert [path.suffix for path in paths] == [".png", ".svg", ".json"]
    read, _, write, _, links, _ = figures[0].axes  # each beside its colour bar
    assert read.images[0].get_array().tolist() == torch.eye(5).tolist() and write.get_xlabel() == "step →"
    assert (links.get_xlabel(), links.get_ylabel()) == ("cell written right before the row's cell", "cell ↓")
    told = json.loads(paths[2].read_text())
    assert len(told["rows"]) == len(told["values"]) == 45 and told["rows"][5] == "write 0"
    assert len(told["links"]["values"]) == 4 and told["darkest"].keys() == {"read", "write", "links"}
    assert told["darkest"]["read"] == 1 and told["darkest"]["write"] == pytest.approx(bands[1].values.max().item())


def test_each_band_has_a_number_that_is_darkest(tmp_path, figures):
    bands = [Band("pale", torch.full((2, 3), 0.1)), Band("signed", torch.tensor([[-5.0, 1.0, 0.0]]))]
    told = json.loads(drawn([*bands, Band("bits", torch.eye(3) / 2, whole=True)], tmp_path, json=True)[2].read_text())
    assert told["darkest"] == {"pale": pytest.approx(0.1), "signed": 5.0, "bits": 1.0}


def test_words_tell_where_bands_are_darkest(tmp_path, figures):
    said = Band.along("said", torch.tensor([[0.5, 1.0], [1.0, 0.0]]), torch.tensor([False, True, True]))
    signed = Band("signed", torch.tensor([[1.0, 0.0, 2.0], [-5.0, 0.0, 1.0]]))
    written = drawn([said, signed], tmp_path / "few")[1].read_text()
    assert "<desc>said: darkest at - 1 0; signed: darkest at 1 - 0</desc>" in written
    written = drawn([Band("read", torch.ones(1, 41))], tmp_path / "many")[1].read_text()
    assert f"read: darkest at {'0 ' * 40}…</desc>" in written


def test_places_that_are_never_used_are_left_out_at_the_edges(tmp_path, figures):
    values = torch.zeros(100, 6)
    values[40, 1], values[45, 2] = 1.0, 0.5
    told = json.loads(drawn([Band("write", values)], tmp_path, json=True)[2].read_text())
    assert told["rows"][0] == "write 40" and told["rows"][-1] == "write 45"


def test_cells_of_a_ring_begin_behind_the_longest_gap(tmp_path, figures):
    write, read = torch.zeros(100, 6), torch.zeros(100, 6)
    write[98, 1], write[2, 2], read[97, 3] = 1.0, 0.5, 1.0
    links = torch.arange(10_000.0).view(100, 100)
    bands = [Band("write", write, ring=True), Band("read", read, ring=True), Band("links", links, True, ring=True)]
    told = json.loads(drawn(bands[:2], tmp_path / "two", json=True)[2].read_text())
    cells = [97, 98, 99, 0, 1, 2]
    assert told["rows"] == [f"{name} {cell}" for name in ("write", "read") for cell in cells]
    told = json.loads(drawn([*bands[:2], bands[2]], tmp_path / "three", json=True)[2].read_text())
    assert len(told["links"]["places"]) == 98  # those that are used in one of the bands are shown in all
    nothing = json.loads(
        drawn([Band("write", torch.zeros(4, 2), ring=True)], tmp_path / "none", json=True)[2].read_text()
    )
    assert len(nothing["rows"]) == 4


def test_numbers_below_nought_and_nothing_at_all_are_drawn(tmp_path, figures):
    some = Band.along("said", torch.tensor([[0.5, 1.0]]), torch.tensor([False, True, False]))
    assert drawn([Band("read", torch.tensor([[-1.0, 0.5, 0.0]])), some, Band("write", torch.zeros(3, 3))], tmp_path)


def test_steps_have_labels(tmp_path, figures):
    steps = ["where", "is", "日本", "→ hall"]
    paths = drawn([Band("read", torch.rand(3, 4))], tmp_path, steps=steps, json=True)
    assert json.loads(paths[2].read_text())["columns"] == steps
    assert [label.get_text() for label in figures[0].axes[0].get_xticklabels()] == steps


def test_eight_bands_are_drawn_and_the_rest_is_named(tmp_path, figures):
    told = json.loads(drawn([Band(f"r{n}", torch.eye(3)) for n in range(10)], tmp_path, json=True)[2].read_text())
    assert len(figures[0].axes) == 16 and len(told["rows"]) == 30
    assert "8 of 10 bands are drawn, not the last 2: r8, r9" in texts(figures[0])


@pytest.mark.parametrize(
    ("bands", "steps", "error"),
    [
        ([], [], ArgumentError),
        ([Band("a", torch.zeros(0, 3))], [], ArgumentError),
        ([Band("a", torch.full((2, 3), torch.nan))], [], ArgumentError),
        ([Band("links", torch.zeros(2, 2), square=True)], [], ArgumentError),
        ([Band("a", torch.zeros(1, 3)), Band("b", torch.zeros(1, 4))], [], ShapeError),
        ([Band("a", torch.zeros(1, 3))], ["x"], ShapeError),
        ([Band("a", torch.tensor([[1.0, torch.inf]]))], [], ArgumentError),
        ([Band("a", torch.zeros(3))], [], ShapeError),
        ([Band("a", torch.zeros(2, 3)), Band("links", torch.zeros(2, 3), square=True)], [], ShapeError),
    ],
)
def test_what_cannot_be_drawn_is_rejected(bands, steps, error, tmp_path):
    with pytest.raises(error, match=r"^(bands.*|values): expected "):
        drawn(bands, tmp_path, steps=steps)
    assert not list(tmp_path.iterdir())
