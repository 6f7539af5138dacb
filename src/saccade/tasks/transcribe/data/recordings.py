"""A corpus of one's own: sound files anywhere, and one manifest that lists them, or one for each split."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from torch import Tensor

from saccade.data.dataset import SPLITS, check_index, check_split
from saccade.data.rows import divide, text_hash
from saccade.data.splits import SplitNames, held_out, only
from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import RATES, Audio, read_whole
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.data.manifest import KINDS, Row, read_manifest

__all__ = ["RATE", "Recordings", "check_rate", "is_recordings", "open_recordings", "recordings"]

RATE = 16000  # Hz, where no other is asked for

_ALONE, _VALIDATED = ("manifest",), ("validated",)
_KEPT = 512 << 20  # bytes of sound that is kept of files with several recordings: two hours at 16 kHz
_SLACK = 0.1  # seconds by which a file may be shorter than its manifest says


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
    _heard: "_Heard" = field(default_factory=lambda: _Heard(), init=False, repr=False)

    dim = None

    def example(self, split: str, index: int) -> Recording:
        """Return utterance number `index` of a split, and what was changed in it; its group is the speaker.

        Raises:
            ArgumentError: if there is no such split, or no such index in it, or the file is no audio.
        """
        check_index(split, index, self.size(split))
        row = self.splits[split][index]
        audio = (self._heard.read if row.path in self._shared else _read)(row.path, self.rate)
        return Recording(str(row.path), _part(audio.samples, row, self.rate), row.text, row.speaker, audio.notes)

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

    @cached_property
    def _shared(self) -> frozenset[Path]:
        """The files of which several rows are parts, and which are worth keeping."""
        rows = Counter(row.path for split in self.splits.values() for row in split if _is_part(row))
        return frozenset(path for path, count in rows.items() if count > 1)


def is_recordings(folder: Path, names: SplitNames | None = None) -> bool:
    """Return whether a folder has a manifest, of all splits or of the training split."""
    return bool(_alone(folder, names or SplitNames()) or _found(folder, _stems(names or SplitNames(), "train")))


def open_recordings(path: Path, rate: int, names: SplitNames | None = None) -> Recordings:
    """Open a corpus by its manifest, or manifests.

    A manifest alone is divided by its column `split`. A folder has manifest.csv, .tsv, .jsonl or .json, or one for each
    split, called as `saccade.data.splits` has it (train.jsonl or train_manifest.json). A row of no split is refused
    where others name one; a split that is missing is held out from training by a hash of each path: a twentieth of the
    recordings, but at most 1,000 of them. Rows without a text are left out. All files are looked for at once, and read
    when they are needed.

    Args:
        path: a manifest, or a folder with one, or with one for each split.
        rate: samples a second, in Hz, that files of another rate are resampled to.
        names: what splits are called.

    Raises:
        ArgumentError: naming the manifest, and the line in it, that is wrong or whose file is missing or cut short.
        OSError: if a manifest cannot be read.
    """
    names = names or SplitNames()
    check_rate(rate)
    if path.is_dir() and not _alone(path, names):
        read = {split: read_manifest(one) for split in SPLITS if (one := _one(path, split, names)) is not None}
        splits = {split: rows for split, (rows, _) in read.items()}
        notes = [note for _, note in read.values()]
    else:
        alone = only(_alone(path, names)) if path.is_dir() else path
        assert alone is not None, "it was found"
        rows, note = read_manifest(alone)
        splits, notes = _by_column(rows, alone, names), [note]
    return recordings(splits, rate, path, notes)


def check_rate(rate: int) -> None:
    """Refuse what is no sample rate of sound.

    Raises:
        ArgumentError: if it is none.
    """
    if rate not in RATES:
        raise ArgumentError(f"--rate: expected a sample rate from {RATES[0]} to {RATES[-1]} Hz, got {rate}")


def recordings(splits: Mapping[str, Sequence[Row]], rate: int, path: Path, notes: Sequence[str]) -> Recordings:
    """Return a corpus of rows, with the splits that are missing held out from training.

    Args:
        splits: the rows of each that there is, "train" among them.
        rate: samples a second, in Hz.
        path: where they are from, for messages.
        notes: what a user should know of them already.

    Raises:
        ArgumentError: if there are too few to hold anything out.
    """
    missing, found = [split for split in SPLITS if split not in splits], dict(splits)
    if missing:
        train = splits["train"]
        hashes = np.array([text_hash(row.listed) for row in train], np.uint64)
        parts = divide(hashes, path, "recordings", missing)
        for split, inside in parts.items():
            found[split] = [row for row, here in zip(train, inside, strict=True) if here]
    found = {split: found[split] for split in SPLITS}
    out = held_out(missing, {split: len(rows) for split, rows in found.items()}, "recordings")
    note = "; ".join(filter(None, [*notes, out, _twice(found, path)]))
    return Recordings(found, rate, _fingerprint(found), note)


class _Heard:
    """Files of which recordings are parts: those that were asked for last, 512 MiB together at most."""

    def __init__(self) -> None:
        self._files = dict[Path, Audio]()

    def read(self, path: Path, rate: int) -> Audio:
        """Return the whole file."""
        audio = self._files.pop(path, None) or _read(path, rate)
        left = _KEPT - audio.samples.nbytes
        if left < 0:  # it would never fit: what is kept stays
            return audio
        for other, kept in reversed(list(self._files.items())):
            left -= kept.samples.nbytes
            if left < 0:
                self._files.pop(other, None)
        self._files[path] = audio
        return audio


def _read(path: Path, rate: int) -> Audio:
    return read_whole(path, rate, str(path))


def _is_part(row: Row) -> bool:
    """Whether a row is of a part of its file alone."""
    return bool(row.offset) or row.duration is not None


def _part(samples: Tensor, row: Row, rate: int) -> Tensor:
    """The part of a file that a row is."""
    if not _is_part(row):
        return samples
    first = round(row.offset * rate)
    end = len(samples) if row.duration is None else first + round(row.duration * rate)
    if not first < min(end, len(samples)) or end - len(samples) > _SLACK * rate:
        until = "on" if row.duration is None else f"to {row.offset + row.duration:g} s"
        wanted = f"sound from {row.offset:g} s {until}, as its offset and duration say"
        raise ArgumentError(f"{row.where}: expected {wanted}, got {len(samples) / rate:g} s in {row.path}")
    return samples[first:end].clone()  # which leaves what is kept alone, and keeps no whole file in memory


def _stems(names: SplitNames, split: str) -> list[str]:
    """What the manifest of a split may be called, without its end."""
    return [stem for name in names.of(split) for stem in (name, f"{name}_manifest")]


def _alone(folder: Path, names: SplitNames) -> list[Path]:
    """Manifests of all splits: validated.tsv of Common Voice is one if there is none to train on."""
    if found := _found(folder, _ALONE):
        return found
    return [] if _found(folder, _stems(names, "train")) else _found(folder, _VALIDATED)


def _found(folder: Path, stems: Sequence[str]) -> list[Path]:
    files = [folder / f"{stem}{kind}{packed}" for stem in stems for kind in KINDS for packed in ("", ".gz")]
    return [path for path in files if path.is_file()]


def _one(folder: Path, split: str, names: SplitNames) -> Path | None:
    """The one manifest of a split."""
    found = only(_found(folder, _stems(names, split)), f"say which by --{split}-split, or move one away")
    if found is None:
        names.check(split, folder, (path.name for path in folder.iterdir() if path.is_file()))
    return found


def _by_column(rows: Sequence[Row], manifest: Path, names: SplitNames) -> dict[str, list[Row]]:
    """The rows of each split that their column names; all are to train on where there is none."""
    splits: dict[str, list[Row]] = {}
    for row in rows if any(row.split for row in rows) else ():
        named = names.split(row.split)
        if named is None:
            expected = f"expected one of {', '.join(names.all)} as its split"
            raise ArgumentError(f"{row.where}: {expected}, got {repr(row.split) if row.split else 'none'}")
        splits.setdefault(named, []).append(row)
    for split in SPLITS:
        if split not in splits:
            names.check(split, manifest, splits)
    if not splits:
        return {"train": list(rows)}
    if "train" not in splits:
        raise ArgumentError(f"{manifest}: expected rows of train, found none")
    return splits


def _twice(splits: Mapping[str, Sequence[Row]], path: Path) -> str:
    """A note on recordings that are in two splits, "" if there is none."""
    files = Counter(path for rows in splits.values() for path in {os.path.normpath(row.path) for row in rows})
    both = sum(count > 1 for count in files.values())
    return f"{path}: {both} recordings are in more than one split" if both else ""


def _fingerprint(splits: Mapping[str, Sequence[Row]]) -> str:
    """What the rows are in one string: how many, and a hash of all but the sound itself."""
    counts = ", ".join(f"{split} {len(splits[split])}" for split in SPLITS)
    contents = [_told(split, row) for split in SPLITS for row in splits[split]]
    return f"{counts}, contents {hashlib.blake2b(json.dumps(contents).encode(), digest_size=8).hexdigest()}"


def _told(split: str, row: Row) -> list[object]:
    told = [split, row.listed, row.size, row.text, row.speaker]
    return [*told, row.offset, row.duration] if _is_part(row) else told
