"""Images that are spoken of: what is drawn of them, weights as maps, and gradients as shares of parts."""

import pytest
import torch

from image_files import plain
from saccade.errors import ArgumentError
from saccade.tasks.image.features.store import Features, FeatureStore, write_store
from saccade.tasks.image.shown import Shown, featured, maps_of, shares

BOXES = torch.tensor([[0, 0, 0.5, 1], [0.5, 0, 1, 1], [0, 0, 0.25, 0.25]])
IMAGE = torch.randint(0, 256, (3, 8, 10), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
REGIONS = Shown("dog.png", Features(torch.ones(3, 5), BOXES))


def test_a_place_has_what_the_heaviest_region_on_it_has():
    maps = maps_of(REGIONS, torch.tensor([[0.2, 0.5, 0.3]]), None)
    assert maps.shape == (1, 64, 64)
    assert maps[0, 0, 0] == 0.3 and maps[0, 40, 0] == 0.2 and maps[0, 0, 63] == 0.5


def test_features_without_their_image_are_drawn_over_grey():
    assert REGIONS.image.unique().tolist() == [128]
    assert torch.equal(REGIONS._replace(picture=IMAGE).image, IMAGE) and torch.equal(Shown("a", IMAGE).image, IMAGE)


def test_features_are_found_with_their_picture_if_there_is_one(tmp_path):
    write_store(tmp_path / "store", ["dog.png"], [torch.ones(6, 5)], grid=(2, 3))
    (tmp_path / "dog.png").write_bytes(plain((9, 8, 7), (30, 20)))
    store = FeatureStore.open(tmp_path / "store")
    assert featured(store, str(tmp_path / "dog.png")).image.shape == (3, 224, 224)
    alone = featured(store, "dog.png", 3)
    assert alone.picture is None and alone.number == 3 and alone.seen.values.shape == (6, 5)
    with pytest.raises(ArgumentError, match=r"expected features of cat\.png, found none"):
        featured(store, "cat.png")


def test_shares_of_cells_are_sums_of_their_pixels_norms():
    grads = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(1))
    found = shares(grads, (2, 3)).view(2, 2, 3)
    sizes = grads.square().sum(1).sqrt()
    for row, down, across in ((0, 0, 0), (1, 1, 2)):
        cell = sizes[row, 2 * down : 2 * down + 2, 2 * across : 2 * across + 2].sum()
        torch.testing.assert_close(found[row, down, across], cell / sizes[row].sum())
    assert not shares(torch.zeros_like(grads), (2, 3)).any()
