"""Free Spoken Digit Dataset: recordings of digits, {digit}_{speaker}_{take}.wav.

    recordings/7_jackson_12.wav     or 7_jackson_12.wav

The test split is the official one: takes 0 to 4 of each digit and speaker. Takes 5 to 9 are for validation, and takes
10 to 49 for training. Each speaker is in all splits, each recording in one.

Source:
    Z. Jackson et al., Free Spoken Digit Dataset, https://github.com/Jakobovski/free-spoken-digit-dataset.
"""

import re
from pathlib import Path

from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.errors import ArgumentError

__all__ = ["fsdd"]

_TAKES = {"test": range(5), "validation": range(5, 10), "train": range(10, 1_000_000)}
_NAME = re.compile(r"([0-9])_([^/]+)_([0-9]{1,6})\.wav")


def fsdd(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `path`, a digit as `text`, and `speaker`.

    The result is None for another layout.

    Raises:
        ArgumentError: for a split of an option, or a split without recordings, with its name.
        OSError: if a file cannot be read.
    """
    if not folder.is_dir():
        return None
    part, archive = folder / "recordings", folder / "recordings.tar.gz"
    bare = any(_NAME.fullmatch(path.name) for path in folder.iterdir())
    if not (bare or part.is_dir() or archive.is_file()):
        return None
    names.refuse(str(folder))
    if not (bare or part.is_dir()):
        way_out = f"this unpacks it: tar xzf {archive} -C {folder}"
        raise ArgumentError(f"{folder}: expected the folder recordings, got an archive; {way_out}")
    splits: dict[str, list[dict[str, str]]] = {split: [] for split in _TAKES}
    for path in sorted((folder if bare else part).iterdir()):
        if (match := _NAME.fullmatch(path.name)) and path.is_file():
            digit, speaker, take = match.groups()
            split = next(split for split, takes in _TAKES.items() if int(take) in takes)
            splits[split].append({"path": str(path.relative_to(folder)), "text": digit, "speaker": speaker})
    for split, rows in splits.items():
        if not rows:
            first, last = _TAKES[split][0], _TAKES[split][-1]
            expected = f"expected recordings called such as 7_jackson_{first}.wav (takes {first} to {last}) for {split}"
            raise ArgumentError(f"{folder}: {expected}, found none")
    return {split: _table(folder, rows) for split, rows in splits.items()}


def _table(folder: Path, rows: list[dict[str, str]]) -> Table:
    return Table(rows, lambda index: f"{folder}: {rows[index]['path']}", size=len(rows))
