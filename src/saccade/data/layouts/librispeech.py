"""LibriSpeech: recordings by speaker and chapter, with a file of texts for each.

    train-clean-100/103/1240/103-1240-0000.flac
    train-clean-100/103/1240/103-1240.trans.txt    103-1240-0000 CHAPTER ONE MISSUS RACHEL LYNDE IS SURPRISED

All folders train-... are for training. Validation is dev-clean or the first other dev-... folder, and test is
test-clean or the first other test-... folder, unless an option names another. A folder of speakers is one split.

Source:
    Panayotov et al. 2015, "LibriSpeech: an ASR corpus based on public domain audio books"
    (https://www.openslr.org/12).
"""

from collections.abc import Sequence
from pathlib import Path

from saccade.data.dataset import SPLITS, inventory
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["librispeech"]

_TEXTS = "*/*/*.trans.txt"
_SUFFIXES = (".flac", ".wav")


def librispeech(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `path`, `text`, `speaker` and the relative path `listed`.

    `listed` is relative to the folder of the split. The result is None without texts of chapters.

    Raises:
        ArgumentError: for an invalid line or a missing split, with its name.
        OSError: if a file cannot be read.
    """
    if any(folder.glob(_TEXTS)):
        for split in SPLITS:
            names.check(split, folder)
        return {"": _table(folder, [folder])}
    there = sorted({path.relative_to(folder).parts[0] for path in folder.glob(f"*/{_TEXTS}")})
    if not there:
        return None
    parts = {split: _parts(split, there, names, folder) for split in SPLITS}
    if not parts["train"]:
        raise ArgumentError(f"{folder}: expected a folder to train on such as train-clean-100, got {inventory(there)}")
    unread = sorted(set(there) - {part for folders in parts.values() for part in folders})
    note = f"{folder}: not read: {', '.join(unread)} (--validation-split, --test-split)" if unread else ""
    return {
        names.of(split)[0]: _table(folder, [folder / part for part in folders], note if split == "train" else "")
        for split, folders in parts.items()
        if folders
    }


def _parts(split: str, there: Sequence[str], names: SplitNames, folder: Path) -> list[str]:
    """Return the folders of a split: all for training, one for validation or test.

    Folders that options name for another split are left out.
    """
    starts = tuple(f"{name}-" for name in names.of(split))
    begun = [part for part in there if part.startswith(starts) and part not in names.given.values()]
    if split in names.given:
        begun = [part for part in there if part in names.of(split)]
        if not begun:
            names.check(split, folder, there)
    return begun if split == "train" else begun[:1]  # clean comes before other


def _table(root: Path, folders: Sequence[Path], note: str = "") -> Table:
    rows, positions = list[dict[str, str]](), list[str]()
    for folder, listed in ((part, file) for part in folders for file in sorted(part.glob(_TEXTS))):
        for number, line in enumerate(read_lines(listed, "an utterance a line"), 1):
            name, _, text = line.strip().partition(" ")
            if not name:
                continue
            positions.append(f"row {number} of {listed}")
            if not text.strip():
                expected = "expected the name of a recording and its text"
                raise ArgumentError(f"{positions[-1]}: {expected}, got {name!r:.60} alone")
            paths = [listed.parent / f"{name}{suffix}" for suffix in _SUFFIXES]
            path = next((path for path in paths if path.is_file()), paths[0])
            below, key = (path.relative_to(above).as_posix() for above in (root, folder))
            rows.append({"listed": key, "path": below, "text": text, "speaker": listed.parts[-3]})
    return Table(rows, positions.__getitem__, note=note, size=len(rows))
