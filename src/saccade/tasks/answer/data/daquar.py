"""DAQUAR as it comes: CSV files of questions, answers and images' names, lists of images, and the images.

    data.csv                 question,answer,image_id        all questions
    train_images_list.txt    image3                          the split by images of its authors, 795 to train on
    test_images_list.txt     image1                          and 654 to test on
    data_train.csv           question,answer,image_id        another split, by questions: images are in both parts
    data_eval.csv

The authors' split is read where it is there, as a model is then asked about images that it has not seen; the other one
is read where `--train-split data_train --test-split data_eval` name it. Images are in the folder, or in a tar there. An
answer of several words with commas between is one answer.

Source:
    Malinowski, Fritz 2014, "A Multi-World Approach to Question Answering about Real-World Scenes based on Uncertain
    Input" (https://arxiv.org/abs/1410.0210).
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from saccade.data.splits import SplitNames
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.image.decoded import Source
from saccade.tasks.image.places import Images

__all__ = ["is_daquar", "read_daquar"]

_LISTS = {"train": "train_images_list.txt", "test": "test_images_list.txt"}
_PARTS = {"train": "data_train", "test": "data_eval"}
_ALL = "data.csv"
_ENDS = (".png", ".jpg", ".jpeg")
_HEADER = ["question", "answer", "image_id"]


def is_daquar(path: Path) -> bool:
    """Return whether a folder has DAQUAR's files."""
    return _listed(path) or (path / f"{_PARTS['train']}.csv").is_file()


def read_daquar(path: Path, names: SplitNames, known: Known | None = None) -> Gathering:
    """Read the questions.

    Args:
        path: the folder.
        names: what splits are called: the CSV files of those that one names, else the authors' lists of images.
        known: of an image's name, whether there are features of it; then no image is looked for.

    Raises:
        ArgumentError: naming what is missing or wrong.
        OSError: if something cannot be read.
    """
    images = Images(path)

    def find(name: str) -> Source | None:
        return next(filter(None, (images.find(f"{name}{end}") for end in _ENDS)), None)

    def stored(name: str) -> str:
        """What a store has the image by."""
        return next((f"{name}{end}" for end in _ENDS if known and known(f"{name}{end}")), name)

    gathering = Gathering(path, find, published=True, known=known)
    if names.given or not _listed(path):
        parts = names.given or _PARTS
        for split, stem in parts.items():
            if not (path / f"{stem}.csv").is_file():
                names.check(split, path, (file.stem for file in path.glob("*.csv")))
                continue
            _add(gathering, path / f"{stem}.csv", stored, {}, split)
        told = ", ".join(f"{stem}.csv" for stem in parts.values())
        gathering.notes.append(f"DAQUAR's split by questions: {told}")
        return gathering
    split_of = {name: split for split, file in _LISTS.items() for name in _lines(path / file)}
    _add(gathering, path / _ALL, stored, split_of, None)
    counts = ", ".join(f"{len(gathering.rows[split])} questions to {split}" for split in _LISTS)
    gathering.notes.append(f"DAQUAR's own split by images: {counts}")
    return gathering


def _listed(path: Path) -> bool:
    return all((path / name).is_file() for name in (_ALL, *_LISTS.values()))


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in read_lines(path, "the name of an image a line") if line.strip()]


def _add(
    gathering: Gathering,
    path: Path,
    stored: Callable[[str], str],
    split_of: Mapping[str, str],
    split: str | None,
) -> None:
    lines = read_lines(path, f"rows of {', '.join(_HEADER)}")
    for number, cells in enumerate(csv.reader(f"{line}\n" for line in lines), 1):
        where = f"row {number} of {path}"
        if cells == _HEADER or not any(map(str.strip, cells)):
            continue
        if len(cells) != len(_HEADER):
            wanted = "expected a question, an answer and an image's name"
            raise ArgumentError(f"{where}: {wanted}, got {len(cells)} columns")
        question, answer, image = cells
        name = image.strip()
        if split is None and name not in split_of:
            raise ArgumentError(f"{where}: expected an image of {' or '.join(_LISTS.values())}, got {name:.60}")
        gathering.add(stored(name), question, [answer], where, split or split_of[name])
