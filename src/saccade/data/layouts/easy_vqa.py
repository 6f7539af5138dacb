"""easy-VQA: data/train/questions.json, data/train/images/0.png, and test alike.

    [["what is the blue shape?", "rectangle", 0], ["is there no red shape?", "yes", 0]]

Validation is held out from training, by images.

Source:
    Zhou 2019, "easy-VQA", https://github.com/vzhou842/easy-VQA.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.data.archives import is_archive, read_files
from saccade.data.splits import SplitNames
from saccade.data.table import Row, Table, row_of
from saccade.errors import ArgumentError

__all__ = ["easy_vqa"]

_ARCHIVE = "easy_vqa_data.tar.gz"
_FILES = re.compile(r"(?:.*/)?((?:train|test)/(?:questions\.json|images/\d+\.png))")
_SPLITS = ("train", "test")


def easy_vqa(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image`, `question` and `answer`, or None for another layout.

    An image is a mapping of its `name` and `file`: a path, bytes from an archive, or None if it is missing.

    Args:
        path: the archive, or a folder with the archive or its contents.
        names: the names of splits.

    Raises:
        ArgumentError: for a missing or invalid file or question, with its name.
        OSError: if a file cannot be read.
    """
    for folder in (path, path / "data"):
        if all((folder / split / "questions.json").is_file() for split in _SPLITS):
            there = {f"{split}/images/{file.name}": file for split in _SPLITS for file in _images(folder / split)}
            read = {split: (folder / split / "questions.json").read_bytes() for split in _SPLITS}
            return {split: _table(read[split], split, path, there) for split in _SPLITS}
    archive = path if path.is_file() and is_archive(path) else path / _ARCHIVE
    if not archive.is_file():
        return None
    packed = {
        match[1]: memoryview(data)
        for name, data in read_files(archive, lambda name: bool(_FILES.fullmatch(name)))
        if (match := _FILES.fullmatch(name))
    }
    for split in _SPLITS:
        if f"{split}/questions.json" not in packed:
            raise ArgumentError(f"{archive}: expected {split}/questions.json in it, found none")
    return {split: _table(bytes(packed[f"{split}/questions.json"]), split, archive, packed) for split in _SPLITS}


def _images(folder: Path) -> list[Path]:
    return list((folder / "images").glob("*.png"))


def _table(content: bytes, split: str, path: Path, files: Mapping[str, Any]) -> Table:
    where = f"{path}: {split}/questions.json"
    try:
        items = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{where}: expected JSON, got something else ({error})") from error
    if not isinstance(items, list):
        raise ArgumentError(f"{where}: expected a list of questions, got {type(items).__name__}")
    rows = list[Row]()
    for number, item in enumerate(items, 1):
        if not isinstance(item, list) or len(item) != 3 or not isinstance(item[0], str) or not isinstance(item[1], str):
            expected = "expected a question, an answer and a number"
            raise ArgumentError(f"{where}: row {number}: {expected}, got {item!r:.60}")
        name = f"{split}/images/{item[2]}.png"
        rows.append({"image": {"name": name, "file": files.get(name)}, "question": item[0], "answer": item[1]})
    return Table(rows, row_of(where), size=len(rows))
