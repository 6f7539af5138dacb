"""DAQUAR: CSV files of questions, answers and image names, and the images.

    data.csv                 question,answer,image_id        all questions
    train_images_list.txt    image3                          the split by images of its authors, 795 to train on
    test_images_list.txt     image1                          and 654 to test on
    data_train.csv           question,answer,image_id        another split, by questions: images are in both parts
    data_eval.csv

The split by images is the default if its lists exist, as a model then has to answer about new images. The options
`--train-split data_train --test-split data_eval` select the split by questions. Images are in the folder, or in a tar
there. Several words with commas between are one answer.

Source:
    Malinowski, Fritz 2014, "A Multi-World Approach to Question Answering about Real-World Scenes based on Uncertain
    Input" (https://arxiv.org/abs/1410.0210).
"""

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from saccade.data.columns import Listed
from saccade.data.splits import SPLIT, SplitNames
from saccade.data.table import Row, Table
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["daquar"]

_LISTS = {"train": "train_images_list.txt", "test": "test_images_list.txt"}
_PARTS = {"train": "data_train", "test": "data_eval"}
_ALL = "data.csv"
_HEADER = ["question", "answer", "image_id"]


def daquar(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image`, `question` and `answer`, or None for another layout.

    Args:
        folder: folder of the files.
        names: the names of splits. Names from options are those of CSV files.

    Raises:
        ArgumentError: for a missing or invalid file or row, with its name.
        OSError: if a file cannot be read.
    """
    listed = all((folder / name).is_file() for name in (_ALL, *_LISTS.values()))
    if not listed and not (folder / f"{_PARTS['train']}.csv").is_file():
        return None
    if names.given or not listed:
        parts, tables = names.given or _PARTS, dict[str, Table]()
        note = f"DAQUAR's split by questions: {', '.join(f'{stem}.csv' for stem in parts.values())}"
        for split, stem in parts.items():
            if (folder / f"{stem}.csv").is_file():
                tables[names.of(split)[0]] = _table(folder / f"{stem}.csv", None, note * (not tables))
            else:
                names.check(split, folder, (file.stem for file in folder.glob("*.csv")))
        return tables
    splits = {
        line.strip(): split
        for split, file in _LISTS.items()
        for line in read_lines(folder / file, "the name of an image a line")
        if line.strip()
    }
    return {"": _table(folder / _ALL, splits, "DAQUAR's own split by images: ")}


def _table(path: Path, splits: Mapping[str, str] | None, note: str) -> Table:
    rows, numbers, lines = list[Row](), list[int](), read_lines(path, f"rows of {', '.join(_HEADER)}")
    for number, cells in enumerate(csv.reader(f"{line}\n" for line in lines), 1):
        if cells == _HEADER or not any(map(str.strip, cells)):
            continue
        if len(cells) != len(_HEADER):
            expected = "expected a question, an answer and an image's name"
            raise ArgumentError(f"row {number} of {path}: {expected}, got {len(cells)} columns")
        question, answer, name = cells[0], cells[1], cells[2].strip()
        row: Row = {"image": Listed(name), "question": question, "answer": answer}
        if splits is not None and name not in splits:
            expected = f"expected an image of {' or '.join(_LISTS.values())}"
            raise ArgumentError(f"row {number} of {path}: {expected}, got {name:.60}")
        numbers.append(number)
        rows.append(row if splits is None else {**row, SPLIT: splits[name]})
    if splits is not None:
        counts = Counter(row[SPLIT] for row in rows)
        note += ", ".join(f"{counts[split]} questions to {split}" for split in _LISTS)
    return Table(rows, lambda index: f"row {numbers[index]} of {path}", note=note, size=len(rows))
