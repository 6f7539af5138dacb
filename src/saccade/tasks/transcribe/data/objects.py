"""A speech corpus of Python objects: waveforms and what is said in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade.tasks.audio.recordings import read_audio, resample
from saccade.tasks.objects import Rows, rows_of
from saccade.tasks.transcribe.data.corpus import Recording

__all__ = ["Waveforms", "open_objects"]

_AUDIO, _TEXT = ("audio", "path"), ("text", "sentence", "transcription")  # what columns may be called


@dataclass(frozen=True)
class Waveforms:
    """Waveforms in memory.

    Args:
        rows: of each its samples and its words.
        rate: samples a second of all of them, in Hz.
    """

    rows: Rows[tuple[Tensor, str]]
    rate: int

    dim = None
    note = ""

    def example(self, split: str, index: int) -> Recording:
        """Return one recording of a split; its group is ""."""
        samples, text = self.rows.example(split, index)
        return Recording(f"{split} {index}", samples, text, "")

    def text(self, split: str, index: int) -> str:
        """Return the words of a recording alone."""
        return self.rows.example(split, index)[1]

    def size(self, split: str) -> int:
        """Return how many recordings a split has."""
        return self.rows.size(split)

    @property
    def fingerprint(self) -> str:
        """What the recordings are, in one string."""
        return f"{self.rows.fingerprint}, {self.rate} Hz"


def open_objects(objects: Any, rate: int) -> Waveforms:
    """Return a corpus of rows with a recording and its text.

    A recording is a waveform (array or tensor, of the rate), a path, or what `datasets` decodes one to, a mapping of
    `array` and `sampling_rate`. A row is a pair of both, or a mapping with the columns `audio` and `text`.

    Args:
        objects: see `saccade.tasks.objects.rows_of`.
        rate: samples a second, in Hz.

    Raises:
        ArgumentError: naming the row that is wrong.

    Example:
        >>> corpus = open_objects([(torch.rand(800) * n, "one") for n in (0.1, 0.2, 0.3)], 8000)
        >>> corpus.example("train", 0).text
        'one'
    """

    def read(row: Any, features: Any) -> tuple[Tensor, str]:
        if isinstance(row, Mapping):
            row = [next((row[name] for name in names if name in row), None) for names in (_AUDIO, _TEXT)]
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2 or not isinstance(row[1], str):
            raise ValueError("expected a recording and its text")
        return _samples(row[0], rate), " ".join(row[1].split())

    return Waveforms(rows_of(objects, read, lambda row: row[0]), rate)


def _samples(audio: Any, rate: int) -> Tensor:
    if isinstance(audio, str | Path):
        return read_audio(Path(audio), rate, str(audio)).samples
    own = rate
    if isinstance(audio, Mapping):
        audio, own = audio["array"], int(audio["sampling_rate"])
    samples = torch.as_tensor(np.asarray(audio), dtype=torch.float32)
    if samples.ndim != 1 or not len(samples) or not bool(samples.isfinite().all()):
        raise ValueError(f"expected a waveform (samples,) of finite numbers, got shape {tuple(samples.shape)}")
    return resample(samples, own, rate).clamp(-1, 1)
