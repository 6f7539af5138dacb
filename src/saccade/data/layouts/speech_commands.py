"""Recordings of single words in a folder for each word, as in Speech Commands.

    yes/0a7c2a8d_nohash_0.wav    no/1b4c9b89_nohash_1.wav    validation_list.txt    testing_list.txt

The word is the name of the folder, and the speaker is the part before "_nohash_". Splits are folders above those of the
words, or lists name the recordings of validation and test. The folder of background noise is left out.

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
    """Return rows of `path`, `text` and `speaker`, or None without recordings.

    Args:
        folder: parent of folders of words, or of folders of splits with folders of words.
        names: the names of splits.
        suffixes: suffixes of sound files.

    Raises:
        ArgumentError: for an invalid file, split or label, with its name.
        OSError: if a file cannot be read.
    """
    files = dict(sorted(labelled_files(folder, names, suffixes).items())) if folder.is_dir() else {}
    tables = class_folders(files, folder, "recordings", names)
    return tables and {split: replace(table, rows=list(map(_row, table.rows))) for split, table in tables.items()}


def _row(row: dict[str, str]) -> dict[str, str]:
    before, mark, _ = Path(row["listed"]).stem.partition(_SPEAKER)
    return {"path": row["listed"], "text": row["label"], "speaker": before if mark else ""}
