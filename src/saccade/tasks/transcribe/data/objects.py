"""A speech corpus of Python objects: waveforms and what is said in them."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from saccade.data.cleaning import composed
from saccade.data.objects import array_of
from saccade.data.rows import Rows, rows_of
from saccade.data.splits import SplitNames
from saccade.tasks.audio.recordings import leveled, read_whole, resample
from saccade.tasks.transcribe.data.corpus import Recording

__all__ = ["Waveforms", "open_objects"]

_AUDIO, _TEXT = ("audio", "path", "audio_filepath"), ("text", "sentence", "transcription")  # what columns may be called
_INTEGERS = (np.uint8, np.int8, np.int16, np.int32)  # whose full scale is a waveform's, as WAV files have them

Sound: TypeAlias = Tensor | memoryview | Path
"""A waveform, the bytes of a sound file, or where one is."""


@dataclass(frozen=True)
class Waveforms:
    """Waveforms in memory.

    Args:
        rows: of each its samples, or its file's bytes or path, which is read as it is asked for, and its words.
        rate: samples a second of all of them, in Hz.
    """

    rows: Rows[tuple[Sound, str]]
    rate: int

    dim = None

    @property
    def note(self) -> str:
        """What a user should know of the recordings."""
        return self.rows.note

    def example(self, split: str, index: int) -> Recording:
        """Return one recording of a split; its group is ""."""
        sound, text = self.rows.row(split, index)
        name = f"{split} {index}"
        if isinstance(sound, Tensor):
            samples, notes = leveled(sound, name)
            return Recording(name, samples, text, "", notes)
        source = sound if isinstance(sound, Path) else io.BytesIO(sound)
        audio = read_whole(source, self.rate, str(sound) if isinstance(sound, Path) else name)
        return Recording(name, audio.samples, text, "", audio.notes)

    def text(self, split: str, index: int) -> str:
        """Return the words of a recording alone."""
        return self.rows.row(split, index)[1]

    def size(self, split: str) -> int:
        """Return how many recordings a split has."""
        return self.rows.size(split)

    @property
    def fingerprint(self) -> str:
        """What the recordings are, in one string."""
        return f"{self.rows.fingerprint}, {self.rate} Hz"


def open_objects(objects: Any, rate: int, names: SplitNames | None = None, folder: Path | None = None) -> Waveforms:
    """Return a corpus of rows with a recording and its text.

    A recording is a waveform (array or tensor, of the rate), a path, or what `datasets` decodes one to, a mapping of
    `array` and `sampling_rate`, or leaves packed, one of `bytes` and `path`. Waveforms are floats, which are scaled
    down as a whole where they go beyond [-1, 1], or integers of 8, 16 or 32 bits as WAV files have them. A row is a
    pair of both, or a mapping with the columns `audio` and `text`.

    Args:
        objects: see `saccade.tasks.objects.rows_of`.
        rate: samples a second, in Hz.
        names: what the splits of a mapping are called.
        folder: of the table that the rows are from, from which on paths are seen; what it has is read as it is asked
            for.

    Raises:
        ArgumentError: naming the row that is wrong.

    Example:
        >>> corpus = open_objects([(torch.rand(800) * n, "one") for n in (0.1, 0.2, 0.3)], 8000)
        >>> corpus.example("train", 0).text
        'one'
    """

    def read(row: Any, features: Any) -> tuple[Sound, str]:
        if isinstance(row, Mapping):
            row = [next((row[name] for name in names if name in row), None) for names in (_AUDIO, _TEXT)]
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2 or not isinstance(row[1], str):
            raise ValueError("expected a recording and its text")
        return _sound(row[0], rate, folder), composed(" ".join(row[1].split()))

    return Waveforms(rows_of(objects, read, lambda row: row[0], names), rate)


def _sound(audio: Any, rate: int, folder: Path | None) -> Sound:
    """A waveform; of a table's the file, which takes far less memory and is read when it is asked for."""
    if isinstance(audio, Mapping) and "array" not in audio:
        data, path = audio.get("bytes"), audio.get("path")
        if data is not None:
            return memoryview(data) if folder else read_whole(io.BytesIO(data), rate, str(path or "audio")).samples
        audio = path
    if isinstance(audio, str | Path):
        return (folder / audio).resolve(strict=True) if folder else read_whole(Path(audio), rate, str(audio)).samples
    own = rate
    if isinstance(audio, Mapping):
        audio, own = audio["array"], int(audio["sampling_rate"])
    samples = _floats(array_of(audio))
    if samples.ndim == 1 and len(samples) and bool(samples.isfinite().all()):
        samples = resample(samples, own, rate)
        if bool(samples.isfinite().all()):  # the largest floats may not be resampled
            return samples
    raise ValueError(f"expected a waveform (samples,) of finite numbers, got shape {tuple(samples.shape)}")


def _floats(samples: np.ndarray) -> Tensor:
    """A waveform's numbers as float32: of integers their shares of the full scale, whose middle 8 bits have at 128."""
    samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    if samples.dtype in _INTEGERS:
        low, high = np.iinfo(samples.dtype).min, np.iinfo(samples.dtype).max + 1
        samples = (samples - (low + high) / 2) / ((high - low) / 2)
    elif samples.dtype.kind != "f":
        wanted = "expected a waveform, an array of floats in [-1, 1] or of integers of 8, 16 or 32 bits"
        way_out = "; divide them by their full scale" if samples.dtype.kind in "iu" else ""
        raise ValueError(f"{wanted}, got {samples.dtype}{way_out}")
    return torch.as_tensor(samples, dtype=torch.float32)
