"""Recordings of a word each, in a folder for each word, as Speech Commands comes.

    yes/0a7c2a8d_nohash_0.wav    no/1b4c9b89_nohash_1.wav    validation_list.txt    testing_list.txt

What is said is the folder's name; who says it stands before "_nohash_". Splits may be folders above the words', or
validation_list.txt and testing_list.txt name their recordings; one that is missing is held out. The folder of
background noise is left out.

Source:
    P. Warden, Speech Commands: A Dataset for Limited-Vocabulary Speech Recognition (https://arxiv.org/abs/1804.03209),
    section 7, for the lists.
"""

from pathlib import Path

from saccade.data.classes import Member, find_classes, list_names, read_list
from saccade.data.folders import files_below
from saccade.data.splits import SplitNames
from saccade.tasks.audio.recordings import SUFFIXES
from saccade.tasks.transcribe.data.manifest import Row, present
from saccade.tasks.transcribe.data.recordings import Recordings, check_rate, recordings

__all__ = ["open_words"]

_SPEAKER = "_nohash_"


def open_words(folder: Path, rate: int, names: SplitNames) -> Recordings | None:
    """Open recordings in a folder for each word.

    Args:
        folder: with folders of words, or of splits in which these are.
        rate: samples a second, in Hz, that files of another rate are resampled to.
        names: what splits are called.

    Returns:
        The corpus; None if there is no recording in any folder of the folder.

    Raises:
        ArgumentError: naming what is wrong.
        OSError: if a file cannot be read.
    """
    check_rate(rate)
    below = files_below(folder)
    files = sorted(path.relative_to(folder).as_posix() for path in below if path.suffix.lower() in SUFFIXES)
    if not any("/" in name for name in files):
        return None
    listed = {
        split: read_list((folder / name).read_bytes())
        for name, split in list_names(names).items()
        if (folder / name).is_file()
    }
    found = find_classes(files, str(folder), "recordings", names, listed)
    splits = {split: present([_row(folder, one) for one in members]) for split, members in found.splits.items()}
    return recordings(splits, rate, folder, [found.note])


def _row(folder: Path, one: Member) -> Row:
    path, text = folder / one.name, " ".join(one.label.split())
    before, mark, _ = path.stem.partition(_SPEAKER)
    return Row(one.name, path, text, one.split, before if mark else "", str(folder))
