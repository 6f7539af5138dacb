"""easy-VQA as it comes: data/train/questions.json, data/train/images/0.png, and the same of test.

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
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.image.decoded import Source

__all__ = ["is_easy_vqa", "read_easy_vqa"]

_ARCHIVE = "easy_vqa_data.tar.gz"
_WANTED = re.compile(r"(?:.*/)?(train|test)/(?:questions\.json|images/\d+\.png)")
_SPLITS = ("train", "test")


def is_easy_vqa(path: Path) -> bool:
    """Return whether a path is the archive, or a folder with it or with what it holds."""
    return _archive(path) is not None or _folder(path) is not None


def read_easy_vqa(path: Path, known: Known | None = None) -> Gathering:
    """Read the questions; images of an archive are kept packed in memory, those of a folder read as they are asked for.

    Args:
        path: the archive, or a folder with it or with what it holds.
        known: of an image's name, whether there are features of it; then no image is looked for.

    Raises:
        ArgumentError: naming what is missing or wrong.
        OSError: if something cannot be read.
    """
    folder = _folder(path)
    if folder is not None:
        listed = {split: (folder / split / "questions.json").read_bytes() for split in _SPLITS}
        return _gathered(path, listed, lambda name: _file(folder / name), known)
    archive = _archive(path)
    assert archive is not None, "it is one of the two"
    packed = dict[str, bytes]()
    for name, data in read_files(archive, lambda name: bool(_WANTED.fullmatch(name))):
        packed["/".join(name.rsplit("/", 3 if "/images/" in name else 2)[1:])] = data
    for split in _SPLITS:
        if f"{split}/questions.json" not in packed:
            raise ArgumentError(f"{archive}: expected {split}/questions.json in it, found none")
    listed = {split: packed[f"{split}/questions.json"] for split in _SPLITS}
    return _gathered(archive, listed, lambda name: memoryview(packed[name]) if name in packed else None, known)


def _gathered(path: Path, listed: Mapping[str, bytes], find: Any, known: Known | None) -> Gathering:
    gathering = Gathering(path, find, known=known)
    for split, content in listed.items():
        where = f"{path}: {split}/questions.json"
        for number, row in enumerate(_rows(content, where), 1):
            place = f"{where}: row {number}"
            if not isinstance(row, list) or len(row) != 3 or not isinstance(row[0], str) or not isinstance(row[1], str):
                raise ArgumentError(f"{place}: expected a question, an answer and a number, got {row!r:.60}")
            question, answer, image = row
            gathering.add(f"{split}/images/{image}.png", question, [answer], place, split)
    return gathering


def _rows(content: bytes, where: str) -> list[Any]:
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{where}: expected JSON, got something else ({error})") from error
    if not isinstance(rows, list):
        raise ArgumentError(f"{where}: expected a list of questions, got {type(rows).__name__}")
    return rows


def _folder(path: Path) -> Path | None:
    """Where train and test are, in a folder or in data/ of it."""
    folders = (path, path / "data")
    return next((each for each in folders if all((each / s / "questions.json").is_file() for s in _SPLITS)), None)


def _archive(path: Path) -> Path | None:
    own = path / _ARCHIVE
    return path if path.is_file() and is_archive(path) else own if own.is_file() else None


def _file(path: Path) -> Source | None:
    return path if path.is_file() else None
