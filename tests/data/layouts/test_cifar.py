import pickle

import numpy as np
import pytest
import torch

from image_files import cifar_of
from saccade.data.layouts.cifar import cifar
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.sources import open_files


def opened(folder, size=None):
    return open_files(str(folder), size, None, SplitNames())


def rows(folder, name, marks):
    return np.frombuffer((folder / name).read_bytes(), np.uint8).reshape(-1, marks + 3072)


@pytest.mark.parametrize("inside", ["", "cifar-10-batches-bin"])
def test_cifar_10_is_read(tmp_path, inside):
    folder = cifar_of(tmp_path / inside)
    data = opened(tmp_path)
    assert data.labels == ("ape", "bee", "cat")
    assert [data.size(split) for split in ("train", "validation", "test")] == [34, 6, 20]
    row = rows(folder, "test_batch.bin", 1)[5]
    image, label, _ = data.example("test", 5)
    assert label == ("cat", "ape", "bee")[row[0]]
    assert torch.equal(image, torch.from_numpy(row[1:].copy()).reshape(3, 32, 32))


def test_of_cifar_100_the_fine_labels_count(tmp_path):
    folder = cifar_of(tmp_path, fine=True)
    data = opened(folder)
    row = rows(folder, "test.bin", 2)[4]
    assert data.example("test", 4).label == ("cat", "ape", "bee")[row[1]]
    assert data.size("test") == 20


def test_without_names_labels_are_numbers(tmp_path):
    (cifar_of(tmp_path) / "batches.meta.txt").unlink()
    assert opened(tmp_path).labels == ("0", "1", "2")


def test_pickles_are_not_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ArgumentError, match=r"expected no pickles, .*; take the binary version \(cifar-10-bin"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data_batch_2.bin", b"\0" * 3072, "data_batch_2.bin: expected images of 3073 bytes each, .* got 3072 bytes"),
        ("test_batch.bin", b"", "test_batch.bin: expected images of 3073 bytes each, .* got 0 bytes"),
        ("test_batch.bin", b"\7" + b"\0" * 3072, "test_batch.bin: expected labels below 3, got 7"),
        ("batches.meta.txt", b"cat\ncat\nbee\n", "batches.meta.txt: expected a different label each line"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, message):
    (cifar_of(tmp_path) / name).write_bytes(content)
    with pytest.raises(ArgumentError, match=message):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["meta", "train.bin", "data_batch_1", "batches.meta"])
def test_a_class_may_be_called_as_a_file_of_cifar(tmp_path, name):
    (tmp_path / name).mkdir()
    assert cifar(tmp_path, SplitNames()) is None


@pytest.mark.parametrize("name", ["cifar-10-batches-py", "cifar-100-python"])
def test_folders_of_pickles_are_named(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(ArgumentError, match="expected no pickles"):
        opened(tmp_path)


def test_missing_files_are_named(tmp_path):
    folder = cifar_of(tmp_path)
    test = (folder / "test_batch.bin").rename(tmp_path / "moved")
    with pytest.raises(ArgumentError, match=r"expected test_batch.bin or test.bin in it, found none"):
        opened(folder)
    test.rename(folder / "test_batch.bin")
    for path in folder.glob("data_batch*"):
        path.unlink()
    with pytest.raises(ArgumentError, match=r"expected data_batch_1.bin or train.bin in it"):
        opened(folder)
