import gzip
import struct

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.reports.digits import open_data


def write_mnist(folder, side=6, count=40):
    """The four files of MNIST, with grey images of noise; the label of each is its number modulo 10."""
    numbers = np.random.default_rng(1)
    folder.mkdir()
    for name, many in (("train", count), ("t10k", count // 2)):
        pixels = numbers.integers(0, 256, (many, side, side), np.uint8)
        head = struct.pack(">4BIII", 0, 0, 8, 3, many, side, side)
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + pixels.tobytes()))
        labels = np.arange(many, dtype=np.uint8) % 10
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">4BI", 0, 0, 8, 1, many) + labels.tobytes())
        )
    return folder


def test_the_files_of_mnist_are_rows_of_pixels_from_0_to_1(tmp_path):
    digits = open_data(str(write_mnist(tmp_path / "m")))
    assert digits.side == 6 and digits.test.shape == (20, 36) and digits.train.dtype == torch.float32
    assert 0 <= float(digits.train.min()) < 0.1 < 0.9 < float(digits.train.max()) <= 1
    assert digits.truth.tolist() == [place % 10 for place in range(20)] and "images train" in digits.fingerprint


def test_what_is_no_grey_square_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="--data: .*no/such"):
        open_data("no/such")
    from PIL import Image

    for label in ("a", "b"):
        (tmp_path / "c" / label).mkdir(parents=True)
        for place in range(6):
            picture = np.full((5, 5, 3), 20 * place + (100 if label == "b" else 0), np.uint8)
            picture[0, 0] = (place, 7, 3)
            Image.fromarray(picture).save(tmp_path / "c" / label / f"{place}.png")
    with pytest.raises(ArgumentError, match="--data: expected grey squares as MNIST's, got 3 ×"):
        open_data(str(tmp_path / "c"))
