"""Retina against a plain crop and a plain mean; what is outside, gradients, and what it costs."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from saccade import nn
from saccade.errors import ArgumentError, ShapeError
from tiers import every


def plain(image, place, size, scale, factor=2):
    """The patch of one scale by padding, cutting out and averaging, for a corner on a whole pixel."""
    wide, high = (side * factor**scale for side in (size if isinstance(size, tuple) else (size, size))[::-1])
    height, width = image.shape[1:]
    left, top = (
        round(float((place[axis] + 1) / 2 * extent - side / 2))
        for axis, extent, side in ((0, width, wide), (1, height, high))
    )
    room = 200
    padded = F.pad(image, (room,) * 4)
    cut = padded[:, top + room : top + room + high, left + room : left + room + wide]
    return F.avg_pool2d(cut[None], factor**scale)[0]


def on_pixels(height, width, *pixels):
    """The places at whole pixels (x, y)."""
    return torch.tensor(pixels, dtype=torch.float64) / torch.tensor([width, height]) * 2 - 1


@every("mode", ["nearest", "bilinear"])
@every(
    ("size", "scales", "height", "width"), [(1, 1, 1, 1), (5, 1, 28, 28), (2, 2, 9, 30), (4, 3, 28, 28), (12, 2, 9, 30)]
)
def test_patches_are_cut_out_and_averaged(mode, size, scales, height, width):
    images = torch.rand(2, 3, height, width, dtype=torch.float64)
    half = 0.5 * (size % 2)  # of an odd patch, whose middle is the middle of a pixel
    corners = ((0, 0), (7, 3), (width, 0), (-9, 40))
    places = on_pixels(height, width, *((x + half, y + half) for x, y in corners))
    found = nn.Retina(size, scales, mode)(images, places.expand(2, 4, 2))
    assert found.shape == (2, 4, scales, 3, size, size)
    for number, image in enumerate(images):
        for place, each in zip(places, found[number], strict=True):
            expected = torch.stack([plain(image, place, size, scale) for scale in range(scales)])
            torch.testing.assert_close(each, expected, rtol=1e-12, atol=1e-12)


@every("mode", ["nearest", "bilinear"])
@every(("size", "scales", "factor"), [((4, 2), 1, 2), ((8, 4), 2, 2), ((2, 6), 2, 4), (3, 3, 3), ((5, 3), 2, 1)])
def test_patches_of_other_shapes_and_factors(mode, size, scales, factor):
    images, height, width = torch.rand(2, 3, 17, 26, dtype=torch.float64), 17, 26
    middle = torch.tensor([s % 2 / 2 for s in (size if isinstance(size, tuple) else (size, size))[::-1]])
    places = on_pixels(height, width, *((x + middle[0], y + middle[1]) for x, y in ((0, 0), (7, 3), (-5, 20))))
    found = nn.Retina(size, scales, mode, factor)(images, places.expand(2, 3, 2))
    for number, image in enumerate(images):
        for place, each in zip(places, found[number], strict=True):
            expected = torch.stack([plain(image, place, size, scale, factor) for scale in range(scales)])
            torch.testing.assert_close(each, expected, rtol=1e-12, atol=1e-12)


def test_a_glimpse_reads_patches_of_any_shape():
    glimpse = nn.Glimpse(nn.Retina((8, 4), scales=2, factor=4), channels=3, output_dim=5)
    assert glimpse.what[0].in_features == 2 * 3 * 8 * 4
    assert glimpse(torch.rand(2, 3, 20, 30), torch.zeros(2, 4, 2)).shape == (2, 4, 5)


def test_between_pixels_bilinear_mixes():
    images = torch.arange(12.0).view(1, 1, 1, 12).expand(1, 1, 12, 12)
    place = on_pixels(12, 12, (6.25, 6)).float()[None]
    assert nn.Retina(2, mode="bilinear")(images, place)[0, 0, 0, 0, 0].tolist() == pytest.approx([5.25, 6.25])
    assert nn.Retina(2)(images, place)[0, 0, 0, 0, 0].tolist() == [5, 6]


def test_bilinear_alone_has_gradients_to_the_location():
    images = torch.rand(1, 1, 7, 9, dtype=torch.float64, requires_grad=True)
    place = torch.tensor([[0.13, -0.21]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(nn.Retina(2, 2, "bilinear"), (images, place))
    nn.Retina(2, 2)(images, place).sum().backward()
    assert place.grad is None and images.grad.sum() == pytest.approx(8)


class Made(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that is made, views of what is there aside."""

    def __init__(self, known):
        super().__init__()
        self.known, self.largest = known.untyped_storage().data_ptr(), 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        found = function(*arguments, **(named or {}))
        if isinstance(found, torch.Tensor) and found.untyped_storage().data_ptr() != self.known:
            self.largest = max(self.largest, found.numel())
        return found


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_no_more_of_an_image_is_read_than_patches_cover(mode):
    """A large image costs what a small one does: nothing of its size is made."""
    image = torch.rand(1, 1, 1000, 1000)
    with Made(image) as made:
        nn.Retina(8, 2, mode)(image, torch.zeros(1, 3, 2))
    assert made.largest <= 3 * 2 * 16 * 16


@pytest.mark.parametrize("place", [(1e30, 0.0), (float("nan"), 0.0), (-float("inf"), 5.0)])
def test_places_far_away_see_nothing(place):
    found = nn.Retina(4, 2)(torch.rand(1, 1, 8, 8), torch.tensor([place]))
    assert found.isfinite().all()


@pytest.mark.parametrize(("mode", "free"), [("nearest", 2), ("bilinear", 1)])
@pytest.mark.parametrize("edge", [torch.nan, torch.inf])
def test_what_is_outside_is_0_whatever_the_edge_is(mode, free, edge):
    images = torch.full((1, 1, 8, 8), edge, dtype=torch.float64)
    found = nn.Retina(4, mode=mode)(images, -torch.ones(1, 2, dtype=torch.float64))[0, 0, 0]
    assert not found[:free].any() and not found[:, :free].any() and not found[2:, 2:].isfinite().any()


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_places_in_half_precision_are_those_places(mode):
    images, places = torch.rand(1, 1, 400, 400), torch.tensor([[0.9123, 0.777]]).bfloat16()
    retina = nn.Retina(4, 2, mode)
    torch.testing.assert_close(retina(images, places), retina(images, places.float()))


@pytest.mark.parametrize("given", [(0,), (8, 0), (3, 2), (8, 1, "cubic"), (4096, 2), (-4, 1), ((8, 3), 2), (8, 10**12)])
def test_a_retina_that_means_nothing_is_refused(given):
    with pytest.raises(ArgumentError, match="expected"):
        nn.Retina(*given)


@pytest.mark.parametrize("given", [{"factor": 0}, {"size": (8, 4, 2)}, {"size": (8,)}, {"scales": 7, "factor": 4}])
def test_sides_and_factors_without_a_meaning_are_refused(given):
    with pytest.raises(ArgumentError, match="expected"):
        nn.Retina(**given)


@pytest.mark.parametrize(
    ("images", "places"),
    [((1, 8, 8), (1, 2)), ((1, 1, 0, 8), (1, 2)), ((2, 1, 8, 8), (3, 2)), ((2, 1, 8, 8), (2, 3)), ((2, 1, 8, 8), (2,))],
)
def test_shapes_that_do_not_fit_are_refused(images, places):
    with pytest.raises(ShapeError, match="expected"):
        nn.Retina()(torch.zeros(images), torch.zeros(places))
    with pytest.raises(ShapeError, match="floating point"):
        nn.Retina()(torch.zeros(1, 1, 8, 8, dtype=torch.uint8), torch.zeros(1, 2))


def test_a_glimpse_is_what_and_where():
    images, places = torch.rand(2, 1, 20, 20), torch.rand(2, 3, 2)
    for combine in ("add", "multiply"):
        glimpse = nn.Glimpse(nn.Retina(4, 2), 1, 6, 5, combine)
        what, where = glimpse.what(glimpse.retina(images, places).flatten(2)), glimpse.where(places)
        expected = what + where if combine == "add" else what * where
        torch.testing.assert_close(glimpse(images, places), expected.clamp(min=0))
    with pytest.raises(ArgumentError, match="add or multiply"):
        nn.Glimpse(nn.Retina(), combine="mean")
    for sizes in ({"channels": 0}, {"hidden_dim": 0}, {"output_dim": 2.5}):
        with pytest.raises(ArgumentError, match=f"{min(sizes)}: expected an int of at least 1"):
            nn.Glimpse(nn.Retina(), **sizes)
