"""The kernel of patches against crops and means by torch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from saccade import nn, plainly
from saccade.errors import ShapeError
from saccade.kernels.patches import patches


def cut(images, owner, corner, size, scales):
    """The same by padding, cropping and averaging."""
    widest, room = size << (scales - 1), 300
    padded = F.pad(images.double(), (room,) * 4)
    found = []
    for image, (x, y) in zip(padded[owner], corner.tolist(), strict=True):
        for scale in range(scales):
            side, within = size << scale, widest // 2 - (size << scale) // 2
            left, top = x + within + room, y + within + room
            found.append(F.avg_pool2d(image[None, :, top : top + side, left : left + side], 1 << scale)[0])
    return torch.stack(found).view(len(owner), scales, images.shape[1], size, size)


@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 40), st.integers(1, 40),
    st.integers(1, 6), st.integers(1, 4), st.integers(1, 20), st.integers(0, 99),
)  # fmt: skip
def test_patches_are_crops_and_means(batch, channels, height, width, half, scales, places, seed):
    size = 2 * half if scales > 1 else half
    numbers = torch.Generator().manual_seed(seed)
    images = torch.rand(batch, channels, height, width, generator=numbers)
    owner = torch.randint(batch, (places,), generator=numbers)
    corner = torch.randint(-size << scales, 60, (places, 2), generator=numbers)
    found, expected = patches(images, owner, corner, size, scales), cut(images, owner, corner, size, scales)
    # a mean of 4^s numbers in [0, 1], each sum of which is rounded
    torch.testing.assert_close(found.double(), expected, rtol=4 ** (scales - 1) * 2**-23, atol=1e-7)


def test_the_retina_takes_it_where_nothing_asks_for_a_gradient():
    images, places = torch.rand(4, 3, 30, 50), torch.rand(4, 2, 3, 2) * 4 - 2
    retina = nn.Retina(6, 3)
    found = retina(images, places)
    with plainly():
        torch.testing.assert_close(found, retina(images, places), rtol=1e-6, atol=1e-6)
    apart = images.transpose(2, 3).contiguous().transpose(2, 3)
    torch.testing.assert_close(retina(apart, places), found, rtol=1e-6, atol=1e-6)
    assert not found.requires_grad and retina(images.requires_grad_(), places).requires_grad


def test_places_beyond_numbers_see_nothing_and_none_is_none():
    images = torch.ones(1, 1, 8, 8)
    places = torch.tensor([[[1e30, 0.0], [-1e30, 1e30], [float("inf"), 0.0]]])
    assert nn.Retina(4, 2)(images, places).abs().sum() == 0
    assert nn.Retina(4)(images, torch.zeros(1, 0, 2)).shape == (1, 0, 1, 1, 4, 4)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_places_may_name_their_images(mode):
    images, places, index = torch.rand(4, 2, 9, 11), torch.rand(6, 3, 2) * 2 - 1, torch.tensor([3, 0, 0, 2, 3, 1])
    retina = nn.Retina(4, 2, mode)
    torch.testing.assert_close(retina(images, places, index), retina(images[index], places))
    glimpse = nn.Glimpse(retina, 2, 5, 7)
    assert glimpse(images, places, index).shape == (6, 3, 7)
    with pytest.raises(ShapeError, match="^index: expected"):
        retina(images, places, index.float())


@pytest.mark.parametrize("what", ["images", "owner", "corner"])
def test_what_does_not_fit_is_refused(what):
    images, owner, corner = torch.zeros(2, 1, 5, 5), torch.tensor([0, 1, 1]), torch.zeros(3, 2, dtype=torch.long)
    wrong = {"images": [images.double(), images[0], images.transpose(2, 3)[:, :, :4]]}
    wrong |= {"owner": [owner + 1, owner - 1, owner.int(), owner[0]]}
    wrong |= {"corner": [corner.int(), corner[:1], corner[..., :1]]}
    for each in wrong[what]:
        with pytest.raises(ShapeError, match=f"^{what}: expected"):
            patches(**({"images": images, "owner": owner, "corner": corner, "size": 2, "scales": 2} | {what: each}))
