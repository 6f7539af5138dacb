"""A corpus of one's own: sound files anywhere, and one manifest that lists them, or one for each split."""

import hashlib
import json
import os
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import RATES, read_audio
from saccade.tasks.dataset import SPLITS, check_index, check_split
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.data.manifest import KINDS, Row, read_manifest

__all__ = ["RATE", "Recordings", "is_recordings", "open_recordings"]

RATE = 16000  # Hz, where no other is asked for

_ALONE = ("manifest",)
_NAMES = {"train": ("train",), "validation": ("validation", "valid", "val", "dev"), "test": ("test",)}
_SHARE, _MOST = 20, 1000  # validation, and test: one in so many of the recordings, but no more than that


@dataclass(frozen=True, eq=False)
class Recordings:
    """Sound files that are read as they are asked for, at one sample rate.

    Args:
        splits: "train", "validation" and "test".
        rate: of all signals, in Hz.
        fingerprint: what the manifests list: paths, sizes, texts, speakers.
        note: what was left out, "" if nothing was.
    """

    splits: Mapping[str, Sequence[Row]]
    rate: int
    fingerprint: str
    note: str

    dim = None

    def example(self, split: str, index: int) -> Recording:
        """Return utterance number `index` of a split, and what was changed in it; its group is the speaker.

        Raises:
            ArgumentError: if there is no such split, or no such index in it, or the file is no audio.
        """
        check_index(split, index, self.size(split))
        row = self.splits[split][index]
        audio = read_audio(row.path, self.rate, str(row.path))
        return Recording(str(row.path), audio.samples, row.text, row.speaker, audio.notes)

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone; its file is not read.

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


def is_recordings(folder: Path) -> bool:
    """Return whether a folder has a manifest, of all splits or of the training split."""
    return bool(_found(folder, _ALONE) or _found(folder, _NAMES["train"]))


def open_recordings(path: Path, rate: int) -> Recordings:
    """Open a corpus by its manifest, or manifests.

    A manifest alone is divided by its column `split` (train; validation, valid, val or dev; test) or, without one, by
    a hash of each path: a twentieth of the recordings, but at most 1,000 of them, are for validation and as many for
    test. A folder has manifest.csv, .tsv or .jsonl, or one called train, one called as its validation split is, and
    one called test. Rows without a text are left out. All files are looked for at once, and read when they are needed.

    Args:
        path: a manifest, or a folder with one, or three.
        rate: samples a second, in Hz, that files of another rate are resampled to.

    Raises:
        ArgumentError: naming the manifest, and the line in it, that is wrong or whose file is missing.
        OSError: if a manifest cannot be read.
    """
    if rate not in RATES:
        raise ArgumentError(f"--rate: expected a sample rate from {RATES[0]} to {RATES[-1]} Hz, got {rate}")
    if path.is_dir() and not _found(path, _ALONE):
        read = {split: read_manifest(_one(path, names)) for split, names in _NAMES.items()}
        splits = {split: rows for split, (rows, _) in read.items()}
        notes = [note for _, note in read.values()]
    else:
        alone = _one(path, _ALONE) if path.is_dir() else path
        rows, note = read_manifest(alone)
        splits, notes = _divide(rows, alone), [note]
    note = "; ".join(filter(None, [*notes, _twice(splits, path)]))
    return Recordings(splits, rate, _fingerprint(splits), note)


def _found(folder: Path, names: Sequence[str]) -> list[Path]:
    files = [folder / f"{name}{kind}{packed}" for name in names for kind in KINDS for packed in ("", ".gz")]
    return [path for path in files if path.is_file()]


def _one(folder: Path, names: Sequence[str]) -> Path:
    """The one manifest of a folder that has one of some names."""
    found = _found(folder, names)
    if len(found) != 1:
        wanted = " or ".join(f"{name}{kind}" for name in names for kind in KINDS)
        got = " and ".join(path.name for path in found) if found else "none"
        raise ArgumentError(f"{folder}: expected one of {wanted}, found {got}")
    return found[0]


def _divide(rows: Sequence[Row], manifest: Path) -> dict[str, list[Row]]:
    """Which rows are in which split: by their column, or by their paths' hashes, the lowest for validation."""
    if any(row.split for row in rows):
        return _named(rows, manifest)
    hashes = [
        hashlib.blake2b(unicodedata.normalize("NFC", row.listed).encode(), digest_size=8).digest() for row in rows
    ]
    different = sorted(set(hashes))
    if len(different) < len(SPLITS):
        wanted = f"expected {len(SPLITS)} different recordings or more, to train, validate and test"
        raise ArgumentError(f"{manifest}: {wanted}, got {len(different)}")
    count = min(max(1, len(different) // _SHARE), _MOST)
    first, second = different[count], different[2 * count]
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for row, place in zip(rows, hashes, strict=True):
        splits["validation" if place < first else "test" if place < second else "train"].append(row)
    return splits


def _named(rows: Sequence[Row], manifest: Path) -> dict[str, list[Row]]:
    known = {name: split for split, names in _NAMES.items() for name in names}
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for row in rows:
        if row.split.lower() not in known:
            expected = f"expected one of {', '.join(known)} as its split"
            raise ArgumentError(f"{row.where}: {expected}, got {repr(row.split) if row.split else 'none'}")
        splits[known[row.split.lower()]].append(row)
    for split, members in splits.items():
        if not members:
            raise ArgumentError(f"{manifest}: expected rows of every split, found none of {split}")
    return splits


def _twice(splits: Mapping[str, Sequence[Row]], path: Path) -> str:
    """A note on recordings that are in two splits, "" if there is none."""
    files = Counter(path for rows in splits.values() for path in {os.path.normpath(row.path) for row in rows})
    both = sum(count > 1 for count in files.values())
    return f"{path}: {both} recordings are in more than one split" if both else ""


def _fingerprint(splits: Mapping[str, Sequence[Row]]) -> str:
    """What the rows are in one string: how many, and a hash of all but the sound itself."""
    counts = ", ".join(f"{split} {len(splits[split])}" for split in SPLITS)
    contents = [[split, row.listed, row.size, row.text, row.speaker] for split in SPLITS for row in splits[split]]
    return f"{counts}, contents {hashlib.blake2b(json.dumps(contents).encode(), digest_size=8).hexdigest()}"
