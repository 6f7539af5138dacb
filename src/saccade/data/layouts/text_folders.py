"""Texts in a folder for each label, as aclImdb, Pang and Lee's reviews and 20 Newsgroups come.

train/pos/0_9.txt  test/neg/7_1.txt     splits, then labels; folders called unsup are left out
pos/cv000.txt      neg/cv001.txt        labels alone: validation and test are held out
"""

from pathlib import Path

from saccade.data.classes import find_classes, list_names, read_list
from saccade.data.files import ENDS, split_files
from saccade.data.folders import files_below
from saccade.data.media import read_bytes
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.texts import decoded

__all__ = ["text_folders"]

_ENDS = ("", ".txt")  # of the names of texts
_MOST = 1 << 24  # bytes of a text: far more than a book has


def text_folders(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of a text and its label, the name of its folder; None if there is no text in any folder.

    Raises:
        ArgumentError: naming the file that is no text, or what is missing.
        OSError: if a file cannot be read.
    """
    if not folder.is_dir() or any(path.is_dir() and split_files(path, names, ENDS) for path in folder.iterdir()):
        return None  # several data sets, each of which has splits
    known, lists, files = list_names(names), dict[str, list[str]](), list[str]()
    for path in files_below(folder):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() not in _ENDS or (path.exists() and not path.is_file()):
            continue
        if name in known:
            lists[known[name]] = read_list(path.read_bytes())
        else:
            files.append(name)
    if not any("/" in name for name in files):
        return None
    classes = find_classes(files, str(folder), "texts", names, lists, beside=True)
    tables, note = dict[str, Table](), classes.note
    for split, members in classes.splits.items():
        paths = [folder / member.name for member in members]
        texts = [decoded(read_bytes(path, str(path), "a text", _MOST, "cut it"), path, latin1=True) for path in paths]
        recoded = sum(bool(said) for _, said in texts)
        latin1 = f"{folder}: {recoded} texts of {split} are no UTF-8, and were read as Latin-1" if recoded else ""
        rows = [(text, member.label) for (text, _), member in zip(texts, members, strict=True)]
        said = "; ".join(filter(None, [note, latin1]))
        tables[names.of(split)[0]] = Table(rows, [str(path) for path in paths].__getitem__, note=said)
        note = ""
    return tables
