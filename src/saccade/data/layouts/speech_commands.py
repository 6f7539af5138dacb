"""Recordings of a word each, in a folder for each word, as Speech Commands comes.

    yes/0a7c2a8d_nohash_0.wav    no/1b4c9b89_nohash_1.wav    validation_list.txt    testing_list.txt

The word is the folder's name; the speaker's name stands before "_nohash_". Splits may be folders above the words', or
the lists name the recordings of validation and test. The folder of background noise is left out.

Source:
    P. Warden, Speech Commands: A Dataset for Limited-Vocabulary Speech Recognition (https://arxiv.org/abs/1804.03209),
    section 7, for the lists.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from saccade.data.layouts.class_folders import class_folders, labelled_files
from saccade.data.splits import SplitNames
from saccade.data.table import Table

__all__ = ["speech_commands"]

_SPEAKER = "_nohash_"


def speech_commands(folder: Path, names: SplitNames, suffixes: Sequence[str]) -> dict[str, Table] | None:
    """Return rows of `path`, `text` and `speaker`; None if there is no recording in any folder of the folder.

    Args:
        folder: with folders of words, or of splits in which these are.
        names: the names of splits.
        suffixes: of sound files.

    Raises:
        ArgumentError: naming what is wrong.
        OSError: if a file cannot be read.
    """
    files = dict(sorted(labelled_files(folder, names, suffixes).items())) if folder.is_dir() else {}
    tables = class_folders(files, folder, "recordings", names)
    return tables and {split: replace(table, rows=list(map(_row, table.rows))) for split, table in tables.items()}


def _row(row: dict[str, str]) -> dict[str, str]:
    before, mark, _ = Path(row["listed"]).stem.partition(_SPEAKER)
    return {"path": row["listed"], "text": row["label"], "speaker": before if mark else ""}
