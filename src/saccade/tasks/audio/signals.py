"""Frames of features from signals and files."""

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.data.media import attachment, read_bytes
from saccade.errors import ArgumentError
from saccade.tasks.audio.features import LogMel, normalized
from saccade.tasks.audio.recordings import SUFFIXES, read_audio, wav
from saccade.tasks.audio.sphinx import COEFFICIENTS, SUFFIX, cepstra, encode, features

__all__ = ["Signals"]

_FEATURE_HOP = 0.01  # seconds between frames of a feature file
_MOST = 1 << 30  # bytes of a file of features


@dataclass(frozen=True)
class Signals:
    """Signals of a run, and their features.

    Args:
        rate: samples a second of waveforms, None if signals are frames of features.
        dim: features of such a frame, None if signals are waveforms.
        mels, window_ms, hop_ms: of the log-mel features of a waveform, see `LogMel`, else 0.

    Raises:
        ArgumentError: with --mels, if the window is too short for that many bands.
    """

    rate: int | None
    dim: int | None
    mels: int = 0
    window_ms: int = 0
    hop_ms: int = 0

    def __post_init__(self) -> None:
        self.logmel  # noqa: B018 (checks the options)

    @property
    def width(self) -> int:
        """Features of a frame."""
        return self.mels if self.dim is None else self.dim

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of files of signals."""
        return SUFFIXES if self.dim is None else (SUFFIX,)

    @property
    def frame_seconds(self) -> float:
        """Seconds from one frame to the next, a whole number of samples."""
        return self.logmel.hop / self.logmel.rate if self.logmel else _FEATURE_HOP

    @cached_property
    def logmel(self) -> LogMel | None:
        """The features of a waveform."""
        return None if self.rate is None else LogMel(self.rate, self.mels, self.window_ms, self.hop_ms)

    def frames(self, signal: Tensor) -> tuple[Tensor, Tensor]:
        """Return a signal's frames and the relative loudness of each.

        Returns:
            Frames `(length, width)`, and the loudness of each, `(length,)`. A waveform has log-mel features, each of
            mean 0 and variance 1, and its log energy. Cepstra have their first coefficient, a mean of log energies.
        """
        if self.logmel is None:
            return signal, signal[:, 0]
        bands = self.logmel(signal)
        return normalized(bands), bands.logsumexp(1)

    def file(self, signal: Tensor) -> tuple[str, bytes]:
        """Return a signal as a file for `read`: its suffix and its bytes."""
        if self.rate is None:
            return SUFFIX, encode(signal[:, :COEFFICIENTS])
        return ".wav", wav(signal, self.rate)

    def read(self, path: str) -> tuple[Tensor, Tensor, tuple[str, ...]]:
        """Return the frames of a file, their loudness, and notes on changes.

        The path "-" is standard input.

        Raises:
            ArgumentError: with the file, if it is unreadable or of another kind.
        """
        name = "standard input" if path == "-" else path
        source: Any = attachment(path) or (sys.stdin.buffer if path == "-" else Path(path))
        if self.rate is not None:
            audio = read_audio(source, self.rate, name)
            return (*self.frames(audio.samples), audio.notes)
        if path != "-" and Path(path).suffix != SUFFIX:
            raise ArgumentError(f"{name}: expected Sphinx features ({SUFFIX}), as this run was trained on, got another")
        data = read_bytes(source, name, "a feature file", _MOST, "cut it into parts")
        return (*self.frames(features(cepstra(data, name))), ())
