import numpy as np
import pytest
import torch

from saccade.models.colours import colour_shares


@pytest.mark.parametrize(("channels", "levels"), [(1, 64), (3, 8)])
def test_shares_of_colours_are_counted_image_by_image(channels, levels):
    images = torch.randint(0, 256, (4, channels, 5, 6)) / 255
    for row, image in zip(colour_shares(images), images, strict=True):
        counts, _ = np.histogramdd((image.flatten(1).T * 255).round().numpy(), levels, [(0, 256)] * channels)
        np.testing.assert_allclose(row.numpy() ** 2, counts.ravel() / 30, atol=1e-6)
