"""Recordings of files, tables and Python objects, and their words."""

import io
import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from saccade.data import Blank, Column, Row, Rows
from saccade.data.columns import FILL, text
from saccade.data.dataset import spread
from saccade.data.naming import are_files, are_texts
from saccade.data.objects import array_of
from saccade.data.tables import number_of
from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import Audio, leveled, missing_bytes, read_whole, resample, sample_rate
from saccade.tasks.audio.sphinx import COEFFICIENTS, cepstra, features
from saccade.tasks.transcribe.data.corpus import Recording

__all__ = ["BLANK", "COLUMNS", "RATE", "Recordings", "columns"]

RATE = 16000
"""Default sample rate, in Hz."""
AUDIO = ("audio", "path", "audio_filepath", "file", "file_name", "filename")
"""Names of the column of recordings."""
BLANK = Blank[Row](lambda row: not row["text"], "recordings, which have no text")

_LOWEST, _LOOKED_AT = 8000, 50  # Hz that the usual bands need, and files with a rate that is looked at
_CLIPS = "clips"  # the folder of Common Voice's recordings
_KEPT = 512 << 20  # bytes of cached sound of files with several recordings: two hours at 16 kHz
_SLACK = 0.1  # seconds by which a file may be shorter than in its manifest
_INTEGERS = (np.uint8, np.int8, np.int16, np.int32)  # dtypes of samples in WAV files, scaled to [-1, 1]


def _optional(cell: Any) -> str:
    return "" if cell is None else text(cell)


COLUMNS = (
    Column("audio", AUDIO, what="a recording", looks=are_files),
    Column(
        "text",
        ("text", "sentence", "transcription"),
        lambda cell: " ".join(_optional(cell).split()),
        looks=are_texts,
    ),
)
"""Needed columns of recordings. `columns` reads the sound."""

Sound: TypeAlias = Tensor | memoryview | Path
"""A waveform, the bytes of a sound file, or the path of one."""


def columns(rate: int, folder: Path | None) -> list[Column]:
    """Return the columns of recordings.

    A recording is a waveform (array or tensor, of the rate), a path, or a mapping of `datasets`, of `array` and
    `sampling_rate` or of `bytes` and `path`. Waveforms are floats, or integers of 8, 16 or 32 bits as in WAV files. A
    row with `offset` or `duration`, in seconds, is a part of its file.

    Args:
        rate: samples a second, in Hz.
        folder: of a table and its relative paths, with files that are read lazily. None for Python objects, with files
            that are read at once.
    """

    def listed(cell: Any) -> str:
        return cell.strip() if folder and isinstance(cell, str) else ""

    return [
        replace(COLUMNS[0], kind=lambda cell: _sound(cell, rate, folder)),
        COLUMNS[1],
        Column("speaker", ("speaker", "client_id"), _optional, needed=False),
        Column("offset", ("offset",), lambda cell: _seconds(cell, "offset") or 0.0, needed=False),
        Column("duration", ("duration",), lambda cell: _seconds(cell, "duration"), needed=False),
        Column("listed", ("listed", *COLUMNS[0].names), listed, needed=False),
    ]


class Recordings:
    """Recordings, read lazily.

    Args:
        rows: each with `audio`, `text`, `speaker`, `offset`, `duration`.
        rate: samples a second of all recordings, in Hz. None if they are the bytes of Sphinx's feature files.

    Raises:
        ArgumentError: with the row, if its file is missing or cut short, or holds no features.
    """

    def __init__(self, rows: Rows[Row], rate: int | None) -> None:
        self.guessed = rows.guessed
        self.rows, self.rate, self.dim = rows, rate, 3 * COEFFICIENTS if rate is None else None
        self.fingerprint = rows.fingerprint if rate is None else f"{rows.fingerprint}, {rate} Hz"
        self.note = "; ".join(filter(None, [rows.note, _twice(rows)]))
        self._kept = dict[Path, Audio]()
        for split, part in rows.splits.items():
            for index, row in enumerate(part):
                if isinstance(row["audio"], Path):
                    _check(row["audio"], rows.where(split, index))
                elif rate is None:
                    cepstra(row["audio"], rows.where(split, index))

    def example(self, split: str, index: int) -> Recording:
        """Return a recording of a split, with notes on changes of its signal.

        Its group is the speaker.

        Raises:
            ArgumentError: if there is no such recording, or its file is unreadable.
        """
        row, name, notes = self.rows.row(split, index), f"{split} {index}", tuple[str, ...]()
        sound = row["audio"]
        if self.rate is None:
            name, signal = row["listed"], features(cepstra(sound, name))
        elif isinstance(sound, Tensor):
            signal, notes = leveled(sound, name)
        else:
            if isinstance(sound, Path):
                name = str(sound)
                audio = self._whole(sound) if sound in self._shared else read_whole(sound, self.rate, name)
            else:
                audio = read_whole(io.BytesIO(sound), self.rate, name)
            signal, notes = audio.samples, audio.notes
        if self.rate and _is_part(row):
            signal = _part(signal, row, self.rate, self.rows.where(split, index))
        return Recording(name, signal, row["text"], row["speaker"], notes)

    def text(self, split: str, index: int) -> str:
        """Return the words of a recording. Its file is not read."""
        words: str = self.rows.row(split, index)["text"]
        return words

    def size(self, split: str) -> int:
        """Return the number of recordings of a split."""
        return self.rows.size(split)

    def file_rate(self) -> int:
        """Return the highest sample rate of some training files, from 8,000 Hz to `RATE`.

        It is `RATE` for anything but files.
        """
        sounds = [self.rows.row("train", index)["audio"] for index in spread(self.size("train"), _LOOKED_AT)]
        if self.rate is None or not all(isinstance(sound, Path) for sound in sounds):
            return RATE
        return min(RATE, max(_LOWEST, *map(sample_rate, sounds)))

    @cached_property
    def _shared(self) -> frozenset[Path]:
        """Files with parts in several rows, to be cached."""
        parts = Counter(row["audio"] for part in self.rows.splits.values() for row in part if _is_part(row))
        return frozenset(sound for sound, count in parts.items() if count > 1 and isinstance(sound, Path))

    def _whole(self, path: Path) -> Audio:
        """A file of several recordings, from a cache of the last 512 MiB."""
        assert self.rate is not None
        audio = self._kept.pop(path, None) or read_whole(path, self.rate, str(path))
        left = _KEPT - audio.samples.nbytes
        if left >= 0:  # a file above the limit leaves the cache as it is
            for other, kept in reversed(list(self._kept.items())):
                left -= kept.samples.nbytes
                if left < 0:
                    self._kept.pop(other, None)
            self._kept[path] = audio
        return audio


def _is_part(row: Row) -> bool:
    return bool(row["offset"]) or row["duration"] is not None


def _part(samples: Tensor, row: Row, rate: int, where: str) -> Tensor:
    """The part of a file that a row is."""
    offset, duration = row["offset"], row["duration"]
    first = round(offset * rate)
    end = len(samples) if duration is None else first + round(duration * rate)
    if not first < min(end, len(samples)) or end - len(samples) > _SLACK * rate:
        until = "on" if duration is None else f"to {offset + duration:g} s"
        expected = f"sound from {offset:g} s {until}, as its offset and duration say"
        raise ArgumentError(f"{where}: expected {expected}, got {len(samples) / rate:g} s in {row['audio']}")
    return samples[first:end].clone()  # the file's samples stay cached for other parts


def _twice(rows: Rows[Row]) -> str:
    """A note on recordings in several splits, "" if there are none."""
    files = [
        {os.path.normpath(row["audio"]) for row in part if isinstance(row["audio"], Path)}
        for part in rows.splits.values()
    ]
    both = sum(count > 1 for count in Counter(path for paths in files for path in paths).values())
    return f"{both} recordings are in more than one split" if both else ""


def _seconds(cell: Any, name: str) -> float | None:
    """A number of seconds, None if there is none."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        seconds = number_of(cell) if isinstance(cell, str) else float(cell)
    except (ValueError, TypeError):
        seconds = math.nan
    if not 0 <= seconds < math.inf or (name == "duration" and not seconds):
        way_out = "; write decimals with a point" if isinstance(cell, str) and "," in cell else ""
        raise ValueError(f"expected seconds for {name}, got {cell!r:.60}{way_out}")
    return seconds


def _sound(cell: Any, rate: int, folder: Path | None) -> Sound:
    if isinstance(cell, Mapping) and "array" not in cell:
        data, path = cell.get("bytes"), cell.get("path")
        if data is not None:
            return memoryview(data) if folder else read_whole(io.BytesIO(data), rate, str(path or "audio")).samples
        cell = path
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise ValueError(f"expected a recording, got an empty cell; {FILL}")
    if isinstance(cell, str | Path):
        return _file(folder, str(cell).strip()) if folder else read_whole(Path(cell), rate, str(cell)).samples
    source_rate = rate
    if isinstance(cell, Mapping):
        cell, source_rate = cell["array"], int(cell["sampling_rate"])
    samples = _floats(array_of(cell))
    if samples.ndim == 1 and len(samples) and bool(samples.isfinite().all()):
        samples = resample(samples, source_rate, rate)
        if bool(samples.isfinite().all()):  # the largest floats may not be resampled
            return samples
    raise ValueError(f"expected a waveform (samples,) of finite numbers, got shape {tuple(samples.shape)}")


def _file(folder: Path, listed: str) -> Path:
    """Path of a recording in the table's folder, or in clips/ as in Common Voice."""
    if "\0" in listed:
        raise ValueError(f"expected a sound file, got {listed!r:.60}")
    path, clip = folder / listed, folder / _CLIPS / listed
    return clip if "/" not in listed and not path.exists() and clip.is_file() else path


def _check(path: Path, where: str) -> None:
    """Reject a path without a whole sound file."""
    if not path.exists():
        raise ArgumentError(f"{where}: expected a sound file, found none at {path}")
    if not path.is_file() or not path.stat().st_size:
        got = "an empty one" if path.is_file() else "a folder or device"
        raise ArgumentError(f"{where}: expected a sound file, got {got} at {path}")
    if path.suffix.lower() == ".wav" and (lost := missing_bytes(path)):
        raise ArgumentError(f"{where}: expected a whole sound file, got {path}, cut short by {lost} bytes")


def _floats(samples: np.ndarray) -> Tensor:
    """A waveform as float32, integers divided by full scale, uint8 centred at 128."""
    samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    if samples.dtype in _INTEGERS:
        low, high = np.iinfo(samples.dtype).min, np.iinfo(samples.dtype).max + 1
        samples = (samples - (low + high) / 2) / ((high - low) / 2)
    elif samples.dtype.kind != "f":
        expected = "expected a waveform, an array of floats in [-1, 1] or of integers of 8, 16 or 32 bits"
        way_out = "; divide them by their full scale" if samples.dtype.kind in "iu" else ""
        raise ValueError(f"{expected}, got {samples.dtype}{way_out}")
    return torch.as_tensor(samples, dtype=torch.float32)
