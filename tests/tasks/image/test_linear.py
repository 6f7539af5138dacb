"""Linear baselines of images, and whether a mirrored image keeps its label."""

import numpy as np
import pytest
import torch

from saccade.tasks.image.linear import LINEAR, colours, neighbours, small

NUMBERS = torch.Generator().manual_seed(3)


def images(count, *shape):
    return torch.randint(0, 256, (count, *shape), dtype=torch.uint8, generator=NUMBERS)


def test_colours_are_those_of_numpy():
    batch = images(3, 3, 5, 7)
    for row, image in zip(colours(batch), batch, strict=True):
        counts, _ = np.histogramdd(image.flatten(1).T.numpy(), 8, [(0, 256)] * 3)
        np.testing.assert_allclose(row.numpy() ** 2, counts.ravel() / 35, atol=1e-6)
    grey = images(2, 1, 9, 9)
    assert colours(grey).shape == (2, 64) and torch.allclose(colours(grey).square().sum(1), torch.ones(2))


def test_large_images_are_scaled_down_and_small_ones_stay():
    batch = images(2, 1, 8, 9)
    assert torch.equal(small(batch), batch.flatten(1) / 255)
    large = images(2, 3, 32, 48)
    expected = large.double().view(2, 3, 16, 2, 16, 3).mean((3, 5)).flatten(1) / 255
    torch.testing.assert_close(small(large).double(), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", LINEAR)
def test_a_regression_learns_its_own_features(name):
    batch, labels = images(60, 3, 8, 8), [0, 1, 2] * 20
    for number, label in enumerate(labels):
        batch[number, label] //= 4
    batch[::6, :, :4] //= 2
    model = LINEAR[name].fit(batch[:48], labels[:48], 3)
    found = LINEAR[name].predict(model, lambda first, last: batch[48:][first:last], 12)
    assert found == labels[48:]
    assert (
        LINEAR[name].predict(LINEAR[name].fit(batch[:5], [1] * 5, 3), lambda first, last: batch[first:last], 3)
        == [1] * 3
    )


def test_pixels_see_places_and_colours_do_not():
    batch, labels = torch.zeros(40, 1, 8, 8, dtype=torch.uint8), [0, 1] * 20
    batch[::2, :, :4], batch[1::2, :, 4:] = 255, 255
    right = {
        name: linear.predict(linear.fit(batch, labels, 2), lambda first, last: batch[first:last], 40) == labels
        for name, linear in LINEAR.items()
    }
    assert right == {"pixels": True, "colours": False}


def test_mirrored_images_differ_only_where_sides_matter():
    batch, labels = images(200, 1, 8, 8) // 8, [0, 1] * 100
    batch[::2, :, :, :3] += 128
    batch[1::2, :, :, 5:] += 128
    near = neighbours(batch, labels)
    assert near[:2] == (1.0, 0.0) and near.sides and not near.coloured
    upright = neighbours(batch.mT.contiguous(), labels)  # above and below: the mirror image is alike
    assert upright[:2] == (1.0, 1.0) and not upright.sides
    assert not neighbours(batch[:1], [0]).sides and not neighbours(images(60, 3, 8, 8), [0, 1] * 30).sides


def test_colours_count_where_they_say_clearly_more_than_places():
    batch, labels = images(200, 3, 8, 8), [0, 1] * 100
    batch[::2] = batch[::2] // 128 * 255  # the brightest and the darkest
    batch[1::2] = 64 + batch[1::2] // 2  # grey ones are nearer to all
    near = neighbours(batch, labels)
    assert near.colours == 1.0 and near.pixels < 0.6 and near.coloured and not near.sides
