"""Frames of features from signals and files."""

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from torch import Tensor

from saccade.data.media import attachment, read_bytes
from saccade.errors import ArgumentError
from saccade.tasks.audio.features import LogMel, normalized
from saccade.tasks.audio.recordings import SUFFIXES, read_audio, wav
from saccade.tasks.audio.sphinx import COEFFICIENTS, SUFFIX, cepstra, encode, features

__all__ = ["Frames", "Normalization", "Signals"]

Normalization: TypeAlias = Literal["bands", "recording"]
"""Bands of mean 0 and variance 1, each for itself or all of a recording together."""

_FEATURE_HOP = 0.01  # seconds between frames of a feature file
_LARGEST = 1 << 30  # bytes of a file of features
_DECIBELS = 10 / math.log(10)  # of a unit of log energy
_DYNAMICS = 70 / _DECIBELS  # log energy from the loudest band down to silence, which would have any level otherwise
_MARGIN = 3  # frames before and after the sound that stay


class Frames(NamedTuple):
    """Frames of a signal.

    Args:
        values: `(length, width)`.
        loudness: of each frame, relative, `(length,)`.
        start: number of frames cut off before them.
    """

    values: Tensor
    loudness: Tensor
    start: int = 0


@dataclass(frozen=True)
class Signals:
    """Signals of a run, and their features.

    Args:
        rate: samples a second of waveforms, None if signals are frames of features.
        dim: features of such a frame, None if signals are waveforms.
        mels, window_ms, hop_ms: of the log-mel features of a waveform, see `LogMel`, else 0.
        normalization: of these features.
        trim_db: decibels below the loudest frame of a waveform that are silence at both ends, 0 for none.

    Raises:
        ArgumentError: with --mels, if the window is too short for that many bands.
    """

    rate: int | None
    dim: int | None
    mels: int = 0
    window_ms: int = 0
    hop_ms: int = 0
    normalization: Normalization = "bands"
    trim_db: float = 0.0

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

    def frames(self, signal: Tensor) -> Frames:
        """Return a signal's frames and the relative loudness of each.

        A waveform has normalized log-mel features and its log energy, and silence at both ends is cut off. Cepstra have
        their first coefficient, a mean of log energies.
        """
        if self.logmel is None:
            return Frames(signal, signal[:, 0])
        bands, start = self.logmel(signal), 0
        loudness = bands.logsumexp(1)
        if self.trim_db:
            sounding = (loudness > loudness.max() - self.trim_db / _DECIBELS).nonzero().flatten()
            start, end = max(0, int(sounding[0]) - _MARGIN), int(sounding[-1]) + 1 + _MARGIN
            bands, loudness = bands[start:end], loudness[start:end]
        if self.normalization == "bands":
            return Frames(normalized(bands), loudness, start)
        audible = bands.clamp(min=bands.max() - _DYNAMICS)
        return Frames(normalized(audible.reshape(-1, 1)).view_as(bands), loudness, start)

    def file(self, signal: Tensor) -> tuple[str, bytes]:
        """Return a signal as a file for `read`: its suffix and its bytes."""
        if self.rate is None:
            return SUFFIX, encode(signal[:, :COEFFICIENTS])
        return ".wav", wav(signal, self.rate)

    def read(self, path: str) -> tuple[Frames, tuple[str, ...]]:
        """Return the frames of a file, and notes on changes.

        The path "-" is standard input.

        Raises:
            ArgumentError: with the file, if it is unreadable or of another kind.
        """
        name = "standard input" if path == "-" else path
        source: Any = attachment(path) or (sys.stdin.buffer if path == "-" else Path(path))
        if self.rate is not None:
            audio = read_audio(source, self.rate, name)
            return self.frames(audio.samples), audio.notes
        if path != "-" and Path(path).suffix != SUFFIX:
            raise ArgumentError(f"{name}: expected Sphinx features ({SUFFIX}), as this run was trained on, got another")
        data = read_bytes(source, name, "a feature file", _LARGEST, "cut it into parts")
        return self.frames(features(cepstra(data, name))), ()
