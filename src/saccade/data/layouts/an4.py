"""AN4, the census corpus of CMU: names, addresses and numbers, as features.

Words are spelled or spoken.

    etc/an4_train.fileids           an4_clstk/fash/an255-fash-b
    etc/an4_train.transcription     U M N Y H SIX (an255-fash-b)
    feat/an4_clstk/fash/an255-fash-b.mfc     13 mel-frequency cepstral coefficients a frame, 100 frames a second

The test split is the official one, of ten speakers outside training. Validation is every tenth training speaker in
alphabetical order: seven of 74 speakers, 91 of 948 utterances.

Source:
    A. Acero, Acoustical and Environmental Robustness in Automatic Speech Recognition, Kluwer 1993.
    CMU Sphinx (https://cmusphinx.github.io): the layout.
"""

import re
from pathlib import Path
from typing import Any

from saccade.data.dataset import inventory
from saccade.data.splits import SPLIT, SplitNames
from saccade.data.table import Table
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["an4"]

_NTH = 10  # every tenth speaker is for validation
_LINE = re.compile(r"(.*?)\s*\(([^()\s]+)\)")
_FILLERS = {"<s>", "</s>", "<sil>"}


def an4(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of a file id `listed`, `audio`, `text`, `speaker` and `split`.

    The result is None for another layout.

    Raises:
        ArgumentError: for an invalid split of an option, file or row, with its name.
        OSError: if a file cannot be read.
    """
    if not (folder / "etc/an4_train.fileids").is_file():
        return None
    names.refuse(str(folder))
    positions, rows = list[str](), list[dict[str, Any]]()
    for split in ("train", "test"):
        _add(folder, split, positions, rows)
    speakers, tested = (sorted({row["speaker"] for row in rows if row[SPLIT] == split}) for split in ("train", "test"))
    if len(speakers) < 2:
        raise ArgumentError(f"{folder}: expected 2 speakers or more to train and validate, got {inventory(speakers)}")
    held_out = speakers[min(_NTH, len(speakers)) - 1 :: _NTH]
    for row in rows:
        if row[SPLIT] == "train" and row["speaker"] in held_out:
            row[SPLIT] = "validation"
    _read_features(folder, rows)
    both = sorted({*speakers} & {*tested})
    note = f"{folder}: speakers of the test are in training too: {inventory(both)}" if both else ""
    return {"": Table(rows, positions.__getitem__, note=note, size=len(rows))}


def _add(folder: Path, split: str, positions: list[str], rows: list[dict[str, Any]]) -> None:
    """Add the rows of one list, in its order."""
    paths = [folder / "etc" / f"an4_{split}.{kind}" for kind in ("fileids", "transcription")]
    for path in paths:
        if not path.is_file():
            raise ArgumentError(f"{path}: expected a list of the {split} utterances, found none")
    ids, lines = ([line.strip() for line in read_lines(path, "an utterance a line")] for path in paths)
    if len(ids) != len(lines):
        raise ArgumentError(f"{paths[1]}: expected a line for each in {paths[0]}, got {len(lines)} for {len(ids)}")
    for number, (file_id, line) in enumerate(zip(ids, lines, strict=True), 1):
        positions.append(f"row {number} of {paths[1]}")
        match, folders = _LINE.fullmatch(line), ["", *file_id.split("/")]
        if match is None or match[2] != folders[-1]:
            expected = f"expected words and ({folders[-1]}), as the list of file ids has it"
            raise ArgumentError(f"{positions[-1]}: {expected}, got {line!r}")
        words = [word for word in match[1].split() if word not in _FILLERS]
        if not words:
            raise ArgumentError(f"{positions[-1]}: expected words, got none")
        rows.append({"listed": file_id, "text": " ".join(words), "speaker": folders[-2], SPLIT: split})


def _read_features(folder: Path, rows: list[dict[str, Any]]) -> None:
    if not (folder / "feat").is_dir():
        archive = folder / "feat.tar.gz"
        way_out = f"; this unpacks it: tar xzf {archive} -C {folder}" if archive.is_file() else ""
        raise ArgumentError(f"{folder}: expected the features in feat/, found none{way_out}")
    files = {row["listed"]: folder / f"feat/{row['listed']}.mfc" for row in rows}
    if missing := [name for name, path in files.items() if not path.is_file()]:
        raise ArgumentError(f"{folder}: expected features of every file id, found none of {inventory(missing)}")
    for row in rows:
        name = row["listed"]
        row["audio"] = {"path": f"{name}.mfc", "bytes": files[name].read_bytes()}
