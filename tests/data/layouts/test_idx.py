import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from image_files import idx_of, mnist_of
from saccade.data.layouts.idx import idx
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.sources import open_files

MNIST = Path(__file__).resolve().parents[4] / "shared/data/mnist"


def opened(folder, size=None):
    return open_files(str(folder), size, None, SplitNames())


@pytest.mark.parametrize("pack", [False, True])
def test_images_rows_and_labels_are_where_they_are(tmp_path, pack):
    folder = mnist_of(tmp_path / "m", pack=pack)
    data = opened(folder)
    assert data.labels == ("0", "1", "2", "3", "4")
    assert [data.size(split) for split in ("train", "validation", "test")] == [43, 7, 5]
    draws = np.random.default_rng(1)
    train, test = draws.integers(0, 256, (50, 11, 13)), draws.integers(0, 256, (5, 11, 13))
    assert data.example("test", 3).image[0].tolist() == test[3].tolist()
    assert data.example("test", 3).label == "3"
    known = {image.astype(np.uint8).tobytes(): str(number % 5) for number, image in enumerate(train)}
    for split in ("train", "validation"):
        for index in range(data.size(split)):
            image, label, _ = data.example(split, index)
            assert known.pop(image.numpy().tobytes()) == label
    assert not known


def test_packed_or_not_is_the_same_data(tmp_path):
    plain, packed = (mnist_of(tmp_path / str(pack), pack=pack) for pack in (False, True))
    assert opened(plain).fingerprint == opened(packed).fingerprint


def bend(change):
    def apply(folder):
        path = folder / "train-images-idx3-ubyte"
        path.write_bytes(change(path.read_bytes()))

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bend(lambda data: data[:-1]), "expected 50 × 11 × 13 bytes after its header, got 7149"),
        (bend(lambda data: data + b"x"), "expected 50 × 11 × 13 bytes after its header, got 7151"),
        (bend(lambda data: data[:7]), "expected an IDX file of bytes in 3 dimensions"),
        (bend(lambda data: b""), "expected an IDX file of bytes in 3 dimensions"),
        (bend(lambda data: b"\0\0\x0d\3" + data[4:]), r"got one that begins with \[0, 0, 13, 3\]"),
        (lambda folder: (folder / "t10k-labels-idx1-ubyte").unlink(), r"expected t10k-labels-idx1-ubyte \(or .gz\)"),
        (
            lambda folder: (folder / "t10k-labels-idx1-ubyte").write_bytes(idx_of(np.zeros(4))),
            "expected as many images as labels in t10k, got 5 images and 4 labels",
        ),
        (
            lambda folder: (folder / "t10k-images-idx3-ubyte").write_bytes(idx_of(np.zeros((5, 9, 9)))),
            r"expected images of one size, got \(9, 9\) and \(11, 13\)",
        ),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    folder = mnist_of(tmp_path)
    change(folder)
    with pytest.raises(ArgumentError, match=message):
        opened(folder)


def test_a_cut_gzip_is_refused(tmp_path):
    folder = mnist_of(tmp_path, pack=True)
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ArgumentError, match="expected a whole gzip file, got a damaged one"):
        opened(folder)
    path.write_bytes(b"hello")
    with pytest.raises(ArgumentError, match="expected a whole gzip file, got a damaged one"):
        opened(folder)
    path.write_bytes(gzip.compress(b"hello"))
    with pytest.raises(ArgumentError, match="expected an IDX file"):
        opened(folder)


def test_other_folders_are_not_mnist(tmp_path):
    assert idx(tmp_path, SplitNames()) is None
    assert idx(tmp_path / "none", SplitNames()) is None


@pytest.mark.slow
@pytest.mark.skipif(not MNIST.is_dir(), reason=f"no data in {MNIST}")
def test_mnist_itself():
    data = opened(MNIST)
    assert data.shape == (1, 28, 28)
    assert [data.size(split) for split in ("train", "validation", "test")] == [55_000, 5000, 10_000]
    assert data.labels == tuple("0123456789")
    assert [data.example("test", index).label for index in range(5)] == list("72104")
    assert Counter(row["label"] for row in data.rows.splits["test"])["1"] == 1135
