"""Columns of CoNLL: a word and its tag in a line, blank lines between sentences.

    EU NNP B-NP B-ORG
    rejects VBZ B-VP O

Source:
    Tjong Kim Sang, De Meulder 2003, "Introduction to the CoNLL-2003 Shared Task" (https://aclanthology.org/W03-0419).
"""

from itertools import groupby
from pathlib import Path

from saccade.data.files import split_files
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.texts import lines_of, read_text
from saccade.errors import ArgumentError

__all__ = ["conll"]

_ENDS = (".conll", ".bio", ".iob", ".iob2", ".txt")


def conll(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of words and tags, None without blank lines between sentences.

    Args:
        path: a file, or a folder with a file of each split, for example train.txt.
        names: the names of splits.

    Raises:
        ArgumentError: for a line without a tag, with its number.
        OSError: if a file cannot be read.
    """
    files = split_files(path, names, _ENDS) if path.is_dir() else {"": path}
    if not files or any(not file.is_file() or file.suffix.lower() not in _ENDS for file in files.values()):
        return None
    lines = {name: lines_of(read_text(file)[0].rstrip()) for name, file in files.items()}
    headed = any("tags" in part[0].lower().split() for part in lines.values())
    if headed or all(line.strip() for part in lines.values() for line in part):
        return None  # a table with a row in each line
    return {name: _sentences(part, files[name]) for name, part in lines.items()}


def _sentences(lines: list[str], path: Path) -> Table:
    rows, first = list[dict[str, list[str]]](), list[int]()
    numbered = ((number, line.split()) for number, line in enumerate(lines, 1) if not line.startswith("-DOCSTART-"))
    for blank, group in groupby(numbered, key=lambda item: not item[1]):
        if blank:
            continue
        sentence = list(group)
        for number, cells in sentence:
            if len(cells) < 2:
                raise ArgumentError(f"{path}: line {number}: expected a word and its tag, got {cells[0]!r:.60} alone")
        rows.append({"words": [cells[0] for _, cells in sentence], "tags": [cells[-1] for _, cells in sentence]})
        first.append(sentence[0][0])
    return Table(rows, lambda index: f"line {first[index]} of {path}", size=len(rows))
