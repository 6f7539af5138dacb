import numpy as np
import pytest
import torch

from reports.test_digits import write_mnist
from saccade.reports.bottleneck.codes import AUTOENCODER, PIXELS, PRINCIPAL, coded, drawing, drawn_image
from saccade.reports.digits import open_data
from saccade.reports.direct import Budget

CPU, BUDGET = torch.device("cpu"), Budget(150, 5.0)


@pytest.fixture(scope="module")
def digits():
    return open_data("digits")


def test_principal_components_are_the_nearest_plane(digits):
    """Their error is what the singular values beyond the code leave, on what they are computed from."""
    found = coded(PRINCIPAL, 3, digits, 0, BUDGET, CPU)
    rows = digits.train.double().numpy()
    mean = rows.mean(0)
    plane = np.linalg.svd(rows - mean, full_matrices=False)[2][:3]
    asked = digits.test.double().numpy() - mean
    assert found["error"] == pytest.approx(((asked - asked @ plane.T @ plane) ** 2).mean(), rel=1e-4)
    assert "steps" not in found and "shown" not in found


@pytest.mark.slow
def test_a_larger_code_keeps_more_and_pixels_keep_all(digits):
    small, large = (coded(AUTOENCODER, code, digits, 1, BUDGET, CPU) for code in (2, 32))
    whole = coded(PIXELS, 0, digits, 0, BUDGET, CPU)
    assert small["error"] > 1.5 * large["error"] > 0 == whole["error"]
    assert small["right"] < large["right"] and whole["right"] > 0.9 and large["steps"] == 150
    assert len(large["shown"]) == 10 and "shown" not in coded(AUTOENCODER, 2, digits, 2, Budget(1, 1.0), CPU)
    first = int(np.flatnonzero(digits.truth == 0)[0])
    shown = drawn_image(whole["shown"][0], digits.side)
    assert float((shown.flatten() - digits.test[first]).abs().max()) <= 0.5 / 15 + 1e-6


def test_images_of_one_s_own_are_coded(tmp_path):
    digits = open_data(str(write_mnist(tmp_path / "m")))
    found = coded(AUTOENCODER, 2, digits, 1, Budget(2, 1.0), CPU)
    assert 0 <= found["right"] <= 1 and drawn_image(found["shown"][9], 6).shape == (6, 6)


def test_a_drawing_is_read_again_to_within_half_a_grey():
    pixels = np.random.default_rng(1).uniform(-0.2, 1.2, 12)
    back = drawn_image(drawing(pixels), 4)
    assert back.shape == (3, 4) and np.abs(back.numpy().ravel() - pixels.clip(0, 1)).max() <= 0.5 / 15 + 1e-6
