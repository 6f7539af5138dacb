"""Small image files and data sets, made for the tests."""

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"red": (250, 10, 10), "green": (10, 250, 10), "blue": (10, 10, 250)}


def packed(image: Image.Image, form: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def plain(colour, size=(11, 13), mode: str = "RGB") -> bytes:
    return packed(Image.new(mode, size, colour))


def folder_of(folder: Path, splits=("train", "validation", "test"), count: int = 3, size=(11, 13)) -> Path:
    for split in splits:
        for name, colour in COLOURS.items():
            place = folder / split / name
            place.mkdir(parents=True, exist_ok=True)
            for number in range(count):
                (place / f"{number}.png").write_bytes(plain(colour, size))
    return folder


def archive_of(folder: Path, path: Path, mode: str = "w:gz", root: str = "") -> Path:
    with tarfile.open(path, mode) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.add(file, f"{root}{file.relative_to(folder).as_posix()}")
    return path


def idx_of(array: np.ndarray) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes((0, 0, 8, array.ndim)) + sizes + array.astype(np.uint8).tobytes()


def mnist_of(folder: Path, train: int = 50, test: int = 5, pack: bool = False) -> Path:
    draws = np.random.default_rng(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train), ("t10k", test)):
        images, labels = draws.integers(0, 256, (count, 11, 13)), np.arange(count) % 5
        for kind, array in ((f"{name}-images-idx3-ubyte", images), (f"{name}-labels-idx1-ubyte", labels)):
            data = idx_of(array)
            (folder / (kind + ".gz" * pack)).write_bytes(gzip.compress(data) if pack else data)
    return folder


def cifar_of(folder: Path, each: int = 20, fine: bool = False) -> Path:
    draws = np.random.default_rng(2)
    folder.mkdir(parents=True, exist_ok=True)
    names = ["train.bin", "test.bin"] if fine else ["data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"]
    for name in names:
        marks = np.stack([np.arange(each) % 2, np.arange(each) % 3], 1) if fine else (np.arange(each) % 3)[:, None]
        rows = np.concatenate([marks, draws.integers(0, 256, (each, 3072))], 1).astype(np.uint8)
        (folder / name).write_bytes(rows.tobytes())
    (folder / ("fine_label_names.txt" if fine else "batches.meta.txt")).write_text("cat\nape\nbee\n\n")
    return folder
