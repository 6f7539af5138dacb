"""What models are given of images: pixels or features, what encodes them, and what is saved of that."""

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Options
from saccade.tasks.caption import CAPTION
from saccade.tasks.image.features.store import Features, FeatureStore, write_store
from saccade.tasks.image.sight import Sight, suited, visual
from tiers import every

KNOWN = [
    Sight((3, 24, 32), (0.5, 0.25, 0.75), (0.1, 0.2, 0.3)),
    Sight(dim=7, grid=(3, 5)),
    Sight(dim=7),
]


@pytest.mark.parametrize("sight", KNOWN)
def test_what_is_saved_is_read_back(sight):
    assert Sight.restore(sight.to_json()) == sight


def test_pixels_and_features_have_their_encoders():
    options = Options(widths="4,6", cell_dim=5)
    images, maps, regions = (sight.encoder(options) for sight in KNOWN)
    assert isinstance(images, ImageEncoder) and KNOWN[0].size == (24, 32)
    torch.testing.assert_close(images.cnn.std, torch.tensor([0.1, 0.2, 0.3]))
    assert isinstance(maps, FeatureEncoder) and maps.shape == (3, 5)
    assert isinstance(regions, FeatureEncoder) and regions.shape is None
    seen = visual([Features(torch.rand(15, 7), torch.rand(15, 4))] * 2)
    assert maps(seen).values.shape == (2, 15, 5) and maps(seen).shape == (3, 5)


def test_what_is_blank_is_seen_as_any_other_image_is():
    options = Options(widths="4,6", cell_dim=5)
    for sight in KNOWN:
        assert sight.encoder(options).eval()(visual([sight.blank()])).values.shape[-1] == 5


def test_features_of_several_counts_are_padded():
    few, many = (Features(torch.rand(n, 7), torch.rand(n, 4)) for n in (2, 4))
    seen = visual([few, many])
    assert seen.lengths.tolist() == [2, 4] and seen.values.shape == (2, 4, 7)
    assert torch.equal(seen.values[0, :2], few.values) and not seen.values[0, 2:].any()
    assert torch.equal(seen.boxes[1], many.boxes)


@every(
    "content",
    [
        {},
        {"dim": 0, "grid": None},
        {"dim": 7, "grid": [3]},
        {"dim": 7, "grid": "ab"},
        {"shape": [3, 8], "mean": [], "std": []},
        {"shape": [3, 8, -1], "mean": [], "std": []},
        {"shape": [3, 8, 8], "mean": ["x"], "std": []},
    ],
)
def test_what_is_not_whole_is_refused(content):
    with pytest.raises((KeyError, TypeError, ValueError)):
        Sight.restore(content)


def test_a_store_of_other_features_is_refused(tmp_path):
    write_store(tmp_path / "maps", ["a.png"], [torch.ones(6, 7)], grid=(2, 3))
    store = FeatureStore.open(tmp_path / "maps")
    Sight(dim=7, grid=(2, 3)).check(store)
    for other in (Sight(dim=7), Sight(dim=6, grid=(2, 3)), Sight(dim=7, grid=(3, 2))):
        with pytest.raises(ArgumentError, match="--features: expected .* got maps of 2 × 3 cells of 7 numbers"):
            other.check(store)


def test_features_replace_the_recipe_of_images():
    given, store = {"data": "photos", "shift": 0, "flip": False}, {"features": "store"}
    usual, without = (suited(CAPTION, "show-and-tell", {**given, **more}, None).options for more in ({}, store))
    assert {"widths", "shift"} & set(usual) and not {"widths", "stem_stride"} & set(without)
    assert without == {**{name: usual[name] for name in usual if name in without}, "flip": False, "shift": 0}


@every(
    ("name", "value"),
    [("widths", "4,6"), ("blocks", 1), ("stem", "patch"), ("stem_stride", 2), ("shift", 3), ("flip", True)],
)
def test_an_option_without_effect_on_features_is_rejected(name, value):
    option = name.replace("_", "-")
    with pytest.raises(ArgumentError, match=f"--{option}: expected none with --features, .* got {value}; leave it out"):
        suited(CAPTION, "show-and-tell", {"data": "photos", "features": "store", name: value}, None)
