"""LibriSpeech as it is published: recordings by speaker and chapter, and a file of texts in each chapter.

    train-clean-100/103/1240/103-1240-0000.flac
    train-clean-100/103/1240/103-1240.trans.txt    103-1240-0000 CHAPTER ONE MISSUS RACHEL LYNDE IS SURPRISED

All folders called train-... are to train on. dev-clean and test-clean validate and test, or the first other dev-... and
test-... folder, unless an option names one. A folder of speakers alone is one split.

Source:
    Panayotov et al. 2015, "LibriSpeech: an ASR corpus based on public domain audio books"
    (https://www.openslr.org/12).
"""

from collections.abc import Sequence
from pathlib import Path

from saccade.data.cleaning import composed
from saccade.data.dataset import SPLITS, inventory
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.text.files import read_filled
from saccade.tasks.transcribe.data.manifest import Row, present
from saccade.tasks.transcribe.data.recordings import Recordings, check_rate, recordings

__all__ = ["is_librispeech", "open_librispeech"]

_TEXTS = "*/*/*.trans.txt"
_SUFFIXES = (".flac", ".wav")


def is_librispeech(folder: Path) -> bool:
    """Return whether a folder has chapters with texts, or splits of such."""
    return any(True for pattern in (_TEXTS, f"*/{_TEXTS}") for _ in folder.glob(pattern))


def open_librispeech(folder: Path, rate: int, names: SplitNames) -> Recordings:
    """Open the corpus, or one split of it.

    Args:
        folder: with folders of splits, or of speakers.
        rate: samples a second, in Hz, that files of another rate are resampled to.
        names: what splits are called.

    Raises:
        ArgumentError: naming the line that is wrong, or the recording that is missing.
        OSError: if a file cannot be read.
    """
    check_rate(rate)
    if any(folder.glob(_TEXTS)):
        for split in SPLITS:
            names.check(split, folder)
        return recordings({"train": _rows(folder)}, rate, folder, [])
    there = sorted({path.relative_to(folder).parts[0] for path in folder.glob(f"*/{_TEXTS}")})
    parts = {split: _parts(split, there, names, folder) for split in SPLITS}
    if not parts["train"]:
        raise ArgumentError(f"{folder}: expected a folder to train on such as train-clean-100, got {inventory(there)}")
    splits = {split: [row for part in own for row in _rows(folder / part)] for split, own in parts.items() if own}
    unread = sorted(set(there) - {part for own in parts.values() for part in own})
    note = f"{folder}: not read: {', '.join(unread)} (--validation-split, --test-split)" if unread else ""
    return recordings(splits, rate, folder, [note])


def _parts(split: str, there: Sequence[str], names: SplitNames, folder: Path) -> list[str]:
    """The folders of a split, but for those that options name for others: all to train on, one of the others."""
    starts = tuple(f"{name}-" for name in names.of(split))
    begun = [part for part in there if part.startswith(starts) and part not in names.given.values()]
    if split in names.given:
        begun = [part for part in there if part in names.of(split)]
        if not begun:
            names.check(split, folder, there)
    return begun if split == "train" else begun[:1]  # clean comes before other


def _rows(folder: Path) -> list[Row]:
    rows = list[Row]()
    for listed in sorted(folder.glob(_TEXTS)):
        lines = read_filled(listed, holds="an utterance a line")
        for number in range(len(lines)):
            name, _, text = lines[number].strip().partition(" ")
            if not name:
                continue
            where = f"{listed}: line {number + 1}"
            if not text.strip():
                raise ArgumentError(f"{where}: expected the name of a recording and its text, got {name!r:.60} alone")
            paths = [listed.parent / f"{name}{suffix}" for suffix in _SUFFIXES]
            path = next((path for path in paths if path.is_file()), paths[0])
            speaker = listed.parent.parent.name
            said = composed(" ".join(text.split()))
            rows.append(Row(path.relative_to(folder).as_posix(), path, said, "", speaker, where))
    return present(rows)
