"""CMU's census corpus AN4: names and addresses, spelled and said in numbers and words, as features ready to use.

Its folder has etc/an4_train.fileids and .transcription, the same for test, and feat/ with a file of 13
mel-frequency cepstral coefficients a frame, 100 frames a second, for each file id.

    U M N Y H SIX (an255-fash-b)

The test is the official one, of ten speakers who are not in training. Every tenth of the training speakers, by the
alphabet, validates: seven of 74, 91 of 948 utterances.

Source:
    A. Acero, Acoustical and Environmental Robustness in Automatic Speech Recognition, Kluwer 1993.
    CMU Sphinx (https://cmusphinx.github.io): the layout, and the form of the features.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from saccade.data.cleaning import composed
from saccade.data.dataset import check_index, check_split, inventory
from saccade.data.folders import files_below
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError
from saccade.tasks.audio.sphinx import COEFFICIENTS, SUFFIX, cepstra, features
from saccade.tasks.transcribe.data.corpus import Recording

__all__ = ["Census", "Entry", "is_an4", "open_an4"]

_PART = "feat"
_NTH = 10  # every tenth speaker validates
_LINE = re.compile(r"(.*?)\s*\(([^()\s]+)\)")
_FILLERS = {"<s>", "</s>", "<sil>"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the lists: a file id, its speaker, and its words.

    >>> Entry("an4_clstk/fash/an251-fash-b", "fash", "YES").text
    'YES'
    """

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, eq=False)
class Census:
    """AN4: 13 cepstra a frame, their first and second differences over time, each of mean 0 and variance 1.

    Args:
        splits: which utterances are in which.
        frames: of each file id, `(frames, 13)`.
        fingerprint: what the files hold.
        note: what a user should know, "" if nothing.

    Example:
        >>> import torch
        >>> entries = {split: [Entry("x/ann/a1", "ann", "YES")] for split in ("train", "validation", "test")}
        >>> census = Census(entries, {"x/ann/a1": torch.randn(50, 13)}, "", "")
        >>> census.example("test", 0).signal.shape, census.dim
        (torch.Size([50, 39]), 39)
    """

    splits: Mapping[str, Sequence[Entry]]
    frames: Mapping[str, Tensor]
    fingerprint: str
    note: str

    rate = None
    dim = 3 * COEFFICIENTS

    def example(self, split: str, index: int) -> Recording:
        """Return utterance number `index` of a split: `(frames, 39)`, its words, its speaker.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        entry = self.splits[split][index]
        return Recording(entry.id, features(self.frames[entry.id]), entry.text, entry.speaker)

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        return self.splits[split][index].text

    def size(self, split: str) -> int:
        """Return how many utterances a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return len(self.splits[split])


def is_an4(folder: Path) -> bool:
    """Return whether a folder looks like the corpus."""
    return (folder / "etc/an4_train.fileids").is_file()


def open_an4(folder: Path) -> Census:
    """Read the corpus, which takes about half a second and 15 MB.

    Args:
        folder: with etc/ and feat/ in it.

    Raises:
        ArgumentError: naming the file, and the line in it, that is wrong.
        OSError: if a file cannot be read.
    """
    listed, test = _entries(folder, "train"), _entries(folder, "test")
    speakers = sorted({entry.speaker for entry in listed})
    if len(speakers) < 2:
        raise ArgumentError(f"{folder}: expected 2 speakers or more to train and validate, got {inventory(speakers)}")
    held_out = set(speakers[min(_NTH, len(speakers)) - 1 :: _NTH])
    splits = {
        "train": [entry for entry in listed if entry.speaker not in held_out],
        "validation": [entry for entry in listed if entry.speaker in held_out],
        "test": test,
    }
    both = sorted({entry.speaker for entry in test} & set(speakers))
    note = f"{folder}: speakers of the test are in training too: {inventory(both)}" if both else ""
    frames, digest = _features(folder, [*listed, *test])
    counts = ", ".join(f"{split} {len(entries)}" for split, entries in splits.items())
    return Census(splits, frames, f"AN4 {counts}, contents {digest}", note)


def _features(folder: Path, entries: Sequence[Entry]) -> tuple[dict[str, Tensor], str]:
    """The frames of all utterances, and a hash of words and frames."""
    if not (folder / _PART).is_dir():
        archive = folder / f"{_PART}.tar.gz"
        way_out = f"; this unpacks it: tar xzf {archive} -C {folder}" if archive.is_file() else ""
        raise ArgumentError(f"{folder}: expected the features in {_PART}/, found none{way_out}")
    wanted = {f"{entry.id}{SUFFIX}": entry for entry in entries}
    found: dict[str, Tensor] = {}
    hashes: dict[str, str] = {}
    for path in files_below(folder / _PART):
        name = path.relative_to(folder / _PART).as_posix()
        if name in wanted:
            data = path.read_bytes()
            found[wanted[name].id] = cepstra(data, f"{folder}: {name}")
            hashes[wanted[name].id] = hashlib.blake2b(data, digest_size=8).hexdigest()
    if missing := [entry.id for entry in entries if entry.id not in found]:
        raise ArgumentError(f"{folder}: expected features of every file id, found none of {inventory(missing)}")
    text = "\n".join(f"{entry.id}\t{entry.text}\t{hashes[entry.id]}" for entry in entries)
    return found, hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _entries(folder: Path, split: str) -> list[Entry]:
    """The utterances of one list, in its order."""
    paths = [folder / "etc" / f"an4_{split}.{kind}" for kind in ("fileids", "transcription")]
    for path in paths:
        if not path.is_file():
            raise ArgumentError(f"{path}: expected a list of the {split} utterances, found none")
    ids, words = (read_lines(path, "an utterance a line") for path in paths)
    if len(ids) != len(words):
        raise ArgumentError(f"{paths[1]}: expected a line for each in {paths[0]}, got {len(words)} for {len(ids)}")
    return [_entry(ids[line].strip(), words[line].strip(), f"row {line + 1} of {paths[1]}") for line in range(len(ids))]


def _entry(file_id: str, line: str, where: str) -> Entry:
    match, folders = _LINE.fullmatch(line), file_id.split("/")
    if match is None or match[2] != folders[-1]:
        expected = f"expected words and ({folders[-1]}), as the list of file ids has it"
        raise ArgumentError(f"{where}: {expected}, got {line!r}")
    words = [word for word in match[1].split() if word not in _FILLERS]
    if not words:
        raise ArgumentError(f"{where}: expected words, got none")
    return Entry(file_id, folders[-2] if len(folders) > 1 else "", composed(" ".join(words)))
