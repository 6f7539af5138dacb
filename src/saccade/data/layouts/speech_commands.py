"""Recordings of a word each, in a folder for each word, as Speech Commands comes.

    yes/0a7c2a8d_nohash_0.wav    no/1b4c9b89_nohash_1.wav    validation_list.txt    testing_list.txt

The word is the folder's name; the speaker's name stands before "_nohash_". Splits may be folders above the words', or
the lists name the recordings of validation and test. The folder of background noise is left out.

Source:
    P. Warden, Speech Commands: A Dataset for Limited-Vocabulary Speech Recognition (https://arxiv.org/abs/1804.03209),
    section 7, for the lists.
"""

from collections.abc import Container
from pathlib import Path

from saccade.data.classes import find_classes, list_names, read_list
from saccade.data.folders import files_below
from saccade.data.splits import SplitNames
from saccade.data.table import Table

__all__ = ["speech_commands"]

_SPEAKER = "_nohash_"


def speech_commands(folder: Path, names: SplitNames, suffixes: Container[str]) -> dict[str, Table] | None:
    """Return rows of `path`, `text` and `speaker`; None if there is no recording in any folder of the folder.

    Args:
        folder: with folders of words, or of splits in which these are.
        names: the names of splits.
        suffixes: of sound files.

    Raises:
        ArgumentError: naming what is wrong.
        OSError: if a file cannot be read.
    """
    if not folder.is_dir():
        return None
    below = files_below(folder)
    files = sorted(path.relative_to(folder).as_posix() for path in below if path.suffix.lower() in suffixes)
    if not any("/" in name for name in files):
        return None
    lists = {name: folder / name for name in list_names(names) if (folder / name).is_file()}
    listed = {list_names(names)[name]: read_list(path.read_bytes()) for name, path in lists.items()}
    classes = find_classes(files, str(folder), "recordings", names, listed)
    tables, note = dict[str, Table](), classes.note
    for split, members in classes.splits.items():
        rows = [{"path": one.name, "text": one.label, "speaker": _speaker(one.name)} for one in members]
        where = [f"{folder}: {one.name}" for one in members].__getitem__
        tables[names.of(split)[0]], note = Table(rows, where, note=note, size=len(rows)), ""
    return tables


def _speaker(name: str) -> str:
    before, mark, _ = Path(name).stem.partition(_SPEAKER)
    return before if mark else ""
