import numpy as np
import pytest
import torch
from PIL import Image

from saccade.errors import ArgumentError
from studies.frame.digits import open_data
from study_rows import write_mnist


def test_the_files_of_mnist_are_rows_of_pixels_from_0_to_1(tmp_path):
    digits = open_data(str(write_mnist(tmp_path / "m")))
    assert digits.side == 6 and digits.test.shape == (20, 36) and digits.train.dtype == torch.float32
    assert 0 <= float(digits.train.min()) < 0.1 < 0.9 < float(digits.train.max()) <= 1
    assert digits.truth.tolist() == [place % 10 for place in range(20)] and "images train" in digits.fingerprint


def test_images_that_are_no_grey_squares_are_rejected(tmp_path):
    with pytest.raises(ArgumentError, match="--data: .*no/such"):
        open_data("no/such")
    for label in ("a", "b"):
        (tmp_path / "c" / label).mkdir(parents=True)
        for place in range(6):
            picture = np.full((5, 5, 3), 20 * place + (100 if label == "b" else 0), np.uint8)
            picture[0, 0] = (place, 7, 3)
            Image.fromarray(picture).save(tmp_path / "c" / label / f"{place}.png")
    with pytest.raises(ArgumentError, match="--data: expected grey squares as MNIST's, got 3 ×"):
        open_data(str(tmp_path / "c"))
