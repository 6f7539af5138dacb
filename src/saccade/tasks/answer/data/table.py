r"""Questions of one's own: lines of an image, a tab, a question, a tab and its answer.

    photos/a.jpg<TAB>what is on the desk?<TAB>a lamp
    photos/a.jpg<TAB>is it day?<TAB>yes

A path is taken from the file's folder on. A file alone has all splits held out, by images; a folder has train.tsv, and
validation.tsv and test.tsv, of which one that is missing is held out.
"""

import posixpath
from collections.abc import Sequence
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.conversions import converted
from saccade.tasks.dataset import SPLITS
from saccade.tasks.image.decoded import Source
from saccade.tasks.image.places import Images
from saccade.tasks.splits import SplitNames, only
from saccade.tasks.text.files import read_filled

__all__ = ["is_table", "read_table"]

_COLUMNS = ("image", "question", "answer")
_ALONE = "questions"


def is_table(path: Path, names: SplitNames) -> bool:
    """Return whether a path is a file, or a folder with lines of images, questions and answers."""
    return path.is_file() or bool(_found(path, [_ALONE, *names.of("train")]))


def read_table(path: Path, names: SplitNames, known: Known | None = None) -> Gathering:
    """Read lines of images, questions and answers.

    Args:
        path: a file, packed by gzip or not; or a folder with one, or one for each split.
        names: what splits are called.
        known: of an image's name, whether there are features of it; then no image is looked for.

    Raises:
        ArgumentError: naming the line that is wrong.
        OSError: if a file cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    images = Images(folder)

    def find(name: str) -> Source | None:
        if "\0" in name:
            return None
        return place if (place := folder / name).is_file() else images.find(name)

    gathering = Gathering(path, find, known=known)
    alone = path if path.is_file() else None
    if alone is None and not _found(path, names.of("train")):
        alone = only(_found(path, [_ALONE]))
    if alone is not None:
        for split in SPLITS:
            names.check(split, alone)
        _add(gathering, alone, "train")
        return gathering
    for split in SPLITS:
        own = only(_found(path, names.of(split)), f"say which by --{split}-split, or move one away")
        if own is None:
            names.check(split, path, (file.name for file in path.glob("*.tsv*")))
        else:
            _add(gathering, own, split)
    return gathering


def _found(folder: Path, stems: Sequence[str]) -> list[Path]:
    files = [folder / f"{stem}.tsv{packed}" for stem in stems for packed in ("", ".gz")]
    return [path for path in files if path.is_file()]


def _add(gathering: Gathering, path: Path, split: str) -> None:
    lines = read_filled(path)
    for number in range(len(lines)):
        line, where = lines[number], f"{path}: line {number + 1}"
        if not line.strip() or (not number and tuple(line.lower().split("\t")) == _COLUMNS):
            continue
        parts = line.split("\t")
        if len(parts) != len(_COLUMNS):
            got = f"{len(parts) - 1} tab{'s' * (len(parts) != 2)}"
            way_out = converted(path, _COLUMNS)
            wanted = "expected an image, a tab, a question, a tab and an answer"
            raise ArgumentError(f"{where}: {wanted}, got {got}{way_out}")
        name, question, answer = parts
        gathering.add(posixpath.normpath(name.strip()) if name.strip() else "", question, [answer], where, split)
